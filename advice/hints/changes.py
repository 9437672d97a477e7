"""Making the changes that an advice names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from advice.hints.hint import Change
from advice.hints.problem import Problem
from resourceapi.field_errors import Path
from resourceapi.manifests import MISSING


def renamed(problem: Problem, name: str) -> tuple[Change, Change]:
    """The changes that give the key of a problem another name."""
    return moved(problem, (*problem.path[:-1], name))


def moved(problem: Problem, to: Path) -> tuple[Change, Change]:
    """The changes that move the value of a problem to another path."""
    return (problem.path, MISSING), (to, problem.value)


def changed(value: Any, changes: Iterable[Change]) -> Any:
    """A copy of a value in which the changes are made; mappings on the way to a new value are added."""
    for path, new in changes:
        value = _changed_at(value, path, new)
    return value


def _changed_at(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    first, rest = path[0], path[1:]
    if isinstance(value, list) and isinstance(first, int):
        copy = list(value)
        if rest or new is not MISSING:
            copy[first] = _changed_at(copy[first], rest, new)
        else:
            del copy[first]
        return copy
    mapping = dict(value) if isinstance(value, dict) else {}
    if rest or new is not MISSING:
        mapping[first] = _changed_at(mapping.get(first), rest, new)
    else:
        mapping.pop(first, None)
    return mapping
