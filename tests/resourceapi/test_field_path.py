"""Paths to fields, as the server and as RFC 6901 write them."""

from __future__ import annotations

import pytest

from documents.source import json_pointer
from resourceapi.field_errors import ROOT, Key, Path, render


@pytest.mark.parametrize(
    ("path", "text", "pointer"),
    [
        pytest.param(ROOT, "<nil>", "", id="root"),
        pytest.param(("spec",), "spec", "/spec", id="field"),
        pytest.param(
            ("spec", "devices", 0, "name"), "spec.devices[0].name", "/spec/devices/0/name", id="index"
        ),
        pytest.param(
            ("attributes", Key("a.b/c")), "attributes[a.b/c]", "/attributes/a.b~1c", id="key-with-slash"
        ),
        pytest.param(("labels", Key("a~b/c")), "labels[a~b/c]", "/labels/a~0b~1c", id="key-with-tilde"),
        pytest.param(("labels", Key("")), "labels[]", "/labels/", id="empty-key"),
        pytest.param(("a", Key("0"), "b"), "a[0].b", "/a/0/b", id="key-like-an-index"),
        pytest.param(("a", 0, 1), "a[0][1]", "/a/0/1", id="list-in-list"),
        pytest.param((0, "a"), "[0].a", "/0/a", id="index-first"),
        pytest.param(("",), "", "/", id="empty-field"),
    ],
)
def test_writing(path: Path, text: str, pointer: str) -> None:
    """Fields are joined by dots; indexes and map keys stand in brackets."""
    assert render(path) == text
    assert json_pointer(path) == pointer


def test_keys_are_texts() -> None:
    """A key compares as its text, so that paths with keys can be looked up in objects."""
    assert Key("a") == "a"
    assert {"a": 1}[Key("a")] == 1
