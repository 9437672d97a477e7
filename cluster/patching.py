"""What the server makes of a stored object and a patch: a merge patch, a strategic merge patch or a JSON patch."""

from __future__ import annotations

import re
from typing import Any

from cluster.applying import FINALIZERS, MERGE_KEYS
from resourceapi import deep_json
from resourceapi.errors import ClaimcheckError
from resourceapi.go_text import json_text
from resourceapi.manifests import entries
from resourceapi.objects import Object, copied, without_nulls

MERGE, STRATEGIC, JSON = TYPES = ("merge", "strategic", "json")
MOST_OPERATIONS = 10_000
_REJECTED = "the server rejected our request due to an error in our request"
_INDEX = re.compile(r"-?(?:0|[1-9][0-9]{0,8})").fullmatch


class PatchRefused(ClaimcheckError):
    """A patch that the server does not carry out, in its words."""


def patched(stored: Object, patch: Any, type: str) -> Object:
    """The object that a patch makes of a stored one, as the server has it in the version of the request.

    :param type: one of :data:`TYPES`.
    :raises PatchRefused: for a patch that is none of its type, or does not fit the object.
    """
    result: Any
    if type == JSON:
        result = _operated(copied(stored), patch)
    elif not isinstance(patch, dict):
        raise PatchRefused(f"a {type} patch must be a mapping")
    elif type == MERGE:
        result = _overlaid(stored, patch)
    else:
        result = _strategic(stored, patch)
    if not isinstance(result, dict):
        raise PatchRefused("the patch makes something else than an object")
    for field in ("apiVersion", "kind"):
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
        elif key.startswith("$"):
            if directive not in ("$patch", "$retainKeys", "$setElementOrder"):
                raise PatchRefused(f"Invalid key {key} in the patch")
        elif value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = _strategic(result.get(key), value)
        elif isinstance(value, list) and key == FINALIZERS:
            result[key] = list(dict.fromkeys([*entries(result, key), *value]))
        elif isinstance(value, list) and key in MERGE_KEYS:
            result[key] = _merged_entries(MERGE_KEYS[key], entries(result, key), value)
        else:
            result[key] = value
    return result


def _merged_entries(known_by: str, stored: list[Any], given: list[Any]) -> list[Any]:
    """The entries of a list that is merged: changed, taken away by `$patch: delete`, and new ones."""
    if not all(isinstance(each, dict) for each in (*stored, *given)):
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
    return list(result.values())


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
    for operation in patch:
        _operate(holder, operation)
    return holder.get("")


def _operate(holder: Object, operation: Object) -> None:
    name, path = operation.get("op"), _steps(operation.get("path"))
    if name in ("add", "replace", "test"):
        value = copied(operation.get("value"))
        if name == "add":
            _add(holder, path, value)
        elif name == "replace":
            _take(holder, path)
            _add(holder, path, value)
        elif not deep_json.equal(_find(holder, path, missing=None), value):
            raise PatchRefused(_REJECTED)
    elif name == "remove":
        _take(holder, path)
    elif name in ("move", "copy"):
        source = _steps(operation.get("from"))
        _add(holder, path, _take(holder, source) if name == "move" else copied(_find(holder, source)))
    else:
        raise PatchRefused(_REJECTED)


_MUST_BE_THERE = object()


def _steps(path: Any) -> list[str]:
    if not isinstance(path, str) or (path and path[0] != "/"):
        raise PatchRefused(_REJECTED)
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]


def _member(container: Any, step: str) -> Any:
    """A member of a mapping or list.

    :raises PatchRefused: if there is none.
    """
    if isinstance(container, dict) and step in container:
        return container[step]
    if isinstance(container, list) and _INDEX(step) and -len(container) <= int(step) < len(container):
        return container[int(step)]
    raise PatchRefused(_REJECTED)


def _find(holder: Object, path: list[str], missing: Any = _MUST_BE_THERE) -> Any:
    found: Any = holder
    for step in path[:-1]:
        found = _member(found, step)
    try:
        return _member(found, path[-1])
    except PatchRefused:
        if missing is _MUST_BE_THERE:
            raise
        return missing


def _take(holder: Object, path: list[str]) -> Any:
    container: Any = holder
    for step in path[:-1]:
        container = _member(container, step)
    value = _member(container, path[-1])
    del container[int(path[-1]) if isinstance(container, list) else path[-1]]
    return value


def _add(holder: Object, path: list[str], value: Any) -> None:
    container: Any = holder
    for step in path[:-1]:
        container = _member(container, step)
    step = path[-1]
    if isinstance(container, dict):
        container[step] = value
    elif isinstance(container, list) and step == "-":
        container.append(value)
    elif isinstance(container, list) and _INDEX(step) and -len(container) - 1 <= int(step) <= len(container):
        at = int(step)
        container.insert(at if at >= 0 else len(container) + 1 + at, value)
    else:
        raise PatchRefused(_REJECTED)
