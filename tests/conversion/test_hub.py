"""The one way from JSON of any version to an object in the shape of the hub."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conversion.hub import hub_object
from resourceapi.decoding import DecodingError
from resourceapi.model.versions import SCHEMAS

ROOT = Path(__file__).parents[2]
NOW = "2026-01-02T03:04:05Z"
SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1beta1",
    "kind": "ResourceSlice",
    "spec": {"devices": [{"name": "a", "basic": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}]},
}
# The parts of which hub_object is made, and who else needs one of them, for what.
PARTS = ("decode", "to_hub", "apply_defaults")
ALONE = {
    "conversion/hub.py",  # here they are put together
    "conversion/documents.py",  # the document itself is converted, not what it means
    "resourceapi/recognition.py",  # metadata of objects of any kind, as kubectl reads it
    "resourceapi/request_body.py",  # a body says itself what it is, which is checked beside decoding
    "validation/pods.py",  # kinds without a hub
}


def test_defaults_are_filled_in_on_demand() -> None:
    """With a time for defaults there are defaults, without one there are none."""
    (device,) = hub_object(SLICE, SCHEMAS, defaults=NOW)["spec"]["devices"]
    assert device["taints"][0]["timeAdded"] == NOW
    (device,) = hub_object(SLICE, SCHEMAS, defaults=None)["spec"]["devices"]
    assert "timeAdded" not in device["taints"][0]


def test_kind_and_version_may_be_known_otherwise() -> None:
    """Items of a list do not say what they are; what is given counts more than what the object says."""
    item = {"spec": SLICE["spec"]}
    read = hub_object(item, SCHEMAS, kind="ResourceSlice", version="v1beta1", defaults=None)
    assert read == hub_object(SLICE, SCHEMAS, defaults=None)
    read = hub_object(SLICE, SCHEMAS, version="v1", defaults=None)
    assert read["spec"]["devices"] == [{"name": "a"}]


def test_unknown_fields_are_left_out_or_refused() -> None:
    """They are errors only for those who ask for that."""
    value = {**SLICE, "spec": {"driver": "d", "drivers": 1}}
    assert hub_object(value, SCHEMAS, defaults=None)["spec"] == {"driver": "d"}
    with pytest.raises(DecodingError, match=r'unknown field "spec\.drivers"'):
        hub_object(value, SCHEMAS, strict=True, defaults=None)


def test_versions_that_a_kind_does_not_have() -> None:
    """A version of the group is not enough: the kind must have it."""
    with pytest.raises(
        DecodingError, match=r"resource\.k8s\.io/v1alpha3 has no ResourceSlice that can be read"
    ):
        hub_object(SLICE, SCHEMAS, version="v1alpha3", defaults=None)


def test_nothing_of_the_value_is_changed_or_shared() -> None:
    """Whoever has the result may change it."""
    hub = hub_object(SLICE, SCHEMAS, defaults=NOW)
    hub["spec"]["devices"][0]["taints"][0]["key"] = "other"
    hub["spec"]["devices"].clear()
    assert SLICE["spec"]["devices"][0]["basic"]["taints"] == [{"key": "k", "effect": "NoSchedule"}]


def test_objects_are_read_in_one_way() -> None:
    """Nobody decodes, converts and fills in defaults by hand."""
    found = {str(file.relative_to(ROOT)) for file in _modules() if _imports_a_part(file)}
    assert found == ALONE


def _modules() -> Iterator[Path]:
    for package in ROOT.iterdir():
        if (package / "__init__.py").exists() and package.name != "tests":
            yield from package.rglob("*.py")


def _imports_a_part(file: Path) -> bool:
    return any(
        node.module in ("resourceapi.decoding", "conversion.hub", "conversion.hub", "resourceapi")
        and alias.name in (*PARTS, "decoding")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )
