"""What is said of keys and expressions that YAML changes."""

from __future__ import annotations

import pytest

from advice.lints import yaml_texts
from documents import Document, parse
from resourceapi.field_errors import render

CLASS = """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: class}
spec:
  selectors:
  - cel:
      expression: %s
"""
A, B = 'device.driver == "a"', 'device.driver == "b"'


def _warnings(text: str) -> list[list[str]]:
    (document,) = parse(text)
    assert isinstance(document, Document), document
    return [[found.code, render(found.path), found.message] for found in yaml_texts.check(document)]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (f"! {A}", f"YAML takes `!` for a tag: kubectl sends only `{A}`"),
        (f"!has(x) {A}", f"YAML takes `!has(x)` for a tag: kubectl sends only `{A}`"),
        ("!device.driver", "YAML takes `!device.driver` for a tag: kubectl sends nothing"),
        (
            f'! "{B}"'.replace('"b"', "'b'"),
            "YAML takes `!` for a tag: kubectl sends only `device.driver == 'b'`",
        ),
        (
            f">-\n        {A} // one\n        && {B}\n",
            "YAML joins the lines, so that everything after `//` is a comment",
        ),
        (
            f"{A} // one\n        && {B}",
            "YAML joins the lines, so that everything after `//` is a comment",
        ),
        (
            f"'{A} // one\n        && {B}'",
            "YAML joins the lines, so that everything after `//` is a comment",
        ),
    ],
)
def test_changed_expressions(written: str, message: str) -> None:
    """Expressions that are sent with another meaning than they seem to have."""
    assert _warnings(CLASS % written) == [["CC021", "spec.selectors[0].cel.expression", message]]


@pytest.mark.parametrize(
    "written",
    [
        A,
        f"!!str {A}",
        f"'!({A})'",
        f"({A}) && !({B})",
        f"|-\n        {A} // one\n        && {B}",
        f">-\n        {A}\n        && {B} // both",
        f"{A}\n        && {B} // both",
        f"'{A}\n        && {B} // both'",
        ">-\n        device.driver ==\n        'https://example.com'\n        || true",
        '>-\n        device.driver == """//"""\n        || true',
    ],
)
def test_expressions_as_written(written: str) -> None:
    """Expressions that are sent as they are written, or whose lines are joined without harm."""
    assert _warnings(CLASS % written) == []


def test_comma_within_braces() -> None:
    """A comma ends an expression within braces, of which the rest becomes a key."""
    text = f"""apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: template}}
spec: {{spec: {{devices: {{requests: [{{name: a, exactly: {{selectors: [{{cel: {{expression: {A}, b}}}}]}}}}]}}}}}}
"""
    assert _warnings(text) == [
        [
            "CC021",
            "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression",
            f"YAML ends the expression at a comma: kubectl sends only `{A}`",
        ]
    ]


@pytest.mark.parametrize("key", ["y", "Y", "yes", "on", "ON", "n", "No", "off"])
def test_boolean_keys(key: str) -> None:
    """A key that YAML 1.1 takes for a boolean."""
    sent = "true" if key.lower() in ("y", "yes", "on") else "false"
    message = f'YAML takes the key `{key}` for a boolean: kubectl sends "{sent}"'
    text = "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    %s: a\n"
    assert _warnings(text % key) == [["CC020", f"metadata.labels.{sent}", message]]
    assert _warnings(text % f'"{key}"') == []


def test_boolean_keys_that_are_one() -> None:
    """Each is found where it is written, although both are sent as the same key."""
    text = "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    y: a\n    on: b\n"
    [document] = (each for each in parse(text) if isinstance(each, Document))
    found = [warning.place for warning in yaml_texts.check(document)]
    assert [(place.line, place.column) for place in found if place] == [(5, 5), (6, 5)]


def test_other_keys() -> None:
    """Keys that look like what they are sent as, and items of a list, which are told apart."""
    assert (
        _warnings("apiVersion: v1\nkind: Pod\nmetadata: {labels: {true: a, 1: b, nope: c, one: d}}\n") == []
    )
    text = "apiVersion: v1\nkind: List\nitems:\n- {kind: Pod, metadata: {labels: {a: b}}}\n- {kind: Pod, metadata: {labels: {on: b}}}\n"
    first, second = (document for document in parse(text) if isinstance(document, Document))
    assert list(yaml_texts.check(first)) == []
    assert [render(found.path) for found in yaml_texts.check(second)] == ["metadata.labels.true"]
