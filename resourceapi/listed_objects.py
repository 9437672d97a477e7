"""What kubectl looks at before it sends anything: the metadata of every object, and lists, which no server checks for it.

The items of a ``kind: List``, and a typed list such as ``ResourceClaimList`` as a whole, are compared with the schemas that the
server publishes. So a null among labels, or a number that is missing, is refused there, while the server takes both by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice

from resourceapi import builtin_kinds
from resourceapi.decoding import MAX_PROBLEMS, DecodingError, decode, fields_of
from resourceapi.field_path import Path
from resourceapi.key_order import with_sorted_keys
from resourceapi.kinds import kind_of
from resourceapi.model import workloads
from resourceapi.model.meta import METADATA, STRUCTS
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import Profile, split_api_version
from resourceapi.schema import Schema, Struct, Type

_ROOT = "metadataOnlyObject"
_LIST = "List"
_OF_LISTS = frozenset(("apiVersion", "items", "kind", "metadata"))
_OF_THEIR_METADATA = frozenset(("continue", "remainingItemCount", "resourceVersion", "selfLink", "shardInfo"))
_NUMBERS = frozenset(("int32", "int64", "quantity"))

#: What kubectl says, and the field that it is about.
Problem = tuple[Path, str]


def metadata_problem(value: Object) -> Problem | None:
    """Why kubectl cannot read the metadata of an object of any kind, if it cannot."""
    try:
        decode(_metadata_alone(), _ROOT, with_sorted_keys({"metadata": value.get("metadata")}))
    except DecodingError as error:
        return error.path, error.text
    return None


def list_problems(value: Object) -> Iterator[Problem]:
    """What kubectl refuses in a list itself, a hundred problems at most."""
    return islice(_in_list(value), MAX_PROBLEMS)


def _in_list(value: Object) -> Iterator[Problem]:
    if problem := metadata_problem(value):
        yield problem
    kind, (group, version) = value["kind"], split_api_version(value["apiVersion"])
    if kind == _LIST or not kind.endswith(_LIST) or group not in builtin_kinds.GROUPS:
        return
    model = f"io.k8s.api.{group.split('.')[0] or 'core'}.{version}.{kind}"
    yield from _unknown_fields(value, _OF_LISTS, (), kind, model)
    if isinstance(metadata := value.get("metadata"), dict):
        of_metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
        yield from _unknown_fields(
            metadata, _OF_THEIR_METADATA, ("metadata",), f"{kind}.metadata", of_metadata
        )


def _unknown_fields(
    value: Object, known: frozenset[str], path: Path, name: str, model: str
) -> Iterator[Problem]:
    for key in sorted(value):
        if key not in known and value[key] is not None:
            yield (*path, key), f'ValidationError({name}): unknown field "{key}" in {model}'


def item_problems(value: Object, name: str, profile: Profile) -> Iterator[Problem]:
    """What kubectl refuses in an item of a list, a hundred problems at most, besides what the server refuses itself.

    :param name: what kubectl calls the item.
    """
    return islice(_in_item(value, name, profile), MAX_PROBLEMS)


def _in_item(value: Object, name: str, profile: Profile) -> Iterator[Problem]:
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return
    group, version = split_api_version(api_version)
    if kind_of(api_version, kind) is not None and version in profile.schemas:
        walk = _Walk(profile.schemas[version], f"io.k8s.api.resource.{version}" if group == GROUP else "")
        yield from walk.struct(kind, value, (), name)
    elif (schema := workloads.schema_of(group, version, kind, profile.minor)) is not None:
        yield from _Walk(schema, "").struct(kind, value, (), name)
    else:
        yield from _Walk(_metadata_alone(), "").struct(_ROOT, value, (), name)


class _Walk:
    """Compares values with a schema.

    :param model: where the schema's structs are published; empty if missing numbers are left to the server.
    """

    def __init__(self, schema: Schema, model: str) -> None:
        self._schema = schema
        self._model = model

    def struct(self, struct: str, value: Object, path: Path, name: str) -> Iterator[Problem]:
        fields = fields_of(self._schema, struct)
        for key in sorted(value):
            if key in fields:
                yield from self._value(fields[key].type, value[key], (*path, key), f"{name}.{key}")
        for key in sorted(fields) if self._model else ():
            field = fields[key]
            is_number = field.type.kind in _NUMBERS and not field.pointer and not field.omitempty
            if is_number and value.get(key) is None:
                yield (
                    path,
                    f'ValidationError({name}): missing required field "{key}" in {self._model}.{struct}',
                )

    def _value(self, type: Type, value: object, path: Path, name: str) -> Iterator[Problem]:
        if type.kind == "struct" and isinstance(value, dict):
            yield from self.struct(type.struct, value, path, name)
        elif type.kind in ("map", "raw") and isinstance(value, dict):
            for key in sorted(value):
                if value[key] is None:
                    yield (*path, key), f'unknown object type "nil" in {name}.{key}'
                elif type.element is not None:
                    yield from self._value(type.element, value[key], (*path, key), f"{name}.{key}")
        elif type.kind == "list" and isinstance(value, list) and type.element is not None:
            for index, entry in enumerate(value):
                if entry is None:
                    yield (
                        (*path, index),
                        f'ValidationError({name}): unknown object type "nil" in {name}[{index}]',
                    )
                else:
                    yield from self._value(type.element, entry, (*path, index), f"{name}[{index}]")


@cache
def _metadata_alone() -> Schema:
    return Schema("v1", (Struct(_ROOT, METADATA), *STRUCTS), names_embedded=False)
