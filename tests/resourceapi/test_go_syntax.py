"""Internal objects as servers up to 1.30 print them; what they print of whole requests is in tests/validation/cases."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.go_syntax import go_quantity, go_syntax
from resourceapi.measured import CLASSIC_MINOR
from resourceapi.model import workloads
from resourceapi.model.meta import ObjectMeta
from resourceapi.model.v1alpha2 import V1ALPHA2
from resourceapi.quantity import parse


@pytest.mark.parametrize(
    ("struct", "value", "text"),
    [
        pytest.param(
            "ResourceClassParametersReference",
            {"kind": 'a"b'},
            'resource.ResourceClassParametersReference{APIGroup:"", Kind:"a\\"b", Name:"", Namespace:""}',
            id="empty-texts",
        ),
        pytest.param(
            "AllocationResult",
            {"resourceHandles": [], "availableOnNodes": {}, "shareable": True},
            "resource.AllocationResult{ResourceHandles:[]resource.ResourceHandle{}, "
            "AvailableOnNodes:(*core.NodeSelector)(0xc000000000), Shareable:true}",
            id="empty-list-and-pointer",
        ),
        pytest.param(
            "DriverAllocationResult",
            {},
            "resource.DriverAllocationResult{VendorRequestParameters:runtime.Object(nil), "
            "AllocationResultModel:resource.AllocationResultModel{"
            "NamedResources:(*resource.NamedResourcesAllocationResult)(nil)}}",
            id="struct-within",
        ),
    ],
)
def test_prints_structs(struct: str, value: dict[str, Any], text: str) -> None:
    """All fields with their Go names, pointers as addresses, what is nil with its type."""
    assert go_syntax(V1ALPHA2, struct, value) == text


@pytest.mark.parametrize(
    ("time", "printed"),
    [
        ("2026-02-03T04:05:06.7Z", "2026, time.February, 3, 4, 5, 6, 0, time.Local"),
        ("10000-01-01T13:59:59Z", "10000, time.January, 1, 13, 59, 59, 0, time.Local"),
        ("-0001-12-31T10:00:00Z", "-1, time.December, 31, 10, 0, 0, 0, time.Local"),
    ],
)
def test_prints_times(time: str, printed: str) -> None:
    """Also those in years that Python does not know."""
    assert go_syntax(V1ALPHA2, ObjectMeta["creationTimestamp"].type, time) == f"time.Date({printed})"


def test_prints_maps_sorted() -> None:
    """Keys of maps come in order, as Go prints them."""
    labels = ObjectMeta["labels"].type
    assert go_syntax(V1ALPHA2, labels, {"b": "1", "a": "2"}) == 'map[string]string{"a":"2", "b":"1"}'


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param(
            "1500m", 'value:1500, scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"1500m"'
        ),
        pytest.param("1.50", 'value:150, scale:-2}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:""'),
        pytest.param(
            "0.3Ki", 'value:0, scale:0}, d:resource.infDecAmount{Dec:(*inf.Dec)(0xc000000000)}, s:""'
        ),
    ],
)
def test_prints_quantities(text: str, printed: str) -> None:
    """With the text only if it was read in the form in which it is printed, whether or not it has been printed since."""
    quantity = parse(text)
    assert str(quantity)
    format = "BinarySI" if text.endswith("Ki") else "DecimalSI"
    assert (
        go_quantity(quantity) == f'resource.Quantity{{i:resource.int64Amount{{{printed}, Format:"{format}"}}'
    )


def test_prints_the_types_of_another_group() -> None:
    """Structs of pods are of the package `core`."""
    printed = go_syntax(
        workloads.schema(CLASSIC_MINOR), "ClaimSource", {"resourceClaimName": ""}, package="core"
    )
    assert printed == (
        "core.ClaimSource{ResourceClaimName:(*string)(0xc000000000), ResourceClaimTemplateName:(*string)(nil)}"
    )
