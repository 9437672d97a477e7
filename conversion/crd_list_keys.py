"""List keys that the schemas of CRDs default to ``""``, and that the built-in API leaves unset.

For custom resources, all keys of a list entry (``x-kubernetes-list-map-keys``) must be present. The schema therefore gives
an optional key, such as the ``shareID`` of a device's status, the default ``""``, which is not a valid value of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resourceapi.kinds import KINDS
from resourceapi.manifests import mapping
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.schema import Schema

_Place = tuple[tuple[str, ...], tuple[str, ...]]


def without_empty_list_keys(kind: str, obj: Any) -> Any:
    """The object without such empty keys; the same object if it has none.

    :param obj: JSON of any version.
    """
    for path, keys in _PLACES.get(kind, ()):
        parent = mapping(obj, *path[:-1])
        entries = parent.get(path[-1])
        if isinstance(entries, list) and any(_has_empty(entry, keys) for entry in entries):
            obj = _replaced(obj, path, [_without_empty(entry, keys) for entry in entries])
    return obj


def _has_empty(entry: Any, keys: tuple[str, ...]) -> bool:
    return isinstance(entry, dict) and any(entry.get(key) == "" for key in keys)


def _without_empty(entry: Any, keys: tuple[str, ...]) -> Any:
    if not isinstance(entry, dict):
        return entry
    return {name: value for name, value in entry.items() if name not in keys or value != ""}


def _replaced(obj: Object, path: tuple[str, ...], value: Any) -> Object:
    head, *rest = path
    return {**obj, head: _replaced(obj[head], tuple(rest), value) if rest else value}


def _places(schema: Schema, struct: str, at: tuple[str, ...] = ()) -> Iterator[_Place]:
    """Lists whose entries have optional keys, with these keys; lists in lists are left out, as no kind has such."""
    for field in schema[struct].fields:
        path = (*at, field.name)
        if field.type.kind == "struct" and field.name != "metadata":
            yield from _places(schema, field.type.struct, at if field.inline else path)
        elif field.list_keys and field.type.element is not None:
            entry = schema[field.type.element.struct]
            optional = tuple(key for key in field.list_keys if entry[key].pointer)
            if optional:
                yield path, optional


_PLACES = {kind: found for kind in KINDS if (found := tuple(_places(SCHEMAS["v1"], kind)))}
