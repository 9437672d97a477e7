"""JSON Schemas for parameters: what is taken for one, and what it checks."""

from __future__ import annotations

from typing import Any

import jsonschema
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
    "format": (
        {"format": "uri"},
        ("format",),
        "format 'uri' is not supported; supported are date, email, int32, ",
    ),
    "other-document": ({"$ref": "https://example.com/s"}, ("$ref",), "refers to another document"),
    "reference-to-nothing": (
        {"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"b": {}}},
        ("properties", "a", "$ref"),
        "#/$defs/a does not exist",
    ),
    "reference-to-no-anchor": ({"items": {"$ref": "#a"}}, ("items", "$ref"), "#a does not exist"),
    "reference-into-a-list": (
        {"allOf": [{}], "not": {"$ref": "#/allOf/x"}},
        ("not", "$ref"),
        "#/allOf/x does not exist",
    ),
    "reference-into-a-number": (
        {"minLength": 1, "not": {"$ref": "#/minLength/x"}},
        ("not", "$ref"),
        "#/minLength/x does not exist",
    ),
    "reference-to-no-schema": (
        {"required": ["a"], "properties": {"a": {"$ref": "#/required/0"}}},
        ("properties", "a", "$ref"),
        "#/required/0 is not a schema",
    ),
    "reference-around-the-rules": (
        {"default": {"patternProperties": {"(a+)+$": {}}}, "not": {"$ref": "#/default"}},
        ("not", "$ref"),
        "#/default is not a schema",
    ),
    "recursive-reference-elsewhere": (
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "http://example.com/"},
        ("$recursiveRef",),
        "refers to another document",
    ),
    "reference-to-itself": ({"$defs": {"a": {"$ref": "#"}}, "$ref": "#/$defs/a"}, (), "endlessly"),
    "other-base": (
        {"$defs": {"a": {"$id": "http://example.com/a"}}},
        ("$defs", "a", "$id"),
        "refer to others with #/",
    ),
    "unknown-draft": (
        {"$schema": "http://example.com/draft"},
        ("$schema",),
        "not a supported draft of JSON Schema",
    ),
    "draft-within": (
        {"not": {"$schema": "https://json-schema.org/draft/2020-12/schema"}},
        ("not", "$schema"),
        "only the outermost schema can name its draft",
    ),
    "references-that-multiply": (
        {
            "allOf": [{"$ref": "#/$defs/a0"}],
            "$defs": {
                **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(16)},
                "a16": {},
            },
        },
        (),
        "takes too long to check",
    ),
    "draft-of-another-type": ({"$schema": ["x"]}, ("$schema",), "not a supported draft of JSON Schema"),
    "number": (5, (), "5 is not of type"),
    "nothing": (None, (), "None is not of type"),
    "repetitions": ({"pattern": "(a{1000}){1000}"}, ("pattern",), "of RE2: invalid repetition size"),
    "lookahead": ({"not": {"pattern": "(?=a)"}}, ("not", "pattern"), "not a regular expression of RE2"),
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
    "references": {
        "$id": "https://example.com/tree",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#/$defs/leaf"}, "other": {"$ref": "#name"}},
        "$defs": {"leaf": {"type": "string", "$anchor": "name"}},
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


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([1, True, "1", [1], {"a": 1}, None], True),
        ([0, False, "", [], {}], True),
        ([[1], [True]], True),
        ([{"a": [1, {}]}, {"a": [{}, 1]}], True),
        ([1, 1.0], False),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1.0}], False),
        ([[{}], 1, [{}]], False),
        ([None, None], False),
        ("aa", True),
    ],
)
def test_unique_items(items: Any, unique: bool) -> None:
    """Items are equal as values of JSON are; the library says the same."""
    schema = {"uniqueItems": True}
    assert compile_schema(schema).is_valid(items) == unique
    assert jsonschema.Draft202012Validator(schema).is_valid(items) == unique
    assert compile_schema({"uniqueItems": False}).is_valid(items)


def test_many_items_are_no_burden() -> None:
    """Whether tens of thousands of items are unique is told in linear time; item by item it would take an hour."""
    items = [[{"a": number}] for number in range(30_000)]
    validator = compile_schema({"uniqueItems": True})
    assert validator.is_valid(items)
    assert not validator.is_valid([*items, items[0]])
