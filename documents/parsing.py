"""From a text to its documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from documents.block_style import NotBlockStyle, read_block_style
from documents.document import Document
from documents.errors import DocumentError, MalformedText
from documents.garbage import CollectorPaused
from documents.source import Path, Source, decode
from documents.splitting import Chunk, split
from documents.tree import Expansion, RepeatedKeys

NOT_AN_OBJECT = "not a Kubernetes object"
"""How messages about documents that are no mappings begin."""
_OF_ANY_KIND = frozenset(("apiVersion", "kind", "metadata"))
#: After so many documents of a text that are no objects, nothing more of it is read.
MAX_NO_OBJECTS = 10_000


def _looks_like_list(value: dict[str, Any]) -> bool:
    return isinstance(value.get("kind"), str) and value["kind"].endswith("List")


def _accept(value: dict[str, Any]) -> Iterable[tuple[Path, str]]:
    return ()


def parse(
    content: bytes | str,
    file: str = "-",
    is_list: Callable[[dict[str, Any]], bool] = _looks_like_list,
    list_problems: Callable[[dict[str, Any]], Iterable[tuple[Path, str]]] = _accept,
) -> Iterator[Document | DocumentError]:
    """The objects in a text, in order; `file` is the name to report, `is_list` tells lists of objects from objects.

    :param list_problems: what is wrong with a list itself, and where.

    What cannot be read comes as a DocumentError in its place; the rest is still read, unless too much is no object. Objects of a
    `kind: List` come one by one. Empty documents are left out. Nothing is raised.
    """
    left = MAX_NO_OBJECTS
    for found in _parsed(content, file, is_list, list_problems):
        if not _is_object(found):
            if not left:
                message = f"more than {MAX_NO_OBJECTS:,} documents are no Kubernetes objects: what follows is not read"
                yield DocumentError(file, found.line, getattr(found, "column", 1), message)
                return
            left -= 1
        yield found


def _is_object(found: Document | DocumentError) -> bool:
    return isinstance(found, Document) and bool(found.value.get("apiVersion") and found.value.get("kind"))


def _parsed(
    content: bytes | str,
    file: str,
    is_list: Callable[[dict[str, Any]], bool],
    list_problems: Callable[[dict[str, Any]], Iterable[tuple[Path, str]]],
) -> Iterator[Document | DocumentError]:
    """The same without a limit."""
    if isinstance(content, bytes):
        try:
            content = decode(content, file)
        except DocumentError as error:
            yield error
            return
    source = Source(file, content)
    expansion = Expansion(len(content))
    end = len(content.rstrip())
    index = 0
    for chunk in split(content):
        document: Document | DocumentError | None
        try:
            with CollectorPaused(chunk.end - chunk.start):
                document = _document(source, chunk, index, expansion)
        except MalformedText as error:
            document = source.error(min(error.offset, end), error.message, error.hint)
        if document is None:
            continue
        index += 1
        if isinstance(document, Document) and is_list(document.value):
            for path, message in list_problems(document.value):
                yield document.error(path, message)
            yield from _flattened(document)
        else:
            yield document


def first_document(content: bytes, file: str) -> Document:
    """The first document of a text, whatever its value is: a patch may be a list, or nothing (None).

    :raises DocumentError: if it cannot be read.
    """
    text = decode(content, file)
    source = Source(file, text)
    expansion = Expansion(len(text))
    for chunk in split(text):
        try:
            _document(source, chunk, 0, expansion)
        except MalformedText as error:
            raise source.error(min(error.offset, len(text.rstrip())), error.message, error.hint) from None
        if chunk.value is not None:
            return Document(source, 0, chunk, chunk.value)
    empty = Chunk(0, len(text))
    return Document(source, 0, empty, empty.value)


def _document(
    source: Source, chunk: Chunk, index: int, expansion: Expansion
) -> Document | DocumentError | None:
    """The document in a chunk, None for an empty one.

    :param expansion: what aliases may still add to the source.
    :raises MalformedText: if it cannot be read.
    """
    if chunk.error:
        raise chunk.error
    ignored = None
    value = chunk.value
    if not chunk.is_json:
        # kubectl reads line by line and ends the last one, too.
        text = source.text[chunk.start : chunk.end]
        if text[-1:] != "\n":
            text += "\n"
        try:
            value = read_block_style(text.replace("\r\n", "\n") if "\r" in text else text)
            chunk.is_simple = True
        except NotBlockStyle:
            value, ignored = _read_fully(text, chunk, expansion)
    chunk.value = value
    if value is None:
        return None
    if not isinstance(value, dict):
        return _no_object(source, chunk, value)
    document = Document(source, index, chunk, value)
    if ignored is not None:
        message = "kubectl ignores what follows here, because no line of --- separates it"
        document.notices = (source.error(chunk.start + ignored, message),)
    return document


def _read_fully(text: str, chunk: Chunk, expansion: Expansion) -> tuple[Any, int | None]:
    """The value of a YAML document by the full reader, and where text that is ignored begins."""
    from documents.yaml_tree import offset_of_ignored_text, read_nodes
    from documents.yaml_values import to_value

    try:
        root, end = read_nodes(text)
        if root is None:
            return None, None
        return to_value(root, expansion), offset_of_ignored_text(text, end)
    except MalformedText as error:
        raise _explained(error, text, chunk) from None


def _explained(error: MalformedText, text: str, chunk: Chunk) -> MalformedText:
    """The error in terms of the whole source, with a hint, or a better explanation where there is one."""
    from documents.hints import syntax_hint, template_hint, typographic_separator

    dashes = typographic_separator(text)
    if dashes is not None:
        message = "a separator line typed with typographic dashes"
        return MalformedText(chunk.start + dashes, message, "write --- with three plain hyphens")
    if chunk.json_error is not None:
        # Both readers have failed: the one that came further knows better.
        offset = chunk.json_error.offset - chunk.start
        if offset >= min(error.offset, len(text.rstrip())):
            error = MalformedText(offset, chunk.json_error.message)
    hint = error.hint or template_hint(text, error.offset) or syntax_hint(error.message, text, error.offset)
    return MalformedText(chunk.start + error.offset, error.message, hint)


def _no_object(source: Source, chunk: Chunk, value: Any) -> DocumentError:
    from documents.hints import no_object_hint, template_hint

    kinds = {list: "a list", str: "text", bool: "a boolean", int: "a number", float: "a number"}
    text = source.text[chunk.start : chunk.end]
    blank = len(text) - len(text.lstrip())
    message = f"{NOT_AN_OBJECT}: expected a mapping with apiVersion and kind, found {kinds[type(value)]}"
    return source.error(chunk.start + blank, message, template_hint(text, blank) or no_object_hint(value))


def _flattened(document: Document) -> Iterator[Document | DocumentError]:
    """The items of a `kind: List` (or ResourceClaimList, ...) document."""
    value, kind = document.value, document.value["kind"]
    items, listed = value.get("items"), kind.removesuffix("List")
    if not items and listed == kind:
        message = f"kubectl takes this {kind} for a list without objects, because it has `items`"
        yield document.error(("items",), message, "remove `items`")
        return
    if not isinstance(items, list):
        yield document.error(("items",), f"a {kind} needs items, which must be a list")
        return
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            yield document.error(("items", index), f"every item of a {kind} must be an object")
        elif isinstance(item.get("items"), list) and str(item.get("kind", "")).endswith("List"):
            yield document.error(("items", index), "a list inside a list: kubectl does not accept it")
        elif item.get("kind", listed) != listed != kind and listed and not item.keys() <= _OF_ANY_KIND:
            message = f"a {item['kind']} in a {kind}: kubectl checks every item as a {listed}"
            hint = "write `apiVersion: v1` and `kind: List` for a list of objects of any kind"
            yield document.error(("items", index, "kind"), message, hint)
        else:
            item = _with_inferred_kind(item, value, kind)
            yield document.list_item(index, item, _name_of_item(value, item, index))


def _name_of_item(value: dict[str, Any], item: dict[str, Any], index: int) -> str:
    """What kubectl calls an item in errors of its own; empty if it checks none of this list."""
    if value["kind"] != "List":
        return f"{value['kind']}.items[{index}]" if value["kind"].endswith("List") else ""
    return str(item.get("kind", "")) if value.get("apiVersion") == "v1" else ""


def _with_inferred_kind(item: dict[str, Any], value: dict[str, Any], kind: str) -> dict[str, Any]:
    """Items of a typed list may leave out apiVersion and kind, as kubectl and the server have it."""
    if kind == "List" or item.get("kind") or item.get("apiVersion"):
        return item
    type_of_item = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")}
    if isinstance(item, RepeatedKeys):
        return RepeatedKeys([*type_of_item.items(), *item.pairs])
    return {**item, **type_of_item}
