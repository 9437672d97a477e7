"""The full reader's first half: YAML text to nodes, by libyaml.

libyaml's grammar is the one kubectl's YAML library (go-yaml v2) was ported from; the few places where
the two part are handled here. As kubectl does, only the first document of the text is read (the text has
been cut at its separator lines before); what follows it goes unnoticed there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml
from yaml._yaml import CParser
from yaml.events import AliasEvent, DocumentStartEvent, MappingStartEvent, ScalarEvent, SequenceStartEvent

from documents.errors import MalformedText
from documents.tree import ALIAS, MAPPING, MAX_DEPTH, MAX_VALUES, SCALAR, SEQUENCE, Node, too_deep, too_many

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
