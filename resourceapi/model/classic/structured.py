"""What structured parameters put into the allocation of a claim."""

from __future__ import annotations

from resourceapi.schema import RAW, STRING, Field, Struct, list_of, ref

StructuredResourceHandle = Struct(
    "StructuredResourceHandle",
    Field("vendorClassParameters", RAW),
    Field("vendorClaimParameters", RAW),
    Field("nodeName", STRING),
    Field("results", list_of(ref("DriverAllocationResult")), omitempty=False),
)
DriverAllocationResult = Struct(
    "DriverAllocationResult",
    Field("vendorRequestParameters", RAW),
    Field("allocationResultModel", ref("AllocationResultModel"), inline=True),
)
AllocationResultModel = Struct(
    "AllocationResultModel",
    Field("namedResources", ref("NamedResourcesAllocationResult"), pointer=True),
)
NamedResourcesAllocationResult = Struct(
    "NamedResourcesAllocationResult", Field("name", STRING, omitempty=False)
)

STRUCTS = (
    StructuredResourceHandle,
    DriverAllocationResult,
    AllocationResultModel,
    NamedResourcesAllocationResult,
)
