"""Gives a document a new value and leaves its text alone otherwise.

`edit` works on the text, not on a tree that is written anew: lines whose values stay are taken over as
they are, with their comments, quotes, order and indentation. Fields that only move one level, as between
v1beta1's flat requests and v1's `exactly`, or out of and into a device's `basic`, take their lines with
them. What is new is written in the style of `documents.emitting`. The outcome is read again, and where it
is not the value asked for (anchors that are shared, say) the document is written anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from documents import emitting
from documents.comments import comments_in
from documents.errors import MalformedText
from documents.tree import ALIAS, MAPPING, SCALAR, SEQUENCE, Expansion, Node
from documents.yaml_tree import read_nodes
from documents.yaml_values import is_merge, key_of, to_value


def edit(text: str, value: dict[str, Any], is_json: bool = False, *, keeps_comments: bool = False) -> str:
    """The text of one document, changed so that its value is the given one.

    :param keeps_comments: whether the comments of keys that fall away stay, above what comes in their place.
    """
    if is_json:
        return json.dumps(value, indent=2, ensure_ascii=False)
    if "\r\n" in text:
        return edit(text.replace("\r\n", "\n"), value, keeps_comments=keeps_comments).replace("\n", "\r\n")
    ended = text if text[-1:] == "\n" else text + "\n"
    try:
        root, _ = read_nodes(ended)
        if root is not None:
            edited = ended[: root.start] + _Editor(ended, keeps_comments).value(root, len(ended), value)
            if same(_value_of(edited), value):
                return edited
    except (MalformedText, _CannotEdit):
        pass
    return "\n".join([*leading_comments(ended), *emitting.block(value)]) + "\n"


def same(left: Any, right: Any) -> bool:
    """Equality that tells true from 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def _value_of(text: str) -> Any:
    root, _ = read_nodes(text)
    return None if root is None else to_value(root, Expansion(len(text)))


def leading_comments(text: str) -> list[str]:
    """The lines above the first that is more than a comment or a separator."""
    lines = []
    for line in text.split("\n"):
        if line.strip() and line.lstrip()[0] != "#" and not line.startswith("---"):
            break
        lines.append(line)
    return lines


class _CannotEdit(Exception):
    """The text has a form that is not edited in place."""


class _Entry(NamedTuple):
    """A key of a block mapping with the text that belongs to it: `text[start:end]`."""

    key: Node
    value: Node
    start: int
    end: int


