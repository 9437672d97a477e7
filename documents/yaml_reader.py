"""The full reader: YAML text to nodes, and nodes to a JSON value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import AliasEvent, DocumentStartEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

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

# The full reader's first half: YAML text to nodes, by libyaml.
# libyaml's grammar is the one kubectl's YAML library (go-yaml v2) was ported from; the few places where
# the two part are handled here. As kubectl does, only the first document of the text is read (the text has
# been cut at its separator lines before); what follows it goes unnoticed there.

_FLOW = "flow"

# Stand-ins for a character that libyaml would refuse: code points for private use, and each one long.
_QUOTE, _COLON = "\ue010", "\ue011"
# Every place takes another attempt to read the text.
_REPLACED_PLACES = 20
_REPLACED_TEXT = 100_000

# libyaml compares every directive with all before it. None is accepted in the end: its document begins behind `---`.
_DIRECTIVES = 100
_preamble = re.compile(r"(?:%[^\n]*\n|[ \t\r]*(?:#[^\n]*)?\n)*").match

_properties = re.compile(r"(?:[!&]\S*\s*)*").match


def read_nodes(text: str) -> tuple[Node | None, int]:
    """The node tree of the first document in the text, and the offset where it ends.

    None for a text without a document.

    :raises MalformedText: for text that is not YAML.
    """
    mark = re.search("^\ufeff", text, re.MULTILINE)
    if mark:
        raise MalformedText(
            mark.start(), "a byte order mark in the middle of the file", "remove the character"
        )
    preamble = _preamble(text) if "%" in text else None
    if preamble and len(re.findall("^%", preamble[0], re.MULTILINE)) > _DIRECTIVES:
        raise MalformedText(preamble.end(), "did not find expected <document start>")
    retries = 0 if _QUOTE in text or _COLON in text or len(text) > _REPLACED_TEXT else _REPLACED_PLACES
    replaced = False
    while True:
        try:
            return _Events(text, replaced).read()
        except yaml.YAMLError as error:
            malformed = _malformed(error, text)
            other = _replaced(text, malformed) if retries else None
            if other is None:
                raise malformed from None
            text, replaced, retries = other, True, retries - 1


def _replaced(text: str, malformed: MalformedText) -> str | None:
    r"""The text with the place of an error that go-yaml does not see written otherwise, or None.

    go-yaml takes `\'` in double quotes for a quote, and a colon in front of a flow indicator for text.
    """
    at = malformed.offset
    if malformed.message == "found unexpected ':'" and text[at] == ":":
        return f"{text[:at]}{_COLON}{text[at + 1 :]}"
    if malformed.message == "found unknown escape character" and text[at : at + 2] == "\\'":
        return f"{text[:at]}{_QUOTE}{text[at + 1 :]}"
    return None


def offset_of_ignored_text(text: str, end: int) -> int | None:
    """Where, behind the end of the first document, more than blanks, comments and `...` follows."""
    position = end
    while position < len(text):
        matched = re.compile(r"[ \t\r\n]*(?:#[^\n]*\n?|\.\.\.(?=\s|$))?").match(text, position)
        if matched is None or matched.end() == position:
            return position
        position = matched.end()
    return None


class _Events:
    """Builds the tree from libyaml's events, with a stack instead of recursion."""

    def __init__(self, text: str, replaced: bool) -> None:
        self.text = text
        self.replaced = replaced
        self.next_event: Callable[[], Any] = CParser(text).get_event
        self.anchors: dict[str, Node] = {}
        self.count = 0

    def read(self) -> tuple[Node | None, int]:
        next_event = self.next_event
        next_event()
        start = next_event()
        if not isinstance(start, DocumentStartEvent):
            return None, len(self.text)
        return self._root(), next_event().end_mark.index

    def _root(self) -> Node:
        next_event = self.next_event
        children: list[Node] = []
        in_flow = False
        open_nodes: list[tuple[list[Node], bool, Node]] = []
        while True:
            event = next_event()
            kind = type(event)
            if kind is ScalarEvent:
                children.append(self._scalar(event, in_flow))
            elif kind is AliasEvent:
                children.append(self._alias(event))
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                node = self._collection(event, MAPPING if kind is MappingStartEvent else SEQUENCE)
                if len(open_nodes) >= MAX_DEPTH:
                    raise too_deep(node.start)
                children.append(node)
                open_nodes.append((children, in_flow, node))
                node.children = children = []
                in_flow = event.flow_style
            else:
                children, in_flow, ended = open_nodes.pop()
                ended.end = event.end_mark.index
            if not open_nodes:
                return children[0]

    def _collection(self, event: Any, kind: str) -> Node:
        node = Node(kind, event.start_mark.index, event.end_mark.index)
        node.style = _FLOW if event.flow_style else ""
        self._register(event.anchor, node)
        return node

    def _alias(self, event: Any) -> Node:
        node = Node(ALIAS, event.start_mark.index, event.end_mark.index, event.anchor)
        node.target = self.anchors.get(event.anchor)
        if node.target is None:
            raise MalformedText(node.start, f"unknown anchor '{event.anchor}' referenced")
        return node

    def _scalar(self, event: Any, in_flow: bool) -> Node:
        node = Node(SCALAR, event.start_mark.index, event.end_mark.index, event.value)
        if event.tag or event.anchor:
            properties = _properties(self.text, node.start, node.end)
            node.start = properties.end() if properties else node.start
        node.tag = event.tag or ""
        node.plain = event.implicit[0] and not node.tag
        node.style = event.style or ""
        if self.replaced:
            node.value = node.value.replace(_QUOTE, "").replace(_COLON, ":")
        if node.style == '"' and r"\/" in self.text[node.start : node.end]:
            self._refuse_escaped_slash(node)
        elif in_flow and not node.style and "?" in node.value[1:]:
            # In flow collections go-yaml ends a plain scalar at a question mark.
            where = self.text.index("?", node.start + 1)
            raise MalformedText(where, "did not find expected ',' before '?': quote the text")
        self._register(event.anchor, node)
        return node

    def _register(self, anchor: str | None, node: Node) -> None:
        self.count += 1
        if self.count > MAX_VALUES:
            raise too_many(node.start)
        if anchor:
            self.anchors[anchor] = node

    def _refuse_escaped_slash(self, node: Node) -> None:
        for matched in re.compile(r"\\(.)", re.DOTALL).finditer(self.text, node.start, node.end):
            if matched[1] == "/":
                raise MalformedText(matched.start(), "found unknown escape character")


def _malformed(error: yaml.YAMLError, text: str) -> MalformedText:
    """What libyaml says is wrong, and where."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:  # from libyaml's reader of characters
        position = getattr(error, "position", 0)
        return MalformedText(min(position, len(text)), getattr(error, "reason", "not readable as YAML"))
    problem = str(getattr(error, "problem", None) or "not readable as YAML")
    context = getattr(error, "context_mark", None)
    if context is not None and mark.index >= len(text.rstrip()):
        # The text has ended inside of something: where that began is what the user wants to see.
        return MalformedText(context.index, problem, "what begins here is not closed")
    return MalformedText(mark.index, problem)


# The full reader's second half: nodes to a JSON value, by the rules of go-yaml v2 and sigs.k8s.io/yaml.

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
