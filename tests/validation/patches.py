"""How a case differs from a good object: values set at paths, paths removed, long lists and texts in shorthand.

Paths are written as the server writes them, `spec.devices[0].attributes[model]`; `[+]` is the end of a list. In values
`{ab*3}` within a text stands for `ababab`, and `{$times: 33, $of: VALUE}` for a list of 33 values, in which `#` is the
index; with `$key: TEXT` for a map.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping
from typing import Any

Json = Any

_SEGMENT = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")
_REPEATED = re.compile(r"\{(.[^{}*]*)\*(\d+)\}", re.DOTALL)
DROPPED = "(dropped)"
"""In `changes`: the value was there and no longer is."""


def patched(object: Json, values: Mapping[str, Json], removed: Iterable[str] = ()) -> Json:
    """A copy of the object with `values` set and `removed` taken away; KeyError or IndexError if there is no such place."""
    object = copy.deepcopy(object)
    for path in removed:
        *parents, last = _segments(path)
        del _at(object, parents)[last]
    for path, value in values.items():
        *parents, last = _segments(path)
        owner = _at(object, parents)
        if isinstance(owner, list) and last in ("+", len(owner)):
            owner.append(written_out(value))
        else:
            owner[last] = written_out(value)
    return object


def _segments(path: str) -> list[str | int]:
    found: list[str | int] = []
    end = 0
    for match in _SEGMENT.finditer(path):
        if match.start() != end:
            break
        end = match.end()
        name, inner = match.groups()
        found.append(name if name is not None else int(inner) if inner.isdecimal() else inner)
    if end != len(path):
        raise KeyError(f"no path: {path}")
    return found


def _at(object: Json, segments: list[str | int]) -> Json:
    for segment in segments:
        object = object[segment]
    return object


def written_out(value: Json) -> Json:
    """The value without shorthand."""
    if isinstance(value, str):
        return _REPEATED.sub(lambda match: match[1] * int(match[2]), value)
    if isinstance(value, list):
        return [written_out(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$times" not in value:
        return {written_out(key): written_out(item) for key, item in value.items()}
    items = [written_out(_numbered(value["$of"], index)) for index in range(value["$times"])]
    if "$key" not in value:
        return items
    return {_numbered(written_out(value["$key"]), index): item for index, item in enumerate(items)}


def _numbered(value: Json, index: int) -> Json:
    if isinstance(value, str):
        return value.replace("#", str(index))
    if isinstance(value, list):
        return [_numbered(item, index) for item in value]
    if isinstance(value, dict):
        return {_numbered(key, index): _numbered(item, index) for key, item in value.items()}
    return value


def changes(before: Json, after: Json, path: str = "") -> dict[str, Json]:
    """What must be set, path by path, to make the one value the other."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = {}
        for key in [*before, *(key for key in after if key not in before)]:
            inner = _member(path, key)
            if key not in after:
                found[inner] = DROPPED
            elif key not in before:
                found[inner] = after[key]
            else:
                found.update(changes(before[key], after[key], inner))
        return found
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return {
            place: value
            for index, pair in enumerate(zip(before, after, strict=True))
            for place, value in changes(*pair, f"{path}[{index}]").items()
        }
    return {} if type(before) is type(after) and before == after else {path: after}


def _member(path: str, key: str) -> str:
    if not re.fullmatch(r"[A-Za-z]\w*", key):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key
