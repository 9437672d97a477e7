"""JSON Schemas (2020-12, or the draft that ``$schema`` names) from configuration, made safe to apply to any parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from itertools import islice
from typing import Any

import jsonschema
import re2  # type: ignore[import-untyped, import-not-found, unused-ignore]
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped, unused-ignore]
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from resourceapi.errors import ClaimcheckError
from resourceapi.phrases import nearest

Path = tuple[str | int, ...]

# For all parameters of an object together: less than half a second; 10 KiB of ordinary ones take up to 17,000.
MAX_EFFORT = 50_000


class SchemaError(ClaimcheckError):
    """A schema that cannot be used.

    :ivar path: the place of the error in the schema.
    """

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


class TooComplexError(ClaimcheckError):
    """A check that would take longer than a value is worth."""


class Effort:
    """What checks may still do, in applications of one keyword to one simple value (a few µs each).

    Alternatives of a schema that refers to itself multiply with each level of the value, in any of its keywords.
    """

    def __init__(self, left: int) -> None:
        self.left = left
        self._sizes: dict[int, int] = {}

    def measure(self, value: Any) -> int:
        """The number of values in a value, long text being several; those of its lists and objects are remembered."""
        if isinstance(value, str):
            return 1 + len(value) // 16
        if not isinstance(value, (list, dict)):
            return 1
        members = value.values() if isinstance(value, dict) else value
        size = self._sizes[id(value)] = 1 + len(value) + sum(map(self.measure, members))
        return size

    def spend(self, keyword: str, wanted: Any, instance: Any) -> None:
        """Count the application of a keyword.

        :raises TooComplexError: if no effort is left for it.
        """
        cost = 1
        if isinstance(wanted, (list, dict)):
            cost += len(wanted) // 8
        if isinstance(instance, (list, dict)):
            size = self._sizes.get(id(instance), 1)
            # the library compares each member with all that are evaluated, and messages show the whole value
            cost += len(instance) ** 2 // 256 if keyword.startswith("unevaluated") else len(instance)
            cost += size // 4 if keyword == "uniqueItems" else size // 128
        elif isinstance(instance, str):
            cost += len(instance) // 256
        self.left -= cost
        if self.left < 0:
            raise TooComplexError


_EFFORT: ContextVar[Effort | None] = ContextVar("effort", default=None)


def first_errors(
    validator: Validator, value: Any, most: int, effort: Effort
) -> list[jsonschema.ValidationError]:
    """The first violations of a schema (of :func:`compile_schema`) by a value, which may be 50 or so levels deep.

    :raises TooComplexError: if the check takes more than the effort, from which it is taken.
    :raises RecursionError: if the schema goes too deep for the value.
    """
    effort.measure(value)
    token = _EFFORT.set(effort)
    try:
        return list(islice(validator.iter_errors(value), most))
    finally:
        _EFFORT.reset(token)


def compile_schema(schema: Any) -> Validator:
    """A validator for a schema.

    An unknown keyword or format is an error, since it would check nothing.  References to other documents are not
    followed, ``pattern`` is matched in linear time (RE2), and each keyword counts in :func:`first_errors`, so that no
    parameters can keep the service busy.

    :raises SchemaError: if the schema is not valid, or needs something that is not supported.
    """
    base = _draft_of(schema)
    try:
        base.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise SchemaError(error.message, tuple(error.absolute_path)) from None
    known = frozenset(base.VALIDATORS) | _OTHER_KEYWORDS
    for path, keyword, value in _keywords(schema):
        _refuse_unsafe(path, keyword, value, known)
    rules = {**base.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique_items}
    safe: Any = extend(base, {name: _counted(name, rule) for name, rule in rules.items()})  # type: ignore[no-untyped-call]
    if isinstance(schema, dict):
        # where a reference leads to a schema that names its draft, the library would go on with its own rules
        schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    # without a registry of its own a validator would fetch what a reference names
    validator: Validator = safe(schema, registry=REGISTRY, format_checker=_FORMATS)
    _follow_references(validator, schema)
    return validator


def _draft_of(schema: Any) -> type[Validator]:
    """The validator for the draft that a schema names."""
    if not isinstance(schema, dict) or "$schema" not in schema:
        return jsonschema.Draft202012Validator
    named = schema["$schema"]
    draft = _DRAFTS.get(named.removesuffix("#")) if isinstance(named, str) else None
    if draft is None:
        raise SchemaError(
            f"not a supported draft of JSON Schema; supported are {', '.join(_DRAFTS)}", ("$schema",)
        )
    return draft


def _follow_references(validator: Validator, schema: Any) -> None:
    """Check that all references lead to a schema, and not back to themselves.

    :raises SchemaError: for the first that does not.
    """
    resource = DRAFT202012.create_resource(schema)
    resolver = REGISTRY.resolver_with_root(resource)
    # what is elsewhere, in a default for instance, has not been looked at
    schemas = {id(each) for _, each in _schemas(schema)}
    for path, keyword, value in _keywords(schema):
        if keyword in _REFERENCES:
            try:
                found = resolver.lookup(value).contents
            except (Unresolvable, ValueError, TypeError):  # of steps into lists and numbers
                raise SchemaError(f"{value} does not exist in this schema", path) from None
            if not isinstance(found, bool) and id(found) not in schemas:
                raise SchemaError(f"{value} is not a schema", path)
    for value in ({}, [], "", 0, None):
        try:
            first_errors(validator, value, MAX_EFFORT, Effort(MAX_EFFORT))
        except RecursionError:
            raise SchemaError("refers to itself endlessly") from None
        except TooComplexError:
            raise SchemaError("takes too long to check, even for an empty value") from None


_DRAFTS: dict[str, type[Validator]] = {
    draft.META_SCHEMA["$schema"].removesuffix("#"): draft
    for draft in (
        jsonschema.Draft202012Validator,
        jsonschema.Draft201909Validator,
        jsonschema.Draft7Validator,
        jsonschema.Draft6Validator,
    )
}
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
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
_QUIET = re2.Options()
_QUIET.log_errors = False
_WIDTHS = {"int32": 31, "int64": 63}


def _is_of_width(bits: int) -> Callable[[object], bool]:
    limit = 1 << bits
    return lambda value: type(value) is not int or -limit <= value < limit


for _name, _bits in _WIDTHS.items():
    _FORMATS.checks(_name)(_is_of_width(_bits))


def _keywords(schema: Any) -> Iterator[tuple[Path, str, Any]]:
    """Every keyword of a schema and of those in it, with its path."""
    for path, each in _schemas(schema):
        for keyword, member in each.items():
            yield (*path, keyword), keyword, member


def _schemas(schema: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A schema and those in it, with their paths; those that are just true or false are left out."""
    pending: list[tuple[Path, Any]] = [((), schema)]
    while pending:
        path, value = pending.pop()
        if not isinstance(value, dict):
            continue
        yield path, value
        for keyword, member in value.items():
            at = (*path, keyword)
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
    if keyword == "$id" and len(path) > 1:
        raise SchemaError("only the outermost schema can have an $id; refer to others with #/…", path)
    if keyword == "$schema" and len(path) > 1:
        raise SchemaError("only the outermost schema can name its draft", path)
    if keyword in _REFERENCES and not (isinstance(value, str) and value.startswith("#")):
        raise SchemaError(
            "refers to another document; only references within the schema (#…) are followed", path
        )
    if keyword == "patternProperties":
        raise SchemaError("patternProperties is not supported; use propertyNames with a pattern", path)
    if keyword == "format" and value not in _FORMATS.checkers:
        raise SchemaError(
            f"format {value!r} is not supported; supported are {', '.join(sorted(_FORMATS.checkers))}", path
        )
    if keyword == "pattern":
        try:
            re2.compile(value, _QUIET)
        except re2.error as error:
            reason = error.args[0].decode("utf-8", "replace") if error.args else ""
            raise SchemaError(f"not a regular expression of RE2: {reason}", path) from None


def _counted(keyword: str, rule: Callable[..., Any]) -> Callable[..., Any]:
    # returns what the rule does instead of iterating over it, which would take another level of the stack
    def counted(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        effort = _EFFORT.get()
        if effort is not None:
            effort.spend(keyword, wanted, instance)
        return rule(validator, wanted, instance, schema)

    return counted


def _pattern(
    _validator: Any, pattern: str, instance: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if isinstance(instance, str) and not re2.search(pattern, instance, _QUIET):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _unique_items(
    validator: Any, wanted: bool, instance: Any, _schema: Any
) -> Iterator[jsonschema.ValidationError]:
    """In linear time, unlike the library's own for what cannot be sorted."""
    if wanted and isinstance(instance, list) and len(set(map(_identity, instance))) < len(instance):
        yield jsonschema.ValidationError(f"{instance!r} has non-unique elements")


def _identity(value: Any) -> Any:
    """What is the same for equal values of JSON only: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return dict, frozenset((name, _identity(member)) for name, member in value.items())
    if isinstance(value, list):
        return list, tuple(map(_identity, value))
    return isinstance(value, bool), value
