"""CC014: why no device satisfies a selector: what the devices have instead, and how to write what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from deviceselectors.ast import Call, Literal, Node
from deviceselectors.explaining import Explainer, Reason
from deviceselectors.lookups import ATTRIBUTES, Lookup, as_lookup, walk
from deviceselectors.types import STRING_TYPE
from deviceselectors.unparsing import unparse

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device

_MOST_VALUES = 6
# Of so many groups of devices with the same properties the values are shown; explaining one takes about 0.1 ms.
_MOST_EXPLAINED = 500
_LONGEST = 100


def reason(root: Node, name: str, devices: list[Device]) -> str:
    """Why none of the devices satisfies a checked selector.

    :param name: what the first of the devices is called; the others have other properties
    """
    explainer = Explainer(root)
    first = next(iter(explainer.explain(devices[0])), None)
    if first is None:
        return ""
    lines = [f"for example {name}: {first}"]
    values = _values(first, explainer, devices)
    if len(values) > 1:
        lines.append(f"on these devices {first.seen[0][0]} is {_listed(values)}")
    suggestion = next(_suggestions(root, first, devices), "")
    if suggestion:
        lines.append(f"write `{suggestion}`, which some of them satisfy")
    return "\n".join(lines)


def _values(first: Reason, explainer: Explainer, devices: list[Device]) -> list[str]:
    """The values that the part which fails on the first device has on all of them."""
    if not first.seen:
        return []
    found = {
        other.seen[0][1]: None
        for device in devices[:_MOST_EXPLAINED]
        for other in explainer.explain(device)
        if other.position == first.position and other.seen
    }
    return list(found)


def _listed(values: list[str]) -> str:
    more = len(values) - _MOST_VALUES
    if more > 0:
        return f"{', '.join(values[:_MOST_VALUES])} or one of {more:,} more"
    return f"{', '.join(values[:-1])} or {values[-1]}"


def _suggestions(root: Node, first: Reason, devices: list[Device]) -> Iterator[str]:
    """The comparison with a text that failed, written so that a device satisfies it."""
    for node in walk(root):
        if isinstance(node, Call) and node.function == "_==_" and node.position == first.position:
            left, right = node.args
            literal, other = (left, right) if isinstance(left, Literal) else (right, left)
            lookup = as_lookup(other)
            if lookup is None or lookup.map != ATTRIBUTES or not isinstance(literal, Literal):
                continue
            if isinstance(literal.value, str) and literal.value:
                yield from _written_otherwise(lookup, literal.value, _texts(lookup, devices))


def _texts(lookup: Lookup, devices: Iterable[Device]) -> list[str]:
    """The different texts that an attribute is."""
    entries = (device.attributes.get(lookup.domain) for device in devices)
    values = (found.get(lookup.name) for found in entries if found is not None)
    return list({value: None for value in values if isinstance(value, str)})


def _written_otherwise(lookup: Lookup, wanted: str, values: list[str]) -> Iterator[str]:
    attribute = unparse(lookup.node, _LONGEST)
    for value in values:
        if value.casefold() == wanted.casefold():
            yield f"{attribute} == {_quoted(value)}"
    for value in values:
        at = value.casefold().find(wanted.casefold())
        if at >= 0 and value[at : at + len(wanted)].casefold() == wanted.casefold():
            yield f"{attribute}.contains({_quoted(value[at : at + len(wanted)])})"


def _quoted(text: str) -> str:
    return unparse(Literal(0, text, STRING_TYPE), _LONGEST)
