"""The full reader's second half: nodes to a JSON value, by the rules of go-yaml v2 and sigs.k8s.io/yaml."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from documents.errors import MalformedText
from documents.scalars import UnrepresentableNumber, json_float, json_integer, key_text, resolve_plain
from documents.tree import (
    ALIAS,
    MAPPING,
    MAX_DEPTH,
    MAX_VALUES,
    SCALAR,
    SEQUENCE,
    Expansion,
    Node,
    RepeatedKeys,
    too_deep,
    too_many,
)

# go-yaml refuses a document when more than this share of its values comes from aliases: a bomb.
_FREE_ALIASED, _FREE_VALUES = 100, 1_000
_SMALL, _LARGE = 400_000, 4_000_000
_SHARE_SMALL, _SHARE_LARGE = 0.99, 0.10

_TAG = "tag:yaml.org,2002:"
_RESOLVED_TAGS = frozenset(_TAG + name for name in ("str", "bool", "int", "float", "null", "timestamp"))


def to_value(root: Node, expansion: Expansion) -> Any:
    """The JSON value of a node tree.

    :param expansion: what aliases may still add.
    :raises MalformedText: for values that kubectl refuses, or that are beyond what is read.
    """
    return _Values(expansion).value(root, 0)


class _Values:
    """Turns nodes into values and keeps count of what aliases add."""

    def __init__(self, expansion: Expansion) -> None:
        self.expansion = expansion
        self.count = 0
        self.aliased = 0
        self.aliases: dict[int, Node] = {}  # that are being followed, by identity, the outermost first

    def value(self, node: Node, depth: int, key: bool = False) -> Any:
        self.count += 1
        if depth > MAX_DEPTH or self.count > MAX_VALUES or self.aliases:
            self._check(node, depth)
        if node.kind is SCALAR:
            if not node.plain and not node.tag:
                return node.value
            return self._scalar(node, key)
        if node.kind == ALIAS:
            return self._aliased(node, depth, key)
        if node.kind == SEQUENCE:
            return [self.value(child, depth + 1) for child in node.children]
        pairs: list[tuple[str, Any]] = []
        repeated = self._mapping(node, depth, pairs)
        return RepeatedKeys(pairs) if repeated else dict(pairs)

    def _check(self, node: Node, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise too_deep(node.start)
        if self.count > MAX_VALUES:
            raise too_many(node.start)
        if self.aliases:
            self.aliased += 1
            self.expansion.add(node, next(iter(self.aliases.values())))
            if (
                self.aliased > _FREE_ALIASED
                and self.count > _FREE_VALUES
                and self.aliased > self.count * _allowed_alias_share(self.count)
            ):
                raise MalformedText(node.start, "document contains excessive aliasing")

    def _aliased(self, node: Node, depth: int, key: bool) -> Any:
        if id(node) in self.aliases:
            raise MalformedText(node.start, f"anchor '{node.value}' value contains itself")
        assert node.target is not None
        self.aliases[id(node)] = node
        try:
            return self.value(node.target, depth + 1, key)
        finally:
            del self.aliases[id(node)]

    def _mapping(self, node: Node, depth: int, pairs: list[tuple[str, Any]]) -> bool:
        """Appends the mapping's pairs; says whether a key is written twice (a merge may override)."""
        own: set[str] = set()
        repeated = False
        children = node.children
        for position in range(0, len(children), 2):
            name, content = children[position], children[position + 1]
            if is_merge(name):
                self._merge(content, depth, pairs)
                continue
            key = self._key(name, depth)
            repeated = repeated or key in own
            own.add(key)
            pairs.append((key, self.value(content, depth + 1)))
        return repeated

    def _merge(self, node: Node, depth: int, pairs: list[tuple[str, Any]]) -> None:
        for source in merge_sources(node):
            merged = self.value(source, depth + 1)
            pairs.extend(merged.items())

    def _key(self, node: Node, depth: int) -> str:
        key = self.value(node, depth + 1, key=True)
        if isinstance(key, (dict, list)):
            what = "mapping" if isinstance(key, dict) else "sequence"
            raise MalformedText(node.start, f"invalid map key: a {what} cannot be a key")
        try:
            return key_text(key)
        except ValueError as error:
            raise MalformedText(node.start, f"unsupported map key: {error}") from None

    def _scalar(self, node: Node, key: bool) -> Any:
        value = _resolved(node)
        if key or isinstance(value, (str, bool)) or value is None:
            return value
        try:
            return json_float(value) if isinstance(value, float) else json_integer(value)
        except UnrepresentableNumber as error:
            raise MalformedText(node.start, str(error)) from None


def is_merge(key: Node) -> bool:
    """Whether a mapping's key is the `<<` that takes over the pairs of other mappings."""
    return key.kind == SCALAR and key.value == "<<" and (key.plain or key.tag == _TAG + "merge")


def merge_sources(node: Node) -> Sequence[Node]:
    """The mappings that a merge takes its pairs from, the one that counts most last."""
    nodes = node.children[::-1] if node.kind == SEQUENCE else [node]
    for source in nodes:
        target = source.target if source.kind == ALIAS else source
        if target is None or target.kind != MAPPING:
            raise MalformedText(node.start, "map merge requires map or sequence of maps as the value")
    return nodes


def key_of(node: Node) -> str | None:
    """The JSON key that a node stands for as the key of a mapping, None if it cannot be one."""
    if node.kind != SCALAR:
        return None
    try:
        return key_text(_resolved(node))
    except (MalformedText, ValueError):
        return None


def _resolved(node: Node) -> Any:
    """A scalar's value before it goes through JSON."""
    if node.plain:
        return resolve_plain(node.value) if node.value else None
    if not node.tag:
        return node.value
    if node.tag == _TAG + "binary":
        return _binary(node)
    if node.tag == _TAG + "str" or node.tag not in _RESOLVED_TAGS:
        return node.value
    return _tagged(node)


def _allowed_alias_share(count: int) -> float:
    if count <= _SMALL:
        return _SHARE_SMALL
    if count >= _LARGE:
        return _SHARE_LARGE
    return _SHARE_SMALL - (_SHARE_SMALL - _SHARE_LARGE) * (count - _SMALL) / (_LARGE - _SMALL)


def _binary(node: Node) -> str:
    from binascii import Error, a2b_base64

    try:
        return a2b_base64(re.sub("[\r\n]", "", node.value), strict_mode=True).decode("utf-8", "replace")
    except (Error, ValueError):
        raise MalformedText(node.start, "!!binary value contains invalid base64 data") from None


def _tagged(node: Node) -> Any:
    """A scalar whose tag demands a type: the value must look like it, only int passes for float."""
    name = node.tag.removeprefix(_TAG)
    value = resolve_plain(node.value) if node.value else None
    found = {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}[type(value)]
    if found == "str" and _timestamp(node.value):
        found = "timestamp"
    if found == name:
        return value
    if name == "float" and isinstance(value, int) and found == "int" and value < 2**63:
        return float(value)
    raise MalformedText(node.start, f"cannot decode !!{found} `{node.value}` as a !!{name}")


def _timestamp(text: str) -> bool:
    return (
        re.fullmatch(
            r"[0-9]{4}-(?:0?[1-9]|1[0-2])-(?:0?[1-9]|[12][0-9]|3[01])"
            r"(?:[Tt][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:[0-9]{2})"
            r"| [0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]+)?)?",
            text,
        )
        is not None
    )