class _Editor:
    """Edits one text. A node's text goes up to an end that its surroundings tell; columns stay as they are."""

    def __init__(self, text: str, keeps_comments: bool) -> None:
        self.text = text
        self.keeps_comments = keeps_comments

    def value(self, node: Node, end: int, new: Any) -> str:
        """What `text[node.start:end]` becomes when the node's value becomes the new one."""
        text = self.text
        if same(self._read(node), new):
            return text[node.start : end]
        if node.kind == ALIAS:
            raise _CannotEdit
        if text[node.start] in "{[":
            return self._flow(node, new) + text[node.end : end]
        if node.kind == MAPPING and isinstance(new, dict) and new:
            return self._mapping(node, end, new)
        if node.kind == SEQUENCE and isinstance(new, list) and new:
            return self._sequence(node, end, new)
        raise _CannotEdit

    def _read(self, node: Node) -> Any:
        """The value of a node as it is in the text."""
        return to_value(node, Expansion(len(self.text)))

    def _column(self, offset: int) -> int:
        return offset - (self.text.rfind("\n", 0, offset) + 1)

    def _behind_indent(self, start: int, column: int) -> int:
        """Where the text begins on a line that belongs to a column: at most that far in."""
        if self._column(start):
            return start
        while column and self.text[start] == " ":
            start += 1
            column -= 1
        return start

    # Block mappings

    def _mapping(self, node: Node, end: int, new: dict[str, Any]) -> str:
        column = self._column(node.start)
        entries = self._entries(node, end, column)
        pieces = self._pieces(entries, column, new)
        indent = " " * column
        return indent.join(pieces[key] for key in _order(entries, pieces, new))

    def _pieces(self, entries: dict[str, _Entry], column: int, new: dict[str, Any]) -> dict[str, str]:
        """The text of every key of the new mapping, each from its column on and with a final line feed."""
        added = {key: value for key, value in new.items() if key not in entries}
        removed = {key: entry for key, entry in entries.items() if key not in new}
        pieces = {
            key: self._entry(entries[key], value, column) for key, value in new.items() if key in entries
        }
        for holder in removed.values():
            pieces.update(self._moved_out(holder, column, added))
        for key, value in added.items():
            if key not in pieces:
                moved = [name for name in removed if isinstance(value, dict) and name in value]
                pieces[key] = self._moved_in(key, value, {name: removed[name] for name in moved}, column)
        if self.keeps_comments and removed and added:
            self._keep_beside(removed.values(), added, pieces)
        if self.keeps_comments and removed and pieces:
            first = next(iter(added or pieces))
            written = "".join(pieces[key] for key in added)
            comments = [
                comment
                for entry in removed.values()
                for comment in comments_in(self.text, entry.start, entry.end, (entry.key, entry.value))
                if comment not in written
            ]
            pieces[first] = "".join(f"{each}\n{' ' * column}" for each in comments) + pieces[first]
        return pieces

    def _keep_beside(self, removed: Iterable[_Entry], added: Iterable[str], pieces: dict[str, str]) -> None:
        """Put the comment of a key that falls away behind its value, where that is written under another key."""
        for entry in removed:
            value = entry.value
            line_end = self.text.find("\n", value.end)
            comment = self.text[value.end : line_end].strip()
            if value.kind != SCALAR or value.start == value.end or comment[:1] != "#":
                continue
            behind = f": {self.text[value.start : value.end]}\n"
            holders = [key for key in added if behind in pieces[key]]
            if len(holders) == 1 and pieces[holders[0]].count(behind) == 1:
                piece = pieces[holders[0]]
                pieces[holders[0]] = piece.replace(behind, f"{behind[:-1]} {comment}\n")

    def _moved_out(self, holder: _Entry, column: int, added: dict[str, Any]) -> dict[str, str]:
        """The keys inside a removed one that the new mapping has itself: their text, one level up."""
        inner = holder.value
        if inner.kind != MAPPING or not inner.children or self.text[inner.start] == "{":
            return {}
        inner_column = self._column(inner.start)
        first = self._with_comments_above(inner.start, holder.key.end, inner_column)
        entries = self._entries(inner, holder.end, inner_column, first)
        return {
            key: _shifted(self._entry(entry, added[key], inner_column), column - inner_column)
            for key, entry in entries.items()
            if key in added
        }

    def _moved_in(self, key: str, value: Any, moved: dict[str, _Entry], column: int) -> str:
        """A new key; those of its keys that have been the mapping's own take their text along."""
        indent = " " * column
        if not moved:
            return _joined(emitting.entry(key, value, self._sequence_indent), column)
        inner = {name: _shifted(self._entry(entry, value[name], column), 2) for name, entry in moved.items()}
        for name, item in value.items():
            if name not in inner:
                inner[name] = _joined(emitting.entry(name, item, self._sequence_indent), column + 2)
        return f"{emitting.scalar(key, in_flow=True)}:\n" + "".join(
            f"{indent}  {piece}" for piece in inner.values()
        )

    def _entries(self, node: Node, end: int, column: int, first: int | None = None) -> dict[str, _Entry]:
        """The entries of a block mapping by key; comment lines above a key belong to its entry."""
        pairs = list(zip(node.children[::2], node.children[1::2], strict=True))
        starts = [node.start if first is None else first]
        starts += [
            self._with_comments_above(key.start, _content_end(before), column)
            for (key, _), (_, before) in zip(pairs[1:], pairs, strict=False)
        ]
        entries: dict[str, _Entry] = {}
        for (key, value), start, stop in zip(pairs, starts, [*starts[1:], end], strict=True):
            name = None if is_merge(key) else key_of(key)
            if name is None or name in entries or self._column(key.start) != column:
                raise _CannotEdit
            entries[name] = _Entry(key, value, start, stop)
        return entries

    def _with_comments_above(self, offset: int, limit: int, column: int) -> int:
        """The start of the first comment line right above a key's line that is no deeper than the key."""
        text = self.text
        start = text.rfind("\n", 0, offset) + 1
        while start > limit:
            above = text.rfind("\n", 0, start - 1) + 1
            line = text[above : start - 1]
            content = line.lstrip(" ")
            if above <= limit or content[:1] != "#" or len(line) - len(content) > column:
                break
            start = above
        return start

    def _entry(self, entry: _Entry, new: Any, column: int) -> str:
        """An entry's text from the mapping's column on, with a new value."""
        text, value = self.text, entry.value
        start = self._behind_indent(entry.start, column)
        if same(self._read(value), new):
            return text[start : entry.end]
        if (
            value.kind in (MAPPING, SEQUENCE)
            and type(new) is (dict if value.kind == MAPPING else list)
            and new
        ):
            return text[start : value.start] + self.value(value, entry.end, new)
        return text[start : entry.key.start] + self._replaced(entry, new, column)

    def _replaced(self, entry: _Entry, new: Any, column: int) -> str:
        """A key whose value is written anew; what is between them and behind the old value on its line stays."""
        text, key, value = self.text, entry.key, entry.value
        lines = emitting.entry("k", new, self._sequence_indent)
        inline = value.kind == SCALAR and value.start < value.end and value.style not in ("|", ">")
        if inline and len(lines) == 1:
            return text[key.start : value.start] + lines[0][3:] + text[value.end : entry.end]
        lines[0] = text[key.start : key.end] + lines[0][1:]
        if not inline:
            return _joined(lines, column)
        line_end = text.find("\n", value.end)
        lines[0] += text[value.end : line_end]
        return _joined(lines, column) + text[line_end + 1 : entry.end]

    # Block sequences

    def _sequence(self, node: Node, end: int, new: list[Any]) -> str:
        """Entry by entry; entries that the new list has not fall away, further ones are appended."""
        column = self._column(node.start)
        children = node.children
        if len(new) < len(children) and (kept := _kept(map(self._read, children), new)):
            return self._only(node, end, kept)
        starts = [node.start, *(self._dash_of(child, before, column) for before, child in pairwise(children))]
        pieces = []
        for child, start, stop, item in zip(children, starts, [*starts[1:], end], new, strict=False):
            begin = self._behind_indent(start, column)
            if same(self._read(child), item):
                pieces.append(self.text[begin:stop])
            elif (
                child.start == child.end
                or child.kind == SCALAR
                or not isinstance(item, (dict, list))
                or not item
            ):
                lines = emitting.item_lines(item, self._sequence_indent)
                if self.keeps_comments and child.start < child.end and child.style not in ("|", ">"):
                    lines[0] += self.text[child.end : self.text.find("\n", child.end)].rstrip()
                pieces.append(_joined(lines, column))
            else:
                pieces.append(self.text[begin : child.start] + self.value(child, stop, item))
        for item in new[len(children) :]:
            pieces.append(_joined(emitting.item_lines(item, self._sequence_indent), column))
        return (" " * column).join(pieces)

    def _only(self, node: Node, end: int, kept: list[bool]) -> str:
        """Some entries of a sequence, as they are."""
        column = self._column(node.start)
        starts = [node.start]
        starts += [self._dash_of(child, before, column) for before, child in pairwise(node.children)]
        pieces = [
            self.text[self._behind_indent(start, column) : stop]
            for start, stop, stays in zip(starts, [*starts[1:], end], kept, strict=True)
            if stays
        ]
        return (" " * column).join(pieces)

    def _dash_of(self, child: Node, before: Node, column: int) -> int:
        """The start of the line with the dash of a sequence's entry, comment lines above included."""
        text = self.text
        dash = text.rfind("-", 0, child.start)
        while dash >= 0 and (
            self._column(dash) != column or text[text.rfind("\n", 0, dash) + 1 : dash].strip()
        ):
            dash = text.rfind("-", 0, dash)
        if dash < 0:
            raise _CannotEdit
        return self._with_comments_above(dash, _content_end(before), column)

    @cached_property
    def _sequence_indent(self) -> int:
        """How far this text indents the dashes below a key; none where it shows no example."""
        previous = ""
        for line in self.text.split("\n"):
            content = line.lstrip(" ")
            if content.startswith("- ") and previous.rstrip().endswith(":"):
                key_column = len(previous) - len(previous.lstrip(" -"))
                return 2 if len(line) - len(content) > key_column else 0
            if content and content[0] != "#":
                previous = line
        return 0

    # Flow style

    def _flow(self, node: Node, new: Any) -> str:
        """A flow collection in place; keys and entries that stay keep their text and what is between them."""
        if same(self._read(node), new):
            return self.text[node.start : node.end]
        if node.kind == MAPPING and isinstance(new, dict) and node.children:
            return self._flow_mapping(node, new)
        if node.kind == SEQUENCE and isinstance(new, list) and len(new) == len(node.children):
            pieces = [self._flow(child, item) for child, item in zip(node.children, new, strict=True)]
            return self._spliced(node, node.children, node.children, pieces)
        return emitting.flow(new)

    def _flow_mapping(self, node: Node, new: dict[str, Any]) -> str:
        keys, values = node.children[::2], node.children[1::2]
        names = [key_of(key) for key in keys]
        texts: dict[str, str] = {}
        for name, value in zip(names, values, strict=True):
            if name is None or name in texts or value.kind == ALIAS:
                raise _CannotEdit
            texts[name] = self.text[value.start : value.end]
        added = {key: value for key, value in new.items() if key not in texts}
        removed = {name for name in texts if name not in new}
        fresh = [self._flow_pair(key, value, removed, node) for key, value in added.items()]
        pieces = []
        for key, value, name in zip(keys, values, names, strict=True):
            if name in new:
                pieces.append(self.text[key.start : value.start] + self._flow(value, new[name]))
            else:
                pieces.append(fresh.pop(0) if fresh else "")
        if fresh and pieces:
            pieces[-1] = ", ".join([*filter(None, pieces[-1:]), *fresh])
        return self._spliced(node, keys, values, pieces)

    def _flow_pair(self, key: str, value: Any, removed: set[str], node: Node) -> str:
        """A new pair; what it takes over from removed ones keeps its text."""
        known = {
            key_of(name): item for name, item in zip(node.children[::2], node.children[1::2], strict=True)
        }
        name = emitting.scalar(key, in_flow=True)
        for holder in removed:
            inner = known[holder]
            if inner.kind == MAPPING:
                for inner_key, item in zip(inner.children[::2], inner.children[1::2], strict=True):
                    if key_of(inner_key) == key:
                        return f"{name}: {self._flow(item, value)}"
        if not isinstance(value, dict) or not removed & value.keys():
            return f"{name}: {emitting.flow(value)}"
        inside = [
            f"{emitting.scalar(item, in_flow=True)}: "
            + (self._flow(known[item], value[item]) if item in removed else emitting.flow(value[item]))
            for item in value
        ]
        return f"{name}: {{{', '.join(inside)}}}"

    def _spliced(self, node: Node, firsts: Sequence[Node], lasts: Sequence[Node], pieces: list[str]) -> str:
        """The collection's text with each entry replaced by its piece; an empty piece takes its gap along."""
        text = self.text
        out = [text[node.start : firsts[0].start]]
        nexts = [*(first.start for first in firsts[1:]), node.end]
        for last, following, piece in zip(lasts, nexts, pieces, strict=True):
            if piece:
                out += [piece, text[last.end : following]]
            elif following == node.end:  # The last of those that stay gets the end of the collection.
                out[-1] = text[last.end : following] if len(out) > 1 else out[-1] + text[node.end - 1]
        return "".join(out)


