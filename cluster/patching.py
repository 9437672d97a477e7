"""What the server makes of a stored object and a patch: a merge patch, a strategic merge patch or a JSON patch."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from cluster.applying import MERGE_KEYS
from resourceapi import deep_json
from resourceapi.errors import ClaimcheckError
from resourceapi.go_text import json_text
from resourceapi.manifests import entries
from resourceapi.objects import Object, copied, without_nulls

MERGE, STRATEGIC, JSON = TYPES = ("merge", "strategic", "json")
MOST_OPERATIONS = 10_000
MOST_COPIED_BYTES = 3 << 20  # by all copies of a JSON patch, which could double an object again and again
_TYPE = ("apiVersion", "kind")
_REJECTED = "the server rejected our request due to an error in our request"
_INDEX = re.compile(r"-?(?:0|[1-9][0-9]{0,8})").fullmatch


class PatchRefused(ClaimcheckError):
    """A patch that the server does not carry out, in its words."""


def patched(stored: Object, patch: Any, type: str) -> Object:
    """The object that a patch makes of a stored one, as the server has it in the version of the request.

    :param patch: its value; None, what an empty file has, changes nothing but is no merge patch.
    :param type: one of :data:`TYPES`.
    :raises PatchRefused: for a patch that is none of its type, or does not fit the object.
    """
    result: Any
    if patch is None:
        if type == MERGE:
            raise PatchRefused("Invalid JSON Patch")
        result = stored
    elif type == JSON:
        result = _operated(copied(stored), patch)
    elif not isinstance(patch, dict):
        raise PatchRefused(f"a {type} patch must be a mapping")
    elif type == MERGE:
        result = _overlaid(stored, patch)
    else:
        result = _strategic(
            stored, {key: value for key, value in patch.items() if key not in _TYPE}
        )  # those do not count
    if not isinstance(result, dict):
        raise PatchRefused("the patch makes something else than an object")
    for field in _TYPE:
        if result.get(field) != stored.get(field):
            raise PatchRefused(f"the patch changes {field}, which must stay {stored.get(field)}")
    return result


def _overlaid(target: Any, patch: Any) -> Any:
    """A merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        return without_nulls(patch)
    result = dict(target)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _overlaid(result.get(key), value)
    return result


# --- strategic merge patches


def _strategic(stored: Any, patch: Object) -> Object:
    """A strategic merge patch: some lists are merged, and directives say what cannot be said otherwise."""
    stored = stored if isinstance(stored, dict) else {}
    if patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    retained = patch.get("$retainKeys")
    result = {
        key: value for key, value in stored.items() if not isinstance(retained, list) or key in retained
    }
    for key in sorted(patch, key=lambda key: not key.startswith("$")):
        value = patch[key]
        directive, _, field = key.partition("/")
        if directive == "$deleteFromPrimitiveList":
            result[field] = [each for each in entries(result, field) if each not in (value or ())]
        elif (
            directive == "$setElementOrder" and field not in patch and field in MERGE_KEYS and field in result
        ):
            result[field] = _merged_entries(MERGE_KEYS[field], entries(result, field), [], value or [])
        elif key.startswith("$"):
            if directive not in ("$patch", "$retainKeys", "$setElementOrder"):
                raise PatchRefused(f"Invalid key {key} in the patch")
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _strategic(result.get(key), value)
        elif isinstance(value, list) and key in MERGE_KEYS:
            ordered = patch.get(f"$setElementOrder/{key}")
            order = ordered if isinstance(ordered, list) else value
            result[key] = _merged_entries(MERGE_KEYS[key], entries(result, key), value, order)
        else:
            result[key] = value
    return result


def _merged_entries(
    names: tuple[str, ...], stored: list[Any], given: list[Any], order: list[Any]
) -> list[Any]:
    """The entries of a list that is merged: changed, taken away by `$patch: delete`, and new ones.

    :param order: entries, or only what they are known by, in the order that the patch asks for.
    """
    if not names:
        result = {json_text(each): each for each in (*stored, *given)}
        return _in_order(result, [*map(json_text, order)], [*map(json_text, stored)])
    [known_by] = names
    if not all(isinstance(each, dict) for each in (*stored, *given, *order)):
        raise PatchRefused(f"entries of this list must be mappings with {known_by}")
    if {"$patch": "replace"} in given:
        return [each for each in given if "$patch" not in each]
    result = {_hashable(each.get(known_by)): each for each in stored}
    for entry in given:
        key = _hashable(entry.get(known_by))
        if entry.get("$patch") == "delete":
            result.pop(key, None)
        else:
            result[key] = _strategic(result.get(key), entry)
    return _in_order(
        result, *([_hashable(each.get(known_by)) for each in entries] for entries in (order, stored))
    )


