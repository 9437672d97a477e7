"""References to the parameters of a driver."""

from __future__ import annotations

from resourceapi.schema import STRING, Field, Struct

_API_GROUP = Field("apiGroup", STRING, go="APIGroup")
_KIND = Field("kind", STRING, omitempty=False)
_NAME = Field("name", STRING, omitempty=False)

ResourceClassParametersReference = Struct(
    "ResourceClassParametersReference", _API_GROUP, _KIND, _NAME, Field("namespace", STRING)
)
ResourceClaimParametersReference = Struct("ResourceClaimParametersReference", _API_GROUP, _KIND, _NAME)

STRUCTS = (ResourceClassParametersReference, ResourceClaimParametersReference)
