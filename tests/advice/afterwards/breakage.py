"""Valid objects with mistakes that are known, so that each can be fixed by itself."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from advice.afterwards.gaps import REMOVED, is_in_another_entry, with_value
from resourceapi.field_errors import Path
from resourceapi.manifests import MISSING, value_at

Json = Any
_WRONG: tuple[Json, ...] = (5, True, "x", "7", "", [], [1], [{}], ["x"], {}, {"a": 1}, {"name": "x"}, 1.5)
_INVALID_TEXTS = ("BAD_!", "", "gpu-9", "x" * 300, "device.foo", "true &&", "1.2", "a/b", "a")
_INVALID_NUMBERS = (-1, 0, 65, 2**40)
_OTHER_NAMES = (
    "zzz",
    "name",
    "value",
    "spec",
    "count",
    "driver",
    "nodeName",
    "deviceClassName",
    "selectors",
    "requests",
)


class Breakage(NamedTuple):
    """One mistake: what stands where, and what would stand there without it."""

    is_unreadable: bool
    changes: tuple[tuple[Path, Json, Json], ...]

    def done(self, obj: Json) -> Json:
        for path, broken, _ in self.changes:
            obj = with_value(obj, path, broken)
        return obj

    def undone(self, obj: Json) -> Json:
        for path, _, right in reversed(self.changes):
            obj = with_value(obj, path, REMOVED if right is MISSING else right)
        return obj


def breakages(source: random.Random, obj: Json, count: int) -> list[Breakage]:
    """Mistakes in an object, none inside another, about half of them such that it cannot be read."""
    found: list[Breakage] = []
    taken: list[Path] = []
    paths = [path for path in _paths(obj, ()) if path not in (("apiVersion",), ("kind",))]
    for _ in range(count * 4):
        if len(found) == count:
            break
        made = _made(source, obj, source.choice(paths))
        if made is None:
            continue
        changed = [path for path, _, _ in made.changes]
        if not any(
            one[: len(other)] == other or other[: len(one)] == one for one in changed for other in taken
        ):
            found.append(made)
            taken += changed
    return found


def _paths(value: Json, path: Path) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _paths(member, (*path, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from _paths(member, (*path, index))


def _made(source: random.Random, obj: Json, path: Path) -> Breakage | None:
    value, last = value_at(obj, path), path[-1]
    sort = source.choice(
        (
            "shape",
            "type",
            "type",
            "spelling",
            "spelling",
            "other name",
            "unknown",
            "indent",
            "invalid",
            "invalid",
            "invalid",
            "drop",
        )
    )
    if sort == "type":
        wrong = [each for each in _WRONG if type(each) is not type(value) and not _is_like(value, each)]
        return Breakage(True, ((path, source.choice(wrong), value),))
    if sort == "shape":
        return _reshaped(path, value)
    if sort == "invalid":
        if isinstance(value, str):
            return Breakage(False, ((path, source.choice(_INVALID_TEXTS), value),))
        if isinstance(value, int) and not isinstance(value, bool):
            return Breakage(False, ((path, source.choice(_INVALID_NUMBERS), value),))
        if isinstance(value, list) and value:
            return Breakage(False, ((path, [*value, value[0]], value),))
        return Breakage(False, ((path, {} if isinstance(value, dict) else [], value),))
    if not isinstance(last, str):
        return None
    if sort == "drop":
        return Breakage(False, ((path, REMOVED, value),))
    if sort == "unknown":
        other = (*path[:-1], source.choice(("zzz", "extra", "other-thing")))
        return (
            Breakage(True, ((other, source.choice(_WRONG), MISSING),))
            if value_at(obj, other) is MISSING
            else None
        )
    if sort == "indent":
        others = [
            each
            for each in _paths(obj, ())
            if isinstance(value_at(obj, each), dict) and each[: len(path)] != path
            if not is_in_another_entry(each, path)  # where nobody indents it to
        ]
        place = (*source.choice([(), *others]), last)
    elif sort == "spelling" and len(last) > 2:
        at = source.randrange(len(last) - 1)
        place = (
            *path[:-1],
            source.choice((last[:at] + last[at + 1 :], last.lower() + "x", last[0].upper() + last[1:])),
        )
    else:
        place = (*path[:-1], source.choice(_OTHER_NAMES))
    if place == path or value_at(obj, place) is not MISSING:
        return None
    return Breakage(True, ((path, REMOVED, value), (place, value, MISSING)))


def _is_like(value: Json, wrong: Json) -> bool:
    """Whether a wrong value may be the right one in another shape, so that it will be read in that shape."""
    if isinstance(value, list):
        return isinstance(wrong, dict) and "name" in wrong
    return isinstance(value, dict) and (isinstance(wrong, str) or wrong == [{"name": "x"}])


def _reshaped(path: Path, value: Json) -> Breakage | None:
    """A list for its only entry, or the other way round; the value of a field for the struct that has nothing else."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return Breakage(True, ((path, value[0], value),))
    if isinstance(value, dict) and len(value) == 1:
        (inner,) = value.values()
        return Breakage(True, ((path, inner if isinstance(inner, str) else [value], value),))
    return Breakage(True, ((path, [value], value),)) if isinstance(value, dict) else None
