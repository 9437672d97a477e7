"""Documents keep their meaning in every version, and what a version cannot hold is named."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversion.documents import ConversionError, convert_document
from resourceapi.kinds import KINDS
from resourceapi.objects import Object
from tests.corpus.cases import valid_object
from tests.corpus.parts import Parts


def claim(*requests: Object, version: str = "v1") -> Object:
    """A claim with these requests."""
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu"},
        "spec": {"devices": {"requests": list(requests)}},
    }


def slice_with(version: str = "v1", **spec: Any) -> Object:
    """A slice with one device, on a node."""
    pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
    base = {"driver": "gpu.example.com", "pool": pool, "nodeName": "node-a", "devices": [{"name": "gpu-0"}]}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": "slice"},
        "spec": {**base, **spec},
    }


ALTERNATIVE = {"name": "small", "deviceClassName": "gpu"}
NESTED = {"name": "main", "exactly": {"deviceClassName": "gpu", "count": 2}}
FLAT = {"name": "main", "deviceClassName": "gpu", "count": 2}


@pytest.mark.parametrize(
    ("document", "version", "expected"),
    [
        pytest.param(
            claim(NESTED), "v1beta1", claim(FLAT, version="v1beta1"), id="exact-request-becomes-flat"
        ),
        pytest.param(claim(FLAT, version="v1beta1"), "v1", claim(NESTED), id="flat-request-becomes-exact"),
        pytest.param(
            claim(NESTED), "v1beta2", claim(NESTED, version="v1beta2"), id="same-shape-changes-the-version"
        ),
        pytest.param(
            claim({"name": "main", "firstAvailable": [ALTERNATIVE]}),
            "v1beta1",
            claim({"name": "main", "firstAvailable": [ALTERNATIVE]}, version="v1beta1"),
            id="alternatives-stay-as-they-are",
        ),
        pytest.param(
            claim({"name": "main", "exactly": {"deviceClassName": "gpu", "selectors": None}}),
            "v1beta1",
            claim({"name": "main", "deviceClassName": "gpu"}, version="v1beta1"),
            id="null-means-absent",
        ),
        pytest.param(
            slice_with(devices=[{"name": "gpu-0", "attributes": {"a": {"int": 1}}}]),
            "v1beta1",
            slice_with("v1beta1", devices=[{"name": "gpu-0", "basic": {"attributes": {"a": {"int": 1}}}}]),
            id="device-becomes-basic",
        ),
        pytest.param(
            slice_with("v1beta1", devices=[{"name": "gpu-0"}]),
            "v1",
            slice_with(devices=[{"name": "gpu-0"}]),
            id="device-without-basic-stays-empty",
        ),
        pytest.param(
            slice_with(devices=[None]),
            "v1beta1",
            slice_with("v1beta1", devices=[{"name": "", "basic": {}}]),
            id="null-in-a-list-is-an-empty-device",
        ),
    ],
)
def test_a_document_is_rewritten_for_the_version(document: Object, version: str, expected: Object) -> None:
    """Nothing is added, and only what the version has otherwise is moved."""
    assert convert_document(document, version) == expected


@pytest.mark.parametrize(
    ("document", "version", "error"),
    [
        pytest.param(
            claim({"name": "main", "exactly": {}}),
            "v1beta1",
            "spec.devices.requests[0].exactly: v1beta1 cannot hold this",
            id="an-empty-exact-request-has-no-flat-form",
        ),
        pytest.param(
            slice_with(nodeName=""),
            "v1beta1",
            "spec.nodeName: v1beta1 cannot hold this",
            id="an-empty-node-name",
        ),
        pytest.param(
            slice_with(allNodes=False),
            "v1beta1",
            "spec.allNodes: v1beta1 cannot hold this",
            id="all-nodes-false",
        ),
        pytest.param(
            claim(FLAT),
            "v1beta1",
            'spec.devices.requests[0].deviceClassName: unknown field "spec.devices.requests[0].deviceClassName"',
            id="a-field-of-another-version",
        ),
        pytest.param(
            claim(NESTED, version="v1alpha3"),
            "v1",
            "apiVersion: ResourceClaim has no version v1alpha3 (it has v1, v1beta2, v1beta1)",
            id="a-version-that-is-gone",
        ),
        pytest.param(
            {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "r"}},
            "v1beta1",
            "apiVersion: DeviceTaintRule has no version v1beta1 (it has v1, v1beta2, v1alpha3)",
            id="a-kind-that-the-version-lacks",
        ),
        pytest.param(
            {"apiVersion": "v1", "kind": "Pod"},
            "v1",
            "no DRA object of a known kind: apiVersion 'v1', kind 'Pod'",
            id="another-group",
        ),
        pytest.param(
            {"apiVersion": "resource.k8s.io/v1", "kind": {"a": "b"}},
            "v1",
            "no DRA object of a known kind: apiVersion 'resource.k8s.io/v1', kind {'a': 'b'}",
            id="a-kind-that-is-no-text",
        ),
        pytest.param(
            claim({"name": 7}),
            "v1beta1",
            "spec.devices.requests[0].name: json: cannot unmarshal number into Go struct field"
            " DeviceRequest.spec.devices.requests.name of type string",
            id="a-value-of-the-wrong-type",
        ),
    ],
)
def test_what_cannot_be_converted_is_named(document: Object, version: str, error: str) -> None:
    """The error says where and why."""
    with pytest.raises(ConversionError) as caught:
        convert_document(document, version)
    assert str(caught.value) == error


@given(seed=st.integers(min_value=0), kind=st.sampled_from(sorted(KINDS)))
def test_conversion_there_and_back_loses_nothing(seed: int, kind: str) -> None:
    """Every version gives back the document that it was made from."""
    newest = next(iter(KINDS[kind].versions))
    document = valid_object(Parts(random.Random(seed)), kind, newest, with_status=True)
    for version in KINDS[kind].versions:
        there = convert_document(document, version)
        assert there["apiVersion"] == f"{KINDS[kind].groups[-1]}/{version}"
        assert convert_document(there, newest) == document


@pytest.mark.parametrize(
    "details",
    [
        {"attributes": {}},
        {"capacity": {}},
        {"attributes": {}, "capacity": {}, "taints": [], "consumesCounters": []},
        {"attributes": None, "allowMultipleAllocations": None},
    ],
    ids=str,
)
def test_empty_parts_of_devices(details: Object) -> None:
    """Servers do not tell them from absent ones."""
    new = slice_with(devices=[{"name": "gpu-0", **details}])
    old = convert_document(new, "v1beta1")
    assert [each["name"] for each in old["spec"]["devices"]] == ["gpu-0"]
    convert_document(slice_with("v1beta1", devices=[{"name": "gpu-0", "basic": details}]), "v1")


def test_nulls_in_parameters_stay() -> None:
    """Parameters of drivers are the drivers' business; nulls elsewhere stay where they stand, or go with their struct."""
    given = claim({"name": "gpu", "deviceClassName": "gpu", "count": None}, version="v1beta1")
    parameters = {"a": None, "b": [None, {"c": None}]}
    given["spec"]["devices"]["config"] = [{"opaque": {"driver": "a.b", "parameters": parameters}}]
    given["metadata"]["labels"] = None
    converted = convert_document(given, "v1")
    assert converted["spec"]["devices"] == {
        "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}],
        "config": [{"opaque": {"driver": "a.b", "parameters": parameters}}],
    }
    assert converted["metadata"]["labels"] is None
