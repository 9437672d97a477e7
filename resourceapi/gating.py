"""Fields whose feature gate is off are dropped, unless the stored object uses the feature already.

Fields with the same gates are one feature: if the stored object has any of them set, none is dropped.
"""

from __future__ import annotations

from typing import Any

from resourceapi.objects import copied
from resourceapi.schema import Schema

Gates = tuple[str, ...]
Found = list[tuple[dict[str, Any], str]]


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
    for gates, feature in _features(schema, struct).items():
        if on.issuperset(gates) or (old and _in_use(feature, old)):
            continue
        found: Found = []
        feature.find(result, found, dropped=True)
        if found and result is obj:
            result = copied(obj)
            found.clear()
            feature.find(result, found, dropped=True)
        for owner, name in found:
            del owner[name]
    return result


def _in_use(feature: _Feature, old: dict[str, Any]) -> bool:
    found: Found = []
    feature.find(old, found)
    return any(owner[name] != [] for owner, name in found)


class _Feature:
    """Where a struct has the fields of one feature."""

    __slots__ = ("dropped", "names", "steps")

    def __init__(self) -> None:
        self.names: list[str] = []
        #: those that go when the feature is off
        self.dropped: list[str] = []
        #: the fields with structs that have such fields: of what kind, and the feature in these
        self.steps: list[tuple[str, str, _Feature]] = []

    def find(self, obj: dict[str, Any], found: Found, *, dropped: bool = False) -> None:
        """Collect the fields that are set; ``dropped``: only those that go when the feature is off."""
        for name in self.dropped if dropped else self.names:
            if name in obj:
                found.append((obj, name))
        for kind, name, inside in self.steps:
            value: Any = obj if kind == "inline" else obj.get(name)
            if not value:
                continue
            if kind == "list":
                for item in value:
                    inside.find(item, found, dropped=dropped)
            elif kind == "map":
                for item in value.values():
                    inside.find(item, found, dropped=dropped)
            else:
                inside.find(value, found, dropped=dropped)


def _features(schema: Schema, struct: str) -> dict[Gates, _Feature]:
    """The features that the struct has fields for; of structs inside they are found out once, wherever these are."""

    def build() -> dict[Gates, _Feature]:
        features: dict[Gates, _Feature] = {}
        for field in schema[struct].fields:
            if field.gates:
                own = features.setdefault(field.gates, _Feature())
                own.names.append(field.name)
                own.dropped += [] if field.kept else [field.name]
            if inner := field.type.struct_within:
                kind = "inline" if field.inline else field.type.kind
                for gates, inside in _features(schema, inner).items():
                    if gates != field.gates:
                        features.setdefault(gates, _Feature()).steps.append((kind, field.name, inside))
        return features

    return schema.compiled(("gating", struct), build)
