"""What the scheduler decided about a claim with structured parameters, as kubelet 1.30 passes it on.

The messages of ``resource.k8s.io/v1alpha2`` that kubelet's calls contain. Parameters of vendors are JSON, unread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from classic.kubelet.wire.message import Message, message


@message("k8s.io.apimachinery.pkg.runtime.RawExtension")
@dataclass(frozen=True, slots=True)
class RawExtension(Message):
    """An object of any kind, as JSON."""

    raw: Annotated[bytes, 1] = b""


@message("k8s.io.api.resource.v1alpha2.NamedResourcesAllocationResult")
@dataclass(frozen=True, slots=True)
class NamedResourcesAllocationResult(Message):
    """The instance that a request got."""

    name: Annotated[str, 1] = ""


@message("k8s.io.api.resource.v1alpha2.AllocationResultModel")
@dataclass(frozen=True, slots=True)
class AllocationResultModel(Message):
    """The result in the one model that 1.30 has."""

    named_resources: Annotated[NamedResourcesAllocationResult | None, 1] = None


@message("k8s.io.api.resource.v1alpha2.DriverAllocationResult")
@dataclass(frozen=True, slots=True)
class DriverAllocationResult(Message):
    """What one request got, with its parameters at that time."""

    vendor_request_parameters: Annotated[RawExtension | None, 1] = None
    allocation_result_model: Annotated[AllocationResultModel | None, 2] = None


@message("k8s.io.api.resource.v1alpha2.StructuredResourceHandle")
@dataclass(frozen=True, slots=True)
class StructuredResourceHandle(Message):
    """What the claim got from one driver, with the parameters of class and claim at that time."""

    vendor_class_parameters: Annotated[RawExtension | None, 1] = None
    vendor_claim_parameters: Annotated[RawExtension | None, 2] = None
    node_name: Annotated[str, 4] = ""
    results: Annotated[tuple[DriverAllocationResult, ...], 5] = ()
