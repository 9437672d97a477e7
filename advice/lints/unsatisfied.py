"""CC014: why no device satisfies a selector: what the devices have instead, and how to write what was probably meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from deviceselectors.ast import Node
from deviceselectors.explaining import Explainer, Reason
from deviceselectors.lookups import Comparison, compared_texts
from deviceselectors.unparsing import quoted, unparse

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device

_MOST_VALUES = 6
# Of so many groups of devices with the same properties the values are shown; explaining one takes about 0.1 ms.
_MOST_EXPLAINED = 500
_LONGEST = 100


def reason(root: Node, names: list[str], devices: list[Device]) -> str:
    """Why none of the devices satisfies a checked selector: the example is the device that satisfies most of its parts.

    :param names: what the devices are called; all have different properties
    """
    explainer = Explainer(root)
    explained = [explainer.explain(device) for device in devices[:_MOST_EXPLAINED]]
    nearest = min(range(len(explained)), key=lambda index: _distance(explained[index]))
    first = next(iter(explained[nearest]), None)
    if first is None:
        return ""
    lines = [f"for example {names[nearest]}: {first}"]
    values = _values(first, explained)
    if len(values) > 1:
        lines.append(f"on these devices {first.seen[0][0]} is {_listed(values)}")
    if type_clash := next(_type_clashes(root, first, devices[nearest]), ""):
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
        return f"{', '.join(values[:_MOST_VALUES])} or one of {more:,} more"
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
