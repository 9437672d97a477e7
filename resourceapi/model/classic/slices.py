"""ResourceSlice: the resources of a driver on one node, for structured parameters."""

from __future__ import annotations

from resourceapi.model.classic.named_resources import RESOURCE_MODEL
from resourceapi.model.meta import METADATA
from resourceapi.schema import STRING, Field, Struct

ResourceSlice = Struct(
    "ResourceSlice",
    METADATA,
    Field("nodeName", STRING),
    Field("driverName", STRING, omitempty=False),
    RESOURCE_MODEL,
)

STRUCTS = (ResourceSlice,)
