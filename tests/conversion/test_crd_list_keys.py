"""Keys that CRDs fill in are no values: the rules of the built-in API see the object as it was meant."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from conversion.crd_list_keys import without_empty_list_keys
from resourceapi.kinds import KINDS
from webhook.crds import definitions

DEVICE = {"driver": "gpu.example.com", "pool": "p", "device": "d"}


def claim(*devices: Any) -> dict[str, Any]:
    return {"metadata": {"name": "c"}, "spec": {"devices": {}}, "status": {"devices": list(devices)}}


def test_an_empty_share_is_none() -> None:
    """An empty share is left out; a named one stays, and so does what else is empty."""
    shared = {**DEVICE, "shareID": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"}
    given = claim({**DEVICE, "shareID": "", "conditions": []}, shared)
    before = copy.deepcopy(given)
    assert without_empty_list_keys("ResourceClaim", given) == claim({**DEVICE, "conditions": []}, shared)
    assert given == before


@pytest.mark.parametrize(
    "obj",
    [
        claim(DEVICE),
        {"spec": {}},
        {"status": None},
        {"status": {"devices": None}},
        {"status": {"devices": {}}},
        claim(None, "", 1, []),
        None,
        "",
    ],
)
def test_all_else_stays_the_same_object(obj: Any) -> None:
    """Whatever a stranger sends."""
    assert without_empty_list_keys("ResourceClaim", obj) is obj


@pytest.mark.parametrize("kind", KINDS)
def test_every_optional_key_that_a_schema_fills_in_is_known(kind: str) -> None:
    """Only the share of a device's status is one; keys that the built-in API always has are not taken out."""
    (definition,) = (each for each in definitions() if each["spec"]["names"]["kind"] == kind)
    keys = {
        key
        for version in definition["spec"]["versions"]
        for key in _keys(version["schema"]["openAPIV3Schema"])
    }
    if kind == "ResourceClaim":
        assert keys == {"uid", "type", "driver", "device", "pool", "shareID"}
        empty = {"driver": "", "device": "", "pool": "", "shareID": ""}
        left = without_empty_list_keys(kind, claim(empty))["status"]["devices"]
        assert left == [{"driver": "", "device": "", "pool": ""}]
    else:
        assert keys <= {"type"}


def _keys(schema: Any) -> set[str]:
    found = set(schema.get("x-kubernetes-list-map-keys", ()))
    children = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    for child in children:
        found |= _keys(child)
    return found
