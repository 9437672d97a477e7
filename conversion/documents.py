"""A user's document in another version: the same fields, defaults not filled in, order kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conversion.hub import from_hub, hub_object, to_hub
from resourceapi.decoding import DecodingError
from resourceapi.equality import equal, equal_fields
from resourceapi.errors import ClaimcheckError
from resourceapi.field_errors import Key, Path, render
from resourceapi.kinds import KINDS, kind_in
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from resourceapi.schema import Schema

# The fields on the way to requests and devices.
_SHAPED = frozenset(("spec", "devices", "requests"))
_DEPTH_OF_REQUESTS = 4
# The capacity of a device is a map, as its attributes are, unlike that of a request.
_EMPTY_IS_NONE: dict[tuple[Path, str], str] = {(("devices",), "capacity"): "attributes"}


class ConversionError(ClaimcheckError):
    """A document that cannot be had in a version; ``path`` is the field it is about (empty: the whole of it)."""

    def __init__(self, text: str, path: Path = ()) -> None:
        super().__init__(f"{render(path)}: {text}" if path else text)
        self.text = text
        self.path = path


def convert_document(document: Object, version: str, schemas: Mapping[str, Schema] = SCHEMAS) -> Object:
    """A document (JSON of any version of a DRA kind) in ``version``; what it does not change is shared with it.

    :raises ConversionError: if the document cannot be read, or the version lacks the kind or a field's meaning.
    """
    kind, source = _identify(document)
    _insist_on(kind, version)
    meaning = _read(document, kind, source, schemas)
    if version == source:
        return document
    # Not with hub_object, whose values are in normal form: the user's document keeps its order and its spelling.
    converted = from_hub(kind, version, to_hub(kind, source, _without_nulls_in_the_way(document)))
    group = split_api_version(document["apiVersion"])[0]
    converted = {**converted, "apiVersion": f"{group}/{version}"}
    for path in _differences(meaning, _read(converted, kind, version, schemas), ()):
        raise ConversionError(f"{version} cannot hold this", path)
    return converted


def _identify(document: Object) -> tuple[str, str]:
    """Kind and version of a document of the DRA group."""
    group, version = split_api_version(str(document.get("apiVersion", "")))
    kind = document.get("kind")
    if not isinstance(kind, str) or kind_in(group, kind) is None:
        raise ConversionError(
            f"no DRA object of a known kind: apiVersion {document.get('apiVersion')!r}, kind {kind!r}"
        )
    _insist_on(kind, version)
    return kind, version


def _insist_on(kind: str, version: str) -> None:
    if version not in KINDS[kind].versions:
        known = ", ".join(KINDS[kind].versions)
        raise ConversionError(f"{kind} has no version {version} (it has {known})", ("apiVersion",))


def _read(document: Object, kind: str, version: str, schemas: Mapping[str, Schema]) -> Object:
    """The object that a document denotes, in the shape of the hub."""
    try:
        return hub_object(document, schemas, kind=kind, version=version, strict=True, defaults=None)
    except DecodingError as error:
        raise ConversionError(error.text, error.path) from None


def _without_nulls_in_the_way(value: Any, depth: int = 0) -> Any:
    """A copy without the nulls of structs that change their shape (requests, devices) and of those around them."""
    if not isinstance(value, dict) or depth > _DEPTH_OF_REQUESTS:
        return value
    kept = {name: member for name, member in value.items() if member is not None or name not in _SHAPED}
    for name in _SHAPED & kept.keys():
        members = kept[name]
        if isinstance(members, list):
            kept[name] = [_without_own_nulls(each) for each in members]
        else:
            kept[name] = _without_nulls_in_the_way(members, depth + 1)
    return kept


def _without_own_nulls(value: Any) -> Any:
    """A copy of a request or device without its nulls, and those of the struct in it that falls away in a version."""
    if not isinstance(value, dict):
        return value
    return {
        name: _without_own_nulls(member) if name in ("exactly", "basic") else member
        for name, member in value.items()
        if member is not None
    }


def _differences(one: Any, other: Any, path: Path) -> Iterator[Path]:
    """The deepest paths at which two values differ in meaning."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one.keys() | other.keys():
            member, counterpart = one.get(name), other.get(name)
            if name in one and name in other:
                yield from _differences(member, counterpart, (*path, name))
            elif not equal_fields(_EMPTY_IS_NONE.get((path[1:2], name)) or name, member, counterpart):
                yield (*path, Key(name) if "/" in name else name)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(*pair, (*path, index))
    elif not equal(one, other):
        yield path