def _order(entries: dict[str, _Entry], pieces: dict[str, str], new: dict[str, Any]) -> list[str]:
    """Old keys in their order; a new one takes the place of a removed one, or follows its predecessor."""
    added = [key for key in new if key not in entries]
    order: list[str] = []
    for key in entries:
        if key in pieces:
            order.append(key)
        elif added:
            order += added
            added = []
    known = list(new)
    for key in added:
        before = known[: known.index(key)]
        at = max((order.index(other) + 1 for other in before if other in order), default=0)
        order.insert(at, key)
    return order


def _kept(items: Iterable[Any], new: list[Any]) -> list[bool]:
    """Which entries of a sequence are those of the new one, in order; empty if it has others, too."""
    kept = []
    at = 0
    for item in items:
        stays = at < len(new) and same(item, new[at])
        kept.append(stays)
        at += stays
    return kept if at == len(new) else []


def _content_end(node: Node) -> int:
    """Where the last scalar or flow collection in a node ends."""
    while node.kind in (MAPPING, SEQUENCE) and node.style != "flow" and node.children:
        node = node.children[-1]
    return node.start if node.style in ("|", ">") else node.end


def _joined(lines: list[str], column: int) -> str:
    """Lines from a column on, the first without its indentation."""
    indent = " " * column
    return lines[0] + "\n" + "".join(f"{indent}{line}\n" if line else "\n" for line in lines[1:])


def _shifted(piece: str, by: int) -> str:
    """A piece of text moved sideways, but for its first line, which has no indentation here."""
    first, *lines = piece.split("\n")
    if by >= 0:
        moved = [" " * by + line if line else line for line in lines]
    else:
        moved = [line[min(-by, len(line) - len(line.lstrip(" "))) :] for line in lines]
    return "\n".join([first, *moved])
