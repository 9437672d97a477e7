"""Changes to an object that make it wrong in some way, or different."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.corpus.tables import FIELDS, LIMITS, UNKNOWN, WEIGHTS, pick

Json = Any
Node = tuple[Any, Any, tuple[str, ...]]
"""A value in a tree: its container, its key or index there, and its path with `*` for indices."""

Shapes = Mapping[tuple[str, ...], Mapping[str, list[Json]]]
"""Which fields valid objects have at a path (with `*` for indices), each with values seen there."""

_FEW = 3
_WRONG_TYPES: list[Json] = [5, 1.5, True, "x", "", [], [1], [{}], ["x"], {}, {"a": 1}, {"a": {"b": []}}]
_EMPTY: list[Json] = [None, "", {}, [], 0, False]
_OF_METADATA = (
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
)
_KEY_FIELDS = (
    "attributes",
    "capacity",
    "limits",
    "requests",
    "counters",
    "consumedCapacity",
    "labels",
    "annotations",
)


class Mutator:
    """Mutates objects at random; `shapes` says what fields could be added where."""

    def __init__(self, source: random.Random, shapes: Shapes) -> None:
        self._source = source
        self._shapes = shapes
        self._kinds: dict[str, Callable[[Json], str]] = {
            "set": self._set,
            "respell": self._respell,
            "drop": self._drop,
            "add": self._add,
            "borrow": self._borrow,
            "empty": self._empty,
            "type": self._type,
            "unknown": self._unknown,
            "duplicate": self._duplicate,
            "limit": self._limit,
            "rename key": self._rename_key,
            "move": self._move,
            "envelope": self._envelope,
            "metadata": self._metadata,
            "swap": self._swap,
        }

    def mutate(self, object: Json, times: int) -> str:
        """Change `object` in place; says how. Many changes at once are of the sorts that decoding lets through."""
        notes = []
        weights = WEIGHTS["mutation"] if times <= _FEW else WEIGHTS["mutation among many"]
        for _ in range(times):
            kind = pick(self._source, weights)
            what = self._kinds[kind](object)
            if what:
                notes.append(f"{kind} {what}")
        return "; ".join(notes)

    # --- choosing where

    def _nodes(self, object: Json) -> list[Node]:
        nodes = list(_walk(object, ()))
        # Metadata is looked at less: it is the same in every kind.
        return [node for node in nodes if node[2][0] != "metadata" or self._source.random() < 0.4]

    def _some(self, object: Json, wanted: Callable[[Node], bool] = lambda _: True) -> Node | None:
        nodes = [node for node in self._nodes(object) if wanted(node)]
        return self._source.choice(nodes) if nodes else None

    def _mapping(self, object: Json) -> tuple[dict[str, Any], tuple[str, ...]]:
        maps = [
            (container[key], path) for container, key, path in self._nodes(object) if _is_map(container[key])
        ]
        return self._source.choice([(object, ()), *maps, *maps])

    # --- the mutations

    def _set(self, object: Json) -> str:
        node = self._some(object, lambda node: _field(node[2]) in FIELDS)
        if not node:
            return ""
        value = self._source.choice(FIELDS[_field(node[2])])
        if node[2][-1] == "*" and isinstance(value, list) and value:
            value = self._source.choice(value)
        return self._put(node, value)

    def _respell(self, object: Json) -> str:
        """Another value of the same JSON type."""
        node = self._some(object, lambda node: _field(node[2]) in FIELDS)
        if not node:
            return ""
        kind = type(node[0][node[1]])
        values = [value for value in FIELDS[_field(node[2])] if type(value) is kind]
        return self._put(node, self._source.choice(values)) if values else ""

    def _drop(self, object: Json) -> str:
        node = self._some(object)
        if not node:
            return ""
        container, key, path = node
        del container[key]
        return ".".join(path)

    def _add(self, object: Json) -> str:
        """A field that valid objects have here, of this version or another, with a value seen or a table's."""
        target, path = self._mapping(object)
        fields = self._shapes.get(path)
        if not fields:
            return ""
        field = self._source.choice(list(fields))
        values = fields[field] + FIELDS.get(field, [])
        return self._put((target, field, (*path, field)), self._source.choice(values))

    def _borrow(self, object: Json) -> str:
        """A field that belongs elsewhere."""
        target, path = self._mapping(object)
        field = self._source.choice(list(FIELDS))
        return self._put((target, field, (*path, field)), self._source.choice(FIELDS[field]))

    def _empty(self, object: Json) -> str:
        node = self._some(object)
        return self._put(node, self._source.choice(_EMPTY)) if node else ""

    def _type(self, object: Json) -> str:
        node = self._some(object)
        return self._put(node, self._source.choice(_WRONG_TYPES)) if node else ""

    def _unknown(self, object: Json) -> str:
        target, path = self._mapping(object)
        field = self._source.choice(UNKNOWN)
        return self._put((target, field, (*path, field)), self._source.choice(_WRONG_TYPES + _EMPTY))

    def _duplicate(self, object: Json) -> str:
        node = self._some(object, lambda node: isinstance(node[0], list))
        if not node:
            return ""
        container, key, path = node
        place = self._source.randint(0, len(container))
        container.insert(place, copy.deepcopy(container[key]))
        return ".".join(path)

    def _limit(self, object: Json) -> str:
        node = self._some(
            object, lambda n: bool(n[2][-1] in LIMITS and n[0][n[1]] and _is_container(n[0][n[1]]))
        )
        if not node:
            return ""
        container, key, path = node
        limit = self._source.choice(LIMITS[path[-1]]) + self._source.choice((0, 1, 1))
        distinct = self._source.random() < 0.7
        container[key] = _filled(container[key], limit, distinct=distinct)
        return f"{'.'.join(path)} to {limit}{'' if distinct else ', all the same'}"

    def _rename_key(self, object: Json) -> str:
        node = self._some(
            object, lambda n: len(n[2]) > 1 and n[2][-2] in _KEY_FIELDS and isinstance(n[0], dict)
        )
        if not node:
            return ""
        container, key, path = node
        of_pod = "containers" in path or "initContainers" in path or path[:2] == ("spec", "resources")
        tables = ("resource name",) if of_pod else ("matchAttribute", "key")
        names = [name for table in tables for name in FIELDS[table] if isinstance(name, str)]
        name = self._source.choice(names)
        container[name] = container.pop(key)
        return f"{'.'.join(path)} to {_shown(name)}"

    def _move(self, object: Json) -> str:
        """A field goes up to, or down into, its neighbour."""
        node = self._some(object, lambda node: isinstance(node[0], dict))
        if not node:
            return ""
        container, key, path = node
        target, where = self._mapping(object)
        value = container.pop(key)
        target[key] = value
        return f"{'.'.join(path)} to {'.'.join(where) or '.'}"

    def _envelope(self, object: Json) -> str:
        field = self._source.choice(("apiVersion", "kind", "metadata", "spec", "status", "items"))
        values = FIELDS.get(field, _EMPTY) if field != "status" else [*_EMPTY, {"bogus": 1}]
        return self._put((object, field, (field,)), self._source.choice(values))

    def _metadata(self, object: Json) -> str:
        """A field that any object's metadata can have."""
        metadata = object.get("metadata")
        if not isinstance(metadata, dict):
            return ""
        field = self._source.choice(_OF_METADATA)
        if field == "generateName":  # which counts only without a name
            metadata.pop("name", None)
        return self._put((metadata, field, ("metadata", field)), self._source.choice(FIELDS[field]))

    def _swap(self, object: Json) -> str:
        """Two values of the same type change places: a copy of one overwrites the other."""
        one, other = self._some(object), self._some(object)
        if not one or not other or type(one[0][one[1]]) is not type(other[0][other[1]]):
            return ""
        value = copy.deepcopy(other[0][other[1]])
        return self._put(one, value)

    def _put(self, node: Node, value: Json) -> str:
        container, key, path = node
        container[key] = copy.deepcopy(value)
        return f"{'.'.join(path)}={_shown(value)}"


