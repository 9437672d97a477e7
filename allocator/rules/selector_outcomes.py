"""Which devices a selector chooses and why it does not choose the others, for people; once for all identical devices."""

from __future__ import annotations

from typing import NamedTuple

from allocator.devices import Device
from allocator.selection import CompileError, Selectors
from allocator.time_limit import OutOfTime, TimeLimit
from deviceselectors.compiler import compile_expression
from deviceselectors.device_properties import DeviceProperties
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer, Reason
from deviceselectors.lookups import (
    ATTRIBUTES,
    Comparison,
    Lookup,
    comparisons,
    looks_up_only,
    lookups,
    mentioned,
    unguarded,
)
from deviceselectors.runtime import effort
from deviceselectors.runtime.showing import show
from resourceapi.measured import NEWEST
from resourceapi.objects import EMPTY

#: Of more devices that differ in what an expression looks at than this it is only said that they do not match.
MAX_EXPLAINED = 10_000
#: The most parts of an expression that are named for one device.
_MAX_PARTS = 3
_NO_SUCH_KEY = "no such key: "


class Outcome(NamedTuple):
    """What an expression gives on a device, and why if it does not choose the device.

    `reasons`: the parts that are false; `error`: with which it fails; `missing`: the attribute (`domain/name`) that it
    looked up in vain then, and `guard`: a condition that would keep it from failing.
    """

    matches: bool
    reasons: tuple[Reason, ...] = ()
    error: str = ""
    missing: str = ""
    guard: str = ""


_MATCH = Outcome(True)


class SelectorOutcomes:
    """Evaluates expressions, with reasons."""

    def __init__(self, time_limit: TimeLimit, for_reasons: TimeLimit, minor: int = NEWEST) -> None:
        """Begin with no expression.

        :param time_limit: how long outcomes may be looked for.
        :param for_reasons: how long reasons may be; later ones are left out.
        :param minor: the release whose kube-scheduler evaluates, 1.`minor`.
        """
        self.selectors = Selectors(minor)
        self.time_limit = time_limit
        self.for_reasons = for_reasons
        self._expressions: dict[str, _Expression] = {}

    def on(self, expression: str, device: Device) -> Outcome:
        """What an expression gives on a device.

        :raises OutOfTime: if the time for outcomes is over.
        """
        return self._expression(expression).on(device)

    def mentioned(self, expression: str) -> frozenset[tuple[str, str]]:
        """The attributes and capacities that an expression mentions, see :func:`deviceselectors.lookups.mentioned`."""
        return self._expression(expression).mentioned

    def lookups(self, expression: str) -> list[Lookup]:
        """The attributes and capacities that an expression looks up, see :func:`deviceselectors.lookups.lookups`."""
        return self._expression(expression).lookups

    def comparisons(self, expression: str) -> list[Comparison]:
        """Where an expression compares attributes with literals."""
        return self._expression(expression).comparisons

    def _expression(self, expression: str) -> _Expression:
        known = self._expressions.get(expression)
        if known is None:
            known = self._expressions[expression] = _Expression(expression, self)
        return known


class _Expression:
    def __init__(self, expression: str, among: SelectorOutcomes) -> None:
        self._expression = expression
        self._among = among
        self._outcomes: dict[DeviceProperties, Outcome] = {}
        self._explained: dict[object, tuple[Reason, ...]] = {}
        self._root = compile_expression(expression, Environment("stored", release=among.selectors.minor)).ast
        self._explainer = Explainer(self._root) if self._root is not None else None
        self._lookups = None
        if self._root is not None and looks_up_only(self._root):
            self._lookups = lookups(self._root)

    @property
    def mentioned(self) -> frozenset[tuple[str, str]]:
        return frozenset() if self._root is None else mentioned(self._root)

    @property
    def lookups(self) -> list[Lookup]:
        return [] if self._root is None else lookups(self._root)

    @property
    def comparisons(self) -> list[Comparison]:
        return [] if self._root is None else comparisons(self._root)

    def on(self, device: Device) -> Outcome:
        outcome = self._outcomes.get(device.shape.properties)
        if outcome is None:
            outcome = self._outcomes[device.shape.properties] = self._evaluate(device)
        return outcome

    def _evaluate(self, device: Device) -> Outcome:
        try:
            outcome = self._among.selectors.outcome(self._expression, device, self._among.time_limit)
        except CompileError as error:
            return Outcome(False, error=f"CEL compile error: {error}")
        if isinstance(outcome, str):
            return Outcome(False, (), outcome, *self._missing(outcome, device))
        return _MATCH if outcome else Outcome(False, self._reasons(device))

    def _reasons(self, device: Device) -> tuple[Reason, ...]:
        """The parts that are false, found once for all devices that are the same to the expression."""
        sight = self._sight(device)
        known = self._explained.get(sight)
        if known is not None or self._explainer is None:
            return known or ()
        if len(self._explained) >= MAX_EXPLAINED or self._among.for_reasons.is_over:
            return ()
        try:
            with effort.watched(self._among.for_reasons.check):
                found = tuple(self._explainer.explain(device.prepared)[:_MAX_PARTS])
        except OutOfTime:
            return ()
        self._explained[sight] = found
        return found

    def _sight(self, device: Device) -> object:
        """The same for devices in which the expression sees the same."""
        if self._lookups is None:
            return device.shape.properties
        prepared = device.prepared
        maps = prepared.attributes, prepared.capacity
        names = (frozenset((domain, *entries) for domain, entries in each.items()) for each in maps)
        values = (
            maps[lookup.map != ATTRIBUTES].get(lookup.domain, EMPTY).get(lookup.name)
            for lookup in self._lookups
        )
        return prepared.driver, *names, *((type(value), show(value)) for value in values if value is not None)

    def _missing(self, error: str, device: Device) -> tuple[str, str]:
        """The attribute or capacity that a failed look-up did not find, and a guard."""
        if not error.startswith(_NO_SUCH_KEY) or self._root is None:
            return "", ""
        name = error.removeprefix(_NO_SUCH_KEY)
        for lookup in unguarded(self._root):
            bare = lookup.name if lookup.domain == device.id.driver else ""
            known = device.attributes if lookup.map == ATTRIBUTES else device.capacity
            if lookup.name == name and lookup.qualified not in known and bare not in known:
                return lookup.qualified, f'"{name}" in device.{lookup.map}["{lookup.domain}"]'
        return name, ""
