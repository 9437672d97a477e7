"""JSON Schemas (2020-12, or the draft that ``$schema`` names) from configuration, made safe to apply to anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import re2  # type: ignore[import-untyped, import-not-found, unused-ignore]
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped, unused-ignore]

from validation.hints.nearness import nearest

Path = tuple[str | int, ...]


class SchemaError(Exception):
    """What is no usable schema; ``path`` is where in it."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def compile_schema(schema: Any) -> Validator:
    """A validator for a schema.

    It is strict: a keyword or format that is not known is refused, since it would check nothing.  References to other
    documents are not followed, and ``pattern`` is matched in linear time (RE2), so that no parameters can keep the
    service busy.

    :raises SchemaError: if it is none, or needs what is not there.
    """
    base = validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        base.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise SchemaError(error.message, tuple(error.absolute_path)) from None
    known = frozenset(base.VALIDATORS) | _OTHER_KEYWORDS
    for path, keyword, value in _keywords(schema):
        _refuse_unsafe(path, keyword, value, known)
    # without a registry of its own a validator would fetch what a reference names
    safe: Any = extend(base, {"pattern": _pattern})  # type: ignore[no-untyped-call]
    validator: Validator = safe(schema, registry=REGISTRY, format_checker=_FORMATS)
    return validator


# What validators know without a rule of its own: parts of other keywords, and annotations.
_OTHER_KEYWORDS = frozenset(
    (
        *("$schema", "$id", "$anchor", "$dynamicAnchor", "$comment", "$defs", "definitions", "$vocabulary"),
        *("then", "else", "minContains", "maxContains"),
        *("title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("contentEncoding", "contentMediaType", "contentSchema"),
    )
)
_OF_NAMES = frozenset(("properties", "$defs", "definitions", "dependentSchemas", "dependencies"))
_LISTS = frozenset(("allOf", "anyOf", "oneOf", "prefixItems"))
_SINGLE = frozenset(
    (
        *("items", "additionalItems", "contains", "unevaluatedItems", "contentSchema"),
        *("additionalProperties", "propertyNames", "unevaluatedProperties"),
        *("not", "if", "then", "else"),
    )
)
_FORMATS = jsonschema.FormatChecker(("date", "email", "ipv4", "ipv6", "uuid"))
_WIDTHS = {"int32": 31, "int64": 63}


def _is_of_width(bits: int) -> Callable[[object], bool]:
    limit = 1 << bits
    return lambda value: type(value) is not int or -limit <= value < limit


for _name, _bits in _WIDTHS.items():
    _FORMATS.checks(_name)(_is_of_width(_bits))


def _keywords(schema: Any) -> Iterator[tuple[Path, str, Any]]:
    """Every keyword of a schema and of those in it, with its path."""
    pending: list[tuple[Path, Any]] = [((), schema)]
    while pending:
        path, value = pending.pop()
        if not isinstance(value, dict):
            continue
        for keyword, member in value.items():
            at = (*path, keyword)
            yield at, keyword, member
            if keyword in _OF_NAMES and isinstance(member, dict):
                pending.extend(((*at, name), each) for name, each in member.items())
            elif isinstance(member, list) and (keyword in _LISTS or keyword == "items"):
                pending.extend(((*at, index), each) for index, each in enumerate(member))
            elif keyword in _SINGLE:
                pending.append((at, member))


def _refuse_unsafe(path: Path, keyword: str, value: Any, known: frozenset[str]) -> None:
    if keyword not in known and not keyword.startswith("x-"):
        meant = nearest(keyword, sorted(known))
        raise SchemaError(
            f"unknown keyword {keyword!r}" + (f"; did you mean {meant!r}?" if meant else ""), path
        )
    if keyword in ("$ref", "$dynamicRef") and isinstance(value, str) and not value.startswith("#"):
        raise SchemaError("refers to another document; only references within the schema (#…) work", path)
    if keyword == "patternProperties":
        raise SchemaError("patternProperties is not supported; use propertyNames with a pattern", path)
    if keyword == "format" and value not in _FORMATS.checkers:
        raise SchemaError(
            f"format {value!r} is not checked; {', '.join(sorted(_FORMATS.checkers))} are", path
        )
    if keyword == "pattern":
        try:
            re2.compile(value)
        except re2.error as error:
            raise SchemaError(f"no regular expression of RE2: {error}", path) from None


def _pattern(
    _validator: Any, pattern: str, instance: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if isinstance(instance, str) and not re2.search(pattern, instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")
