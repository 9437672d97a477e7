"""JSON Schemas for parameters: what is taken for one, and what it checks."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.schemas import SchemaError, compile_schema

REFUSED: dict[str, tuple[Any, tuple[str | int, ...], str]] = {
    "no-schema": ({"type": "thing"}, ("type",), "'thing' is not valid"),
    "misspelt-keyword": (
        {"properties": {"a": {"requried": ["b"]}}},
        ("properties", "a", "requried"),
        "unknown keyword 'requried'; did you mean 'required'?",
    ),
    "unknown-keyword": ({"items": {"nullable": True}}, ("items", "nullable"), "unknown keyword 'nullable'"),
    "in-a-list": ({"anyOf": [{}, {"minimun": 1}]}, ("anyOf", 1, "minimun"), "did you mean 'minimum'?"),
    "format": ({"format": "uri"}, ("format",), "format 'uri' is not checked; date, email, int32, "),
    "other-document": ({"$ref": "https://example.com/s"}, ("$ref",), "refers to another document"),
    "lookahead": ({"not": {"pattern": "(?=a)"}}, ("not", "pattern"), "no regular expression of RE2"),
    "pattern-properties": ({"patternProperties": {"a": {}}}, ("patternProperties",), "use propertyNames"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """What would check nothing, or could take any time, is refused with its place."""
    schema, path, message = REFUSED[name]
    with pytest.raises(SchemaError) as raised:
        compile_schema(schema)
    assert raised.value.path == path
    assert message in raised.value.message


TAKEN: dict[str, Any] = {
    "names-that-are-keywords": {
        "properties": {"pattern": {"type": "string"}, "format": {}, "$ref": {}, "requried": True},
        "required": ["pattern"],
    },
    "annotations": {"title": "t", "description": "d", "x-kubernetes-map-type": "atomic", "$comment": "c"},
    "values-that-look-like-keywords": {
        "const": {"pattern": "(?=a)"},
        "enum": [{"format": "uri"}],
        "default": {"x": 1},
    },
    "conditions": {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": False},
    "another-draft": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"a": {"type": "string"}},
        "dependencies": {"a": ["b"], "c": {"required": ["d"]}},
        "additionalItems": False,
    },
    "booleans": True,
}


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str) -> None:
    """Whatever the draft knows is taken; names of properties and values are no keywords."""
    compile_schema(TAKEN[name])


@pytest.mark.parametrize(
    ("format", "good", "bad"),
    [
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "fd00::1", "fd00::g"),
        ("date", "2026-01-02", "2026-13-02"),
        ("uuid", "705ab4f5-6393-11e8-b7cc-42010a800002", "705ab4f5"),
        ("email", "a@example.com", "a"),
        ("int32", 2**31 - 1, 2**31),
        ("int32", -(2**31), -(2**31) - 1),
        ("int64", 2**63 - 1, 2**63),
    ],
)
def test_formats_are_checked(format: str, good: Any, bad: Any) -> None:
    """A format is no mere annotation."""
    validator = compile_schema({"format": format})
    assert list(validator.iter_errors(good)) == []
    assert len(list(validator.iter_errors(bad))) == 1
