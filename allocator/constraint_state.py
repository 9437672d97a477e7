"""Constraints over the devices of a claim: one attribute value in common, or all values different (KEP-4381, KEP-5491).

What the devices taken so far demand of the next one is a value that is never changed, so that a search can go back
to an earlier one.
"""

from __future__ import annotations

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


def extended(constraint: Constraint, state: State, attribute: Object | None, lists: bool) -> State | None:
    """The state with one device more; None if the constraint refuses it.

    `attribute`: that of the device, None if it lacks it; `lists`: whether DRAListTypeAttributes is on.
    """
    if attribute is None:
        return None
    if lists:
        return _with_lists(constraint, state, values_of(attribute))
    value = scalar_of(attribute)
    if not state:
        # kube-scheduler takes the first device without a look at the type.
        return (value,)
    if value is None:
        return None
    if constraint.distinct:
        return None if value in state else (*state, value)
    return state if value == state[0] else None


def _with_lists(constraint: Constraint, state: State, values: Values | None) -> State | None:
    """Lists are sets, a scalar is a list of one: they must share a value, or none with any other."""
    if values is None:
        return None
    kind, elements = values
    if not state:
        return (values,)
    if constraint.distinct:
        clash = any(kind == other and not elements.isdisjoint(taken) for other, taken in state)
        return None if clash else (*state, values)
    common = state[0][1] & elements
    return ((kind, common),) if kind == state[0][0] and common else None


def values_of(attribute: Object) -> Values | None:
    """The values of an attribute, of a list or a scalar; None if there are none that are known."""
    for name in _LISTS:
        if attribute.get(name):
            return name[:-1], frozenset(attribute[name])
    scalar = scalar_of(attribute)
    return None if scalar is None else (scalar[0], frozenset(scalar[1:]))


def scalar_of(attribute: Object) -> tuple[str, Any] | None:
    """The value of an attribute that is no list, with its type; None if it is one."""
    for name in _SCALARS:
        if attribute.get(name) is not None:
            return name, attribute[name]
    return None


def published(device: Device, name: str) -> Object | None:
    """The attribute of this full name that the driver has published; its own domain may be left out."""
    found = device.attributes.get(name)
    if found is None and name not in device.attributes:
        domain, _, bare = name.partition("/")
        if not bare or domain != device.id.driver or bare not in device.attributes:
            return None
        found = device.attributes[bare]
    return found or {}
