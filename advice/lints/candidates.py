"""CC011, CC014 and CC015: the results of selectors on the devices of an inventory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from advice.lints.expressions import Remark, guard, read
from advice.lints.table import RARE, TYPE_LOOKUP, UNGUARDED, UNSATISFIED
from deviceselectors.ast import Node
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer, Reason
from deviceselectors.libraries.semver import Semver
from deviceselectors.lookups import ATTRIBUTES, Comparison, Key, Lookup, compared_texts
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError
from deviceselectors.unparsing import quoted, unparse
from resourceapi.measured import NEWEST
from resourceapi.phrases import nearest, number

if TYPE_CHECKING:
    from advice.device_inventory import DeviceInventory, NamedGroup
    from advice.lints.expressions import Expression
    from deviceselectors.runtime.device import Device


_MOST_LISTED = 6
# Of so many groups of devices with the same properties the values are shown; explaining one takes about 0.1 ms.
_MOST_EXPLAINED = 500
_LONGEST = 100


def reason(root: Node, names: list[str], devices: list[Device]) -> str:
    """Why none of the devices satisfies a checked selector: the example is the device that satisfies most of its parts.

    :param names: what the devices are called; all have different properties
    """
    explainer = Explainer(root)
    explained = [explainer.explain(device) for device in devices[:_MOST_EXPLAINED]]
    closest = min(range(len(explained)), key=lambda index: _distance(explained[index]))
    first = next(iter(explained[closest]), None)
    if first is None:
        return ""
    lines = [f"for example {names[closest]}: {first}"]
    values = _values(first, explained)
    if len(values) > 1:
        lines.append(f"on these devices {first.seen[0][0]} is {_listed(values)}")
    if type_clash := next(_type_clashes(root, first, devices[closest]), ""):
        lines.append(type_clash)
    suggestion = next(_suggestions(root, first, devices), "")
    if suggestion:
        lines.append(f"write `{suggestion}`, which some of them satisfy")
    return "\n".join(lines)


def _distance(reasons: list[Reason]) -> tuple[bool, int]:
    """How far a device is from satisfying a selector: one on which it fails is farther than any with other values."""
    return any(not each.outcome.startswith("is ") for each in reasons), len(reasons)


def _values(first: Reason, explained: list[list[Reason]]) -> list[str]:
    """The values that the part which is false on one device has on all of them."""
    if not first.seen:
        return []
    found = {
        other.seen[0][1]: None
        for reasons in explained
        for other in reasons
        if other.position == first.position and other.seen
    }
    return list(found)


def _listed(values: list[str]) -> str:
    more = len(values) - _MOST_VALUES
    if more > 0:
        return f"{', '.join(values[:_MOST_LISTED])} or one of {more:,} more"
    return f"{', '.join(values[:-1])} or {values[-1]}"


def _type_clashes(root: Node, first: Reason, device: Device) -> Iterator[str]:
    """That an attribute is a number or a boolean, where the comparison that is false is with a string."""
    for _, lookup, _ in _compared_with_texts(root, first):
        entries = device.attributes.get(lookup.domain) if lookup is not None else None
        value = entries.get(lookup.name) if lookup is not None and entries is not None else None
        if lookup is not None and isinstance(value, int):
            what = "a boolean" if isinstance(value, bool) else "an integer"
            yield f"{lookup.name} is {what}, which equals no string: compare it without quotes"


def _suggestions(root: Node, first: Reason, devices: list[Device]) -> Iterator[str]:
    """The comparison with a text that failed, written so that a device satisfies it."""
    for each in _compared_with_texts(root, first):
        yield from _written_otherwise(each, list(each.values_on(devices)))


def _compared_with_texts(root: Node, first: Reason) -> list[Comparison]:
    """Where the part that is false compares an attribute with a text."""
    return [
        each
        for each in compared_texts(root)
        if each.call.function == "_==_" and each.call.position == first.position
    ]


def _written_otherwise(compared: Comparison, values: list[str]) -> Iterator[str]:
    attribute = "device.driver" if compared.lookup is None else unparse(compared.lookup.node, _LONGEST)
    wanted = compared.text
    for value in values:
        if value.casefold() == wanted.casefold():
            yield f"{attribute} == {quoted(value)}"
    for value in values:
        at = value.casefold().find(wanted.casefold())
        if at >= 0 and value[at : at + len(wanted)].casefold() == wanted.casefold():
            yield f"{attribute}.contains({quoted(value[at : at + len(wanted)])})"


#: Attributes that at most one device in so many has are rare.
_RARE = 100
_MAX_CACHED = 4096
_MAX_CACHED_CANDIDATES = 256
_MOST_VALUES = 6
MATCH, NO_MATCH, FAILED = 1, 0, 2


class Candidates:
    """Devices that a selector is asked about: the indexes of groups with the same properties, and how many devices they have.

    What has been found out about selectors that are asked about them is kept, by their texts.
    """

    def __init__(self, indexes: list[int], total: int) -> None:
        self.indexes = indexes
        self.total = total
        self.matching: dict[str, Candidates] = {}
        self.remarks: dict[str, list[Remark]] = {}


class Evaluations:
    """The results of selectors on the devices of an inventory: each selector is evaluated once per group."""

    def __init__(self, inventory: DeviceInventory, minor: int = NEWEST) -> None:
        """`minor`: the release whose kube-scheduler evaluates, 1.`minor`."""
        self._minor = minor
        self.groups: list[NamedGroup] = inventory.groups
        self._devices = [group.properties.prepared for group in self.groups]
        self.everything = self._candidates(list(range(len(self.groups))))
        self._outcomes: dict[str, bytearray] = {}
        self._present: dict[Key, bytes] = {}
        self._names: dict[str, dict[str, set[str]]] = {}
        self._classes: dict[tuple[str, ...], Candidates] = {}
        self._drivers: dict[frozenset[str], Candidates] = {}

    def of_class(self, selectors: Iterable[str]) -> Candidates:
        """The devices that match all selectors of a class."""
        key = tuple(selectors)
        found = self._classes.get(key)
        if found is None:
            found = self.everything
            for selector in key:
                expression = read(selector, Environment("stored", release=self._minor))
                if expression is not None:
                    found = self.matching(expression, found)
            self._classes[key] = found
        return found

    def of_drivers(self, drivers: frozenset[str]) -> Candidates:
        """The devices of these drivers, or all devices if these drivers have none."""
        found = self._drivers.get(drivers)
        if found is None:
            indexes = [index for index, device in enumerate(self._devices) if device.driver in drivers]
            found = self._drivers[drivers] = self._candidates(indexes) if indexes else self.everything
        return found

    def matching(self, expression: Expression, among: Candidates) -> Candidates:
        """The devices among these that match a selector."""
        found = among.matching.get(expression.text)
        if found is None:
            outcomes = self._results(expression)
            found = self._candidates([index for index in among.indexes if outcomes[index] == MATCH])
            if len(among.matching) >= _MAX_CACHED_CANDIDATES:
                among.matching.clear()
            among.matching[expression.text] = found
        return found

    def remarks(self, expression: Expression, among: Candidates) -> list[Remark]:
        """The remarks on a selector that is evaluated on these devices."""
        found = among.remarks.get(expression.text)
        if found is None:
            if len(among.remarks) >= _MAX_CACHED:
                among.remarks.clear()
            found = among.remarks[expression.text] = list(self._remarks(expression, among))
        return found

    def _candidates(self, indexes: list[int]) -> Candidates:
        return Candidates(indexes, self._count(indexes))

    def _remarks(self, expression: Expression, among: Candidates) -> Iterator[Remark]:
        total = among.total
        absent: set[Key] = set()
        for lookup in expression.lookups:
            present = self._presence(lookup)
            having = self._count(index for index in among.indexes if present[index])
            if having * _RARE <= total:
                absent.add(lookup.key)
                yield self._rare(lookup, having, total)
        if expression.constant is not None:
            return
        outcomes = self._results(expression)
        failed = [index for index in among.indexes if outcomes[index] == FAILED]
        for lookup in expression.unguarded:
            present = self._presence(lookup)
            failing = [index for index in failed if not present[index]]
            if failing and lookup.key not in absent:
                yield _unguarded(lookup, self._count(failing), total)
        if not any(outcomes[index] == MATCH for index in among.indexes):
            yield self._unsatisfied(expression, among)

    def gives_version(self, lookup: Lookup, among: Candidates) -> bool:
        """Whether the attribute is a version on any of the devices."""
        for index in among.indexes:
            entries = self._devices[index].attributes.get(lookup.domain)
            if entries is not None and isinstance(entries.get(lookup.name), Semver):
                return True
        return False

    def _results(self, expression: Expression) -> bytearray:
        found = self._outcomes.get(expression.text)
        if found is None:
            if len(self._outcomes) >= _MAX_CACHED:
                self._outcomes.clear()
            found = self._outcomes[expression.text] = self._evaluate(expression)
        return found

    def _evaluate(self, expression: Expression) -> bytearray:
        try:
            program = Program(expression.root)
        except ProgramError:
            return bytearray([FAILED]) * len(self.groups)
        outcomes = bytearray(len(self.groups))
        for index, device in enumerate(self._devices):
            try:
                outcomes[index] = MATCH if program.matches(device) else NO_MATCH
            except EvaluationError:
                outcomes[index] = FAILED
        return outcomes

    def _count(self, indexes: Iterable[int]) -> int:
        return sum(len(self.groups[index].members) for index in indexes)

    def _presence(self, lookup: Lookup) -> bytes:
        """For each group, 1 if its devices have the attribute or capacity, else 0."""
        found = self._present.get(lookup.key)
        if found is None:
            if len(self._present) >= _MAX_CACHED:
                self._present.clear()
            found = self._present[lookup.key] = bytes([_has(device, lookup) for device in self._devices])
        return found

    def _rare(self, lookup: Lookup, having: int, total: int) -> Remark:
        what = f'the {lookup.noun} "{lookup.name}" in the domain "{lookup.domain}"'
        lint, hint = RARE, ""
        if having:
            message = f"{having:,} of {number(total, 'device')} {'has' if having == 1 else 'have'} {what}"
        else:
            message = (
                f"none of {number(total, 'device')} has {what}"
                if total > 1
                else f"the only device has no {what[4:]}"
            )
            if self._is_attribute(lookup.domain):
                lint = TYPE_LOOKUP
                hint = f'"{lookup.domain}" is the name of an attribute: look it up in its domain'
            else:
                hint = self._near(lookup)
        return Remark(lint, lookup.position, lookup.length, message, hint)

    def _names_by_domain(self, map_: str) -> dict[str, set[str]]:
        """The names of attributes or capacities by domain, over all devices."""
        found = self._names.get(map_)
        if found is None:
            found = self._names[map_] = {}
            for device in self._devices:
                domains = device.attributes if map_ == ATTRIBUTES else device.capacity
                for domain, entries in domains.items():
                    found.setdefault(domain, set()).update(entries)
        return found

    def _is_attribute(self, name: str) -> bool:
        """Whether devices have an attribute of this name, and no domain is called so."""
        known = self._names_by_domain(ATTRIBUTES)
        return name not in known and any(name in names for names in known.values())

    def _near(self, lookup: Lookup) -> str:
        """A similar name in the domain, or a similar domain, or the names or domains that there are."""
        known = self._names_by_domain(lookup.map)
        names = known.get(lookup.domain)
        candidates = sorted(names or known)
        meant = nearest(lookup.name if names else lookup.domain, candidates)
        if meant:
            return f"did you mean `{meant}`?" if names else f"did you mean the domain `{meant}`?"
        listed = ", ".join(f"`{name}`" for name in candidates[:_MOST_VALUES])
        if not listed:
            return ""
        return f"this domain has {listed}" if names else f"the domains here are {listed}"

    def _unsatisfied(self, expression: Expression, among: Candidates) -> Remark:
        total = among.total
        message = (
            f"none of {number(total, 'device')} satisfies the selector"
            if total > 1
            else "the only device does not satisfy the selector"
        )
        return Remark(UNSATISFIED, 0, len(expression.text), message, self._reason(expression, among))

    def _reason(self, expression: Expression, among: Candidates) -> str:
        """Why the devices do not match the selector, those of the largest group first."""
        largest_first = sorted(among.indexes, key=lambda index: -len(self.groups[index].members))
        devices = [self._devices[index] for index in largest_first]
        names = [str(self.groups[index].members[0]) for index in largest_first]
        return reason(expression.root, names, devices)


def _has(device: Device, lookup: Lookup) -> bool:
    entries = lookup.domains_of(device).get(lookup.domain)
    return entries is not None and lookup.name in entries


def _unguarded(lookup: Lookup, failing: int, total: int) -> Remark:
    message = (
        f'{failing:,} of {number(total, "device")} {"has" if failing == 1 else "have"} no {lookup.noun} "{lookup.name}" in the domain '
        f'"{lookup.domain}": the selector fails there, and the pod is not scheduled'
    )
    return Remark(UNGUARDED, lookup.position, lookup.length, message, guard(lookup))