def learn(shapes: dict[tuple[str, ...], dict[str, list[Json]]], object: Json, most: int = 12) -> None:
    """Remember the fields of an object and what was in them, at most `most` values each."""
    for container, key, path in _walk(object, ()):
        if isinstance(container, dict):
            values = shapes.setdefault(path[:-1], {}).setdefault(key, [])
            if len(values) < most and container[key] not in values:
                values.append(copy.deepcopy(container[key]))


def _walk(value: Json, path: tuple[str, ...]) -> Iterator[Node]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield value, key, (*path, key)
            yield from _walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield value, index, (*path, "*")
            yield from _walk(item, (*path, "*"))


def _field(path: tuple[str, ...]) -> str:
    """The field that a path leads to; for an entry of a list of names the list's."""
    return path[-1] if path[-1] != "*" else {"requests": "request"}.get(path[-2], path[-2])


def _is_map(value: Json) -> bool:
    return isinstance(value, dict)


def _is_container(value: Json) -> bool:
    return isinstance(value, dict | list)


def _filled(items: Json, count: int, *, distinct: bool) -> Json:
    """The list or map with `count` entries, copies of its first with other names."""
    if isinstance(items, dict):
        first = next(iter(items.values()))
        extra = {f"filled_{n}": copy.deepcopy(first) for n in range(count)}
        return dict(list({**items, **extra}.items())[:count])
    filled = copy.deepcopy(items[:count])
    while len(filled) < count:
        filled.append(_renamed(items[0], len(filled)) if distinct else copy.deepcopy(items[0]))
    return filled


def _renamed(item: Json, number: int) -> Json:
    item = copy.deepcopy(item)
    if isinstance(item, str):
        return f"{item}{number}"
    if isinstance(item, dict):
        for field in ("name", "uid", "type", "device", "key"):
            if isinstance(item.get(field), str):
                item[field] = f"{item[field]}{number}"
                break
    return item


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 40 else f"{text[:36]}...({len(text)})"
