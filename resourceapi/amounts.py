"""Quantities by name; those of capacities and counters are objects with a `value`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resourceapi import quantity
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import UNSET, Quantity

Amounts = dict[str, Quantity]


def amounts_of(values: Mapping[str, Any] | None) -> Amounts:
    """The amounts of a JSON object, such as `resources.requests`.

    :raises resourceapi.quantity.QuantityError: if one is no quantity.
    """
    return {name: quantity.from_json(value) for name, value in (values or {}).items()}


def value_of(entry: Object | None) -> Quantity:
    """The `value` of a DeviceCapacity or Counter in normal form; one that is not set is 0."""
    value: Quantity = (entry or EMPTY).get("value", UNSET)
    return value


def values_of(entries: Mapping[str, Object] | None) -> dict[str, Quantity]:
    """The quantities of capacities or counters by name."""
    return {name: value_of(entry) for name, entry in (entries or EMPTY).items()}


def added(one: Mapping[str, Quantity], other: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The sum, name by name."""
    total = dict(one)
    for name, amount in other.items():
        total[name] = total[name].add(amount) if name in total else amount
    return total