def _in_order(merged: dict[Any, Any], order: list[Any], stored: list[Any]) -> list[Any]:
    """The entries that the patch orders, in its order; each other before the first of these that it was stored before."""
    places = {key: place for place, key in enumerate(stored)}
    asked = dict.fromkeys(order)
    ordered = deque(key for key in asked if key in merged)
    others = deque(key for key in merged if key not in asked)
    result = []
    while ordered and others:
        before = places[others[0]] < places.get(ordered[0], -1)
        result.append(merged[(others if before else ordered).popleft()])
    return result + [merged[key] for key in (*ordered, *others)]


def _hashable(key: Any) -> Any:
    return key if isinstance(key, (str, int)) else json_text(key)


# --- JSON patches


def _operated(target: Any, patch: Any) -> Any:
    """A JSON patch (RFC 6902)."""
    if not isinstance(patch, list) or not all(isinstance(each, dict) for each in patch):
        raise PatchRefused("a json patch must be a list of operations")
    if len(patch) > MOST_OPERATIONS:
        raise PatchRefused(
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(patch)}"
        )
    holder = {"": target}
    copied_bytes = 0
    for operation in patch:
        copied_bytes += _operate(holder, operation)
        if copied_bytes > MOST_COPIED_BYTES:
            raise PatchRefused(_REJECTED)
    return holder.get("")


def _operate(holder: Object, operation: Object) -> int:
    """Carry out one operation; returns the bytes that it has copied, about."""
    name, path = operation.get("op"), _steps(operation.get("path"))
    if name == "add":
        _add(_container(holder, path), path[-1], copied(operation.get("value")))
    elif name == "replace":
        container = _container(holder, path)
        _member(container, path[-1])  # of a list it has to be there
        container[_place(container, path[-1])] = copied(operation.get("value"))
    elif name == "test":
        if not deep_json.equal(_member(_container(holder, path), path[-1]), operation.get("value")):
            raise PatchRefused(_REJECTED)
    elif name == "remove":
        _take(_container(holder, path), path[-1])
    elif name == "move":
        source = _steps(operation.get("from"))
        value = _take(_container(holder, source), source[-1])
        _add(_container(holder, path), path[-1], value)
    elif name == "copy":
        source = _steps(operation.get("from"))
        value = _member(_container(holder, source), source[-1])
        size = deep_json.most_bytes(value)
        if size <= MOST_COPIED_BYTES:
            _add(_container(holder, path), path[-1], copied(value))
        return size
    else:
        raise PatchRefused(_REJECTED)
    return 0


def _steps(path: Any) -> list[str]:
    if not isinstance(path, str) or (path and path[0] != "/"):
        raise PatchRefused(_REJECTED)
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]


def _container(holder: Object, path: list[str]) -> Any:
    """The mapping or list in which the last step of a path leads somewhere."""
    found: Any = holder
    for step in path[:-1]:
        found = _member(found, step)
    if not isinstance(found, (dict, list)):
        raise PatchRefused(_REJECTED)
    return found


def _member(container: Any, step: str) -> Any:
    """A member of a mapping, None if it has none, or of a list, which has to have it."""
    if isinstance(container, dict):
        return container.get(step)
    if isinstance(container, list):
        return container[_place(container, step)]
    raise PatchRefused(_REJECTED)


def _place(container: Any, step: str, room: int = 0) -> Any:
    """The key or index of a step; ``room`` is how far it may be behind the end of a list."""
    if isinstance(container, dict):
        return step
    size = len(container) + room
    if _INDEX(step) and -size <= int(step) < size:
        return int(step) % size
    raise PatchRefused(_REJECTED)


def _take(container: Any, step: str) -> Any:
    at = _place(container, step)
    if isinstance(container, dict) and at not in container:
        raise PatchRefused(_REJECTED)
    return container.pop(at)


def _add(container: Any, step: str, value: Any) -> None:
    if isinstance(container, dict):
        container[step] = value
    elif step == "-":
        container.append(value)
    else:
        container.insert(_place(container, step, room=1), value)
