"""CC011, CC014 and CC015: what selectors give on the devices of an inventory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from deviceselectors.environment import Environment
from deviceselectors.lookups import ATTRIBUTES, Key, Lookup
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError
from deviceselectors.runtime.semvers import Semver
from validation.lints.expressions import Remark, guard, read
from validation.lints.table import RARE, TYPE_LOOKUP, UNGUARDED, UNSATISFIED

if TYPE_CHECKING:
    from validation.inventory import Alike, Inventory
    from validation.lints.expressions import Expression

#: Attributes that at most one device in so many has are rare.
_RARE = 100
_MAX_KNOWN = 4096
_MOST_VALUES = 6
MATCH, NO_MATCH, FAILED = 1, 0, 2

Candidates = list[int]
"""Indexes of groups of devices that are alike."""


class Judge:
    """Evaluates each distinct selector once on each group of devices that are alike."""

    def __init__(self, inventory: Inventory) -> None:
        self.groups: list[Alike] = inventory.groups
        self.everything: Candidates = list(range(len(self.groups)))
        self._outcomes: dict[str, bytearray] = {}
        self._classes: dict[tuple[str, ...], Candidates] = {}

    def of_class(self, selectors: Iterable[str]) -> Candidates:
        """The devices that all selectors of a class let through."""
        key = tuple(selectors)
        found = self._classes.get(key)
        if found is None:
            found = self.everything
            for selector in key:
                expression = read(selector, Environment("stored"))
                if expression is not None:
                    found = self.matching(expression, found)
            self._classes[key] = found
        return found

    def matching(self, expression: Expression, among: Candidates) -> Candidates:
        outcomes = self._judge(expression)
        return [index for index in among if outcomes[index] == MATCH]

    def remarks(self, expression: Expression, among: Candidates) -> Iterator[Remark]:
        """What there is to say about a selector that is asked about these devices."""
        total = self._count(among)
        absent: set[Key] = set()
        for lookup in expression.lookups:
            having = self._count(index for index in among if self._has(index, lookup))
            if having * _RARE <= total:
                absent.add(lookup.key)
                yield self._rare(lookup, having, total)
        if expression.constant is not None:
            return
        outcomes = self._judge(expression)
        for lookup in expression.unguarded:
            failing = [i for i in among if outcomes[i] == FAILED and not self._has(i, lookup)]
            if failing and lookup.key not in absent:
                yield _unguarded(lookup, self._count(failing), total)
        if not any(outcomes[index] == MATCH for index in among):
            yield self._unsatisfied(expression, among, total)

    def gives_version(self, lookup: Lookup, among: Candidates) -> bool:
        """Whether the attribute is a version on any of the devices."""
        for index in among:
            entries = self.groups[index].device.attributes.get(lookup.domain)
            if entries is not None and isinstance(entries.get(lookup.name), Semver):
                return True
        return False

    def _judge(self, expression: Expression) -> bytearray:
        found = self._outcomes.get(expression.text)
        if found is None:
            if len(self._outcomes) >= _MAX_KNOWN:
                self._outcomes.clear()
            found = self._outcomes[expression.text] = self._evaluate(expression)
        return found

    def _evaluate(self, expression: Expression) -> bytearray:
        try:
            program = Program(expression.root)
        except ProgramError:
            return bytearray([FAILED]) * len(self.groups)
        outcomes = bytearray(len(self.groups))
        for index, alike in enumerate(self.groups):
            try:
                outcomes[index] = MATCH if program.matches(alike.device) else NO_MATCH
            except EvaluationError:
                outcomes[index] = FAILED
        return outcomes

    def _count(self, indexes: Iterable[int]) -> int:
        return sum(len(self.groups[index]) for index in indexes)

    def _has(self, index: int, lookup: Lookup) -> bool:
        device = self.groups[index].device
        domains = device.attributes if lookup.map == ATTRIBUTES else device.capacity
        entries = domains.get(lookup.domain)
        return entries is not None and lookup.name in entries

    def _rare(self, lookup: Lookup, having: int, total: int) -> Remark:
        noun = "attribute" if lookup.map == ATTRIBUTES else "capacity"
        what = f'the {noun} "{lookup.name}" in the domain "{lookup.domain}"'
        lint, hint = RARE, ""
        if having:
            message = f"{having:,} of {_devices(total)} {'has' if having == 1 else 'have'} {what}"
        else:
            message = (
                f"none of {_devices(total)} has {what}" if total > 1 else f"the only device has no {what[4:]}"
            )
            if self._is_attribute(lookup.domain):
                lint = TYPE_LOOKUP
                hint = f'"{lookup.domain}" is the name of an attribute: look it up in its domain'
            else:
                hint = self._near(lookup)
        return Remark(lint, lookup.position, lookup.length, message, hint)

    def _is_attribute(self, name: str) -> bool:
        """Whether devices have an attribute of this name, and no domain is called so."""
        found = False
        for alike in self.groups:
            if name in alike.device.attributes or name in alike.device.capacity:
                return False
            found = found or any(name in entries for entries in alike.device.attributes.values())
        return found

    def _near(self, lookup: Lookup) -> str:
        """What was perhaps meant: a similar name in the domain, or a similar domain."""
        from validation.hints.nearness import nearest

        names: set[str] = set()
        domains: set[str] = set()
        for alike in self.groups:
            known = alike.device.attributes if lookup.map == ATTRIBUTES else alike.device.capacity
            domains.update(known)
            names.update(known.get(lookup.domain, ()))
        if names:
            meant = nearest(lookup.name, sorted(names))
            listed = ", ".join(f"`{name}`" for name in sorted(names)[:_MOST_VALUES])
            return f"did you mean `{meant}`?" if meant else f"this domain has {listed}"
        meant = nearest(lookup.domain, sorted(domains))
        listed = ", ".join(f"`{name}`" for name in sorted(domains)[:_MOST_VALUES])
        if meant:
            return f"did you mean the domain `{meant}`?"
        return f"the domains here are {listed}" if listed else ""

    def _unsatisfied(self, expression: Expression, among: Candidates, total: int) -> Remark:
        message = (
            f"none of {_devices(total)} satisfies the selector"
            if total > 1
            else "the only device does not satisfy the selector"
        )
        return Remark(UNSATISFIED, 0, len(expression.text), message, self._reason(expression, among))

    def _reason(self, expression: Expression, among: Candidates) -> str:
        """Why the most frequent kind of device does not satisfy the selector."""
        from deviceselectors.explaining import Explainer

        most = max(among, key=lambda index: len(self.groups[index]))
        reasons = Explainer(expression.root).explain(self.groups[most].device)
        return f"for example {self.groups[most].members[0]}: {reasons[0]}" if reasons else ""


def _unguarded(lookup: Lookup, failing: int, total: int) -> Remark:
    noun = "attribute" if lookup.map == ATTRIBUTES else "capacity"
    message = (
        f'{failing:,} of {_devices(total)} {"has" if failing == 1 else "have"} no {noun} "{lookup.name}" in the domain '
        f'"{lookup.domain}": the selector fails there, and with it the scheduling of the pod'
    )
    return Remark(UNGUARDED, lookup.position, lookup.length, message, guard(lookup))


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count:,} devices"
