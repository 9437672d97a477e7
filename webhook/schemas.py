"""JSON Schemas (2020-12, or the draft that ``$schema`` names) from configuration, made safe to apply to anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import re2  # type: ignore[import-untyped, import-not-found, unused-ignore]
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped, unused-ignore]


class SchemaError(Exception):
    """What is no usable schema; ``path`` is where in it."""

    def __init__(self, message: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def compile_schema(schema: Any) -> Validator:
    """A validator for a schema.

    References to other documents are not followed, and ``pattern`` is matched in linear time (RE2), so that no
    parameters can keep the service busy.

    :raises SchemaError: if it is none, or needs what RE2 has not.
    """
    base = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        base.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise SchemaError(error.message, tuple(error.absolute_path)) from None
    for path, keyword, value in _keywords(schema):
        _refuse_unsafe(path, keyword, value)
    # without a registry of its own a validator would fetch what a reference names
    safe: Any = extend(base, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    validator: Validator = safe(schema, registry=REGISTRY)
    return validator


def _keywords(schema: Any) -> Iterator[tuple[tuple[str | int, ...], str, Any]]:
    """Every member of every object in a schema, with its path."""
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), schema)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            for name, member in value.items():
                yield (*path, name), name, member
                pending.append(((*path, name), member))
        elif isinstance(value, list):
            pending.extend(((*path, index), member) for index, member in enumerate(value))


def _refuse_unsafe(path: tuple[str | int, ...], keyword: str, value: Any) -> None:
    if keyword in ("$ref", "$dynamicRef") and isinstance(value, str) and not value.startswith("#"):
        raise SchemaError("refers to another document; only references within the schema (#…) work", path)
    if keyword == "patternProperties" and isinstance(value, dict):
        raise SchemaError("patternProperties is not supported; use propertyNames with a pattern", path)
    if keyword == "pattern" and isinstance(value, str):
        try:
            re2.compile(value)
        except re2.error as error:
            raise SchemaError(f"no regular expression of RE2: {error}", path) from None


def _pattern(
    _validator: Any, pattern: str, instance: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if isinstance(instance, str) and not re2.search(pattern, instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")
