"""PodSchedulingContext: what scheduler and drivers tell each other about the nodes for one pod."""

from __future__ import annotations

from resourceapi.model.meta import METADATA
from resourceapi.schema import STRING, Field, Struct, list_of, ref

PodSchedulingContext = Struct(
    "PodSchedulingContext",
    METADATA,
    Field("spec", ref("PodSchedulingContextSpec"), omitempty=False),
    Field("status", ref("PodSchedulingContextStatus")),
)
PodSchedulingContextSpec = Struct(
    "PodSchedulingContextSpec",
    Field("selectedNode", STRING),
    Field("potentialNodes", list_of(STRING)),
)
PodSchedulingContextStatus = Struct(
    "PodSchedulingContextStatus",
    Field("resourceClaims", list_of(ref("ResourceClaimSchedulingStatus")), list_keys=("name",)),
)
ResourceClaimSchedulingStatus = Struct(
    "ResourceClaimSchedulingStatus",
    Field("name", STRING),
    Field("unsuitableNodes", list_of(STRING)),
)

STRUCTS = (
    PodSchedulingContext,
    PodSchedulingContextSpec,
    PodSchedulingContextStatus,
    ResourceClaimSchedulingStatus,
)
