"""Constraints over the devices of a claim: one attribute value in common, or all values different (KEP-4381, KEP-5491).

What the devices taken so far demand of the next one is a value that is never changed, so that a search can go back
to an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from allocator.devices import Device
from resourceapi.objects import Object

Values = tuple[str, frozenset[Any]]
"""The type of an attribute and its values."""

_SCALARS = ("string", "int", "bool", "version")
_LISTS = ("ints", "bools", "strings", "versions")


class Constraint(NamedTuple):
    """A constraint of a claim: on which attribute, and whether values must be distinct rather than equal."""

    attribute: str
    distinct: bool
    requests: frozenset[str]

    def applies_to(self, main: str, name: str) -> bool:
        """Whether it is about a request, or a subrequest (`name`) of it; without names it is about all."""
        return not self.requests or main in self.requests or name in self.requests


State = tuple[Any, ...]
"""What a constraint remembers of the devices that were taken: empty before the first."""


def extended(
    constraint: Constraint, state: State, attribute: Object | None, lists: bool, request: str = ""
) -> State | None:
    """The state with one device more; None if the constraint refuses it.

    :param attribute: that of the device, None if it lacks it.
    :param lists: whether DRAListTypeAttributes is on.
    :param request: before 1.37, the request that gets the device: `distinctAttribute` remembers the last device of each.
    """
    if attribute is None:
        return None
    value: Any = values_of(attribute) if lists else scalar_of(attribute)
    # Without lists, kube-scheduler takes the first device without a look at the type.
    if value is None and (lists or state):
        return None
    if constraint.distinct:
        others = [other for _, other in state] if request else state
        if value is not None and _clashes(value, others, lists):
            return None
        if not request:
            return (*state, value)
        return (*[entry for entry in state if entry[0] != request], (request, value))
    if not state:
        return (value,)
    if not lists:
        return state if value == state[0] else None
    kind, elements = value
    common = state[0][1] & elements
    return ((kind, common),) if kind == state[0][0] and common else None


def _clashes(value: Any, others: Collection[Any], lists: bool) -> bool:
    """Whether a device has a value in common with another; lists are sets, a scalar is a list of one."""
    if not lists:
        return value in others
    kind, elements = value
    return any(
        not elements.isdisjoint(other[1]) for other in others if other is not None and other[0] == kind
    )


def values_of(attribute: Object) -> Values | None:
    """The values of an attribute, of a list or a scalar; None if there are none that are known."""
    for name in _LISTS:
        elements = attribute.get(name)
        if elements:
            return name[:-1], frozenset(elements)
    scalar = scalar_of(attribute)
    return None if scalar is None else (scalar[0], frozenset(scalar[1:]))


def scalar_of(attribute: Object) -> tuple[str, Any] | None:
    """The value of an attribute that is no list, with its type; None if it is one."""
    for name in _SCALARS:
        value = attribute.get(name)
        if value is not None:
            return name, value
    return None


def published(device: Device, name: str) -> Object | None:
    """The attribute of this full name that the driver has published; its own domain may be left out."""
    attributes = device.attributes
    if name not in attributes:
        domain, _, name = name.partition("/")
        if not name or domain != device.id.driver or name not in attributes:
            return None
    return attributes[name] or {}
