"""What structured parameters put into the allocation of a claim."""

from __future__ import annotations

from resourceapi.model.classic.named_resources import RESULT_MODEL
from resourceapi.schema import RAW, STRING, Field, Struct, list_of, ref

StructuredResourceHandle = Struct(
    "StructuredResourceHandle",
    Field("vendorClassParameters", RAW),
    Field("vendorClaimParameters", RAW),
    Field("nodeName", STRING),
    Field("results", list_of(ref("DriverAllocationResult")), omitempty=False),
)
DriverAllocationResult = Struct("DriverAllocationResult", Field("vendorRequestParameters", RAW), RESULT_MODEL)

STRUCTS = (StructuredResourceHandle, DriverAllocationResult)
