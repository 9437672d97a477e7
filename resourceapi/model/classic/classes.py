"""ResourceClass."""

from __future__ import annotations

from resourceapi.model.meta import METADATA
from resourceapi.schema import BOOL, STRING, Field, Struct, ref

ResourceClass = Struct(
    "ResourceClass",
    METADATA,
    Field("driverName", STRING, omitempty=False),
    Field("parametersRef", ref("ResourceClassParametersReference"), pointer=True),
    Field("suitableNodes", ref("NodeSelector", package="v1"), pointer=True),
    Field("structuredParameters", BOOL, pointer=True),
)

STRUCTS = (ResourceClass,)
