"""Changed copies of plain data; what does not change is shared."""

from __future__ import annotations

from typing import Any

from resourceapi.field_errors import Path

#: As a new value: the field is removed. An entry of a list becomes null instead, so that the others keep their places.
REMOVED: Any = type("Removed", (), {"__repr__": lambda self: "<removed>"})()
# Checking this many characters takes about as long as checking one more value.
_CHARACTERS = 20


def with_value(value: Any, path: Path, new: Any) -> Any:
    """The data with another value at a path, whose parents are made where there are none."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        if not isinstance(value, list) or step >= len(value):
            return value  # it has been moved away
        items = list(value)
        items[step] = None if new is REMOVED and not rest else with_value(items[step], rest, new)
        return items
    members = dict(value) if isinstance(value, dict) else {}
    if new is REMOVED and not rest:
        members.pop(step, None)
    else:
        members[step] = with_value(members.get(step), rest, new)
    return members


def size_of(value: Any) -> int:
    """How large some data are: the number of values, and a part for so many characters."""
    count, pending = 0, [value]
    while pending:
        found = pending.pop()
        count += 1
        if isinstance(found, dict):
            pending += found.values()
        elif isinstance(found, list):
            pending += found
        elif isinstance(found, str):
            count += len(found) // _CHARACTERS
    return count
