"""Fields whose feature gate is off are dropped, unless the stored object uses the feature already.

Fields with the same gates are one feature: if the stored object has any of them set, none is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resourceapi.objects import copied
from resourceapi.schema import Schema

Gates = tuple[str, ...]
Visit = Callable[[dict[str, Any], list[tuple[dict[str, Any], str]]], None]


def without_disabled(
    schema: Schema, struct: str, obj: dict[str, Any], old: dict[str, Any] | None, on: frozenset[str]
) -> dict[str, Any]:
    """``obj`` without the fields whose gates are off, unless ``old`` uses the feature.

    :param struct: what ``obj`` is, in the hub and in normal form.
    :param old: the same part of the stored object, None if there is none.
    :param on: the gates that are on.
    :returns: ``obj`` itself if it has no such fields, otherwise a copy.
    """
    result = obj
    for gates, uses, visit in _features(schema, struct):
        if on.issuperset(gates) or (old and _in_use(uses, old)):
            continue
        found: list[tuple[dict[str, Any], str]] = []
        visit(result, found)
        if found and result is obj:
            result = copied(obj)
            found.clear()
            visit(result, found)
        for owner, name in found:
            del owner[name]
    return result


def _in_use(visit: Visit, old: dict[str, Any]) -> bool:
    found: list[tuple[dict[str, Any], str]] = []
    visit(old, found)
    return any(owner[name] != [] for owner, name in found)


def _features(schema: Schema, struct: str) -> list[tuple[Gates, Visit, Visit]]:
    """The features that the struct has fields for, with functions that find those that are set, and of them those to drop."""

    def build() -> list[tuple[Gates, Visit, Visit]]:
        return [
            (gates, uses, _visitor(schema, struct, gates, dropped=True) or _nothing)
            for gates in _gates_below(schema, struct)
            if (uses := _visitor(schema, struct, gates))
        ]

    return schema.compiled(("gating", struct), build)


def _gates_below(schema: Schema, struct: str) -> list[Gates]:
    found: dict[Gates, None] = {}
    for field in schema[struct].fields:
        if field.gates:
            found[field.gates] = None
        inner = field.type.struct_within
        if inner:
            found.update(dict.fromkeys(_gates_below(schema, inner)))
    return list(found)


def _nothing(obj: dict[str, Any], found: list[tuple[dict[str, Any], str]]) -> None:
    """Of a feature whose fields are all kept."""


def _visitor(schema: Schema, struct: str, gates: Gates, *, dropped: bool = False) -> Visit | None:
    """A function that collects the set fields of one feature, or None if the struct has none.

    :param dropped: only those that go when the feature is off.
    """
    own: list[str] = []
    steps: list[tuple[str, str, Visit]] = []
    for field in schema[struct].fields:
        if field.gates == gates:
            if not (dropped and field.kept):
                own.append(field.name)
        elif (inner := field.type.struct_within) and (
            visit := _visitor(schema, inner, gates, dropped=dropped)
        ):
            steps.append(("inline" if field.inline else field.type.kind, field.name, visit))
    if not own and not steps:
        return None

    def visit_struct(obj: dict[str, Any], found: list[tuple[dict[str, Any], str]]) -> None:
        for name in own:
            if name in obj:
                found.append((obj, name))
        for kind, name, visit in steps:
            value: Any = obj if kind == "inline" else obj.get(name)
            if not value:
                continue
            if kind == "list":
                for item in value:
                    visit(item, found)
            elif kind == "map":
                for item in value.values():
                    visit(item, found)
            else:
                visit(value, found)

    return visit_struct
