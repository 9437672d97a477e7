"""The one model of structured parameters: a node has named resources, and CEL selects among their attributes."""

from __future__ import annotations

from resourceapi.schema import BOOL, INT64, QUANTITY, STRING, Field, Struct, list_of, ref


def _model(name: str, struct: str) -> tuple[Field, Struct]:
    """The field that embeds a union of models, and that union; it has one member."""
    union = Struct(name, Field("namedResources", ref(struct), pointer=True))
    return Field(name[:1].lower() + name[1:], ref(name), go=name, inline=True), union


RESOURCE_MODEL, ResourceModel = _model("ResourceModel", "NamedResourcesResources")
REQUEST_MODEL, ResourceRequestModel = _model("ResourceRequestModel", "NamedResourcesRequest")
FILTER_MODEL, ResourceFilterModel = _model("ResourceFilterModel", "NamedResourcesFilter")
RESULT_MODEL, AllocationResultModel = _model("AllocationResultModel", "NamedResourcesAllocationResult")

NamedResourcesResources = Struct(
    "NamedResourcesResources", Field("instances", list_of(ref("NamedResourcesInstance")), omitempty=False)
)
NamedResourcesInstance = Struct(
    "NamedResourcesInstance",
    Field("name", STRING, omitempty=False),
    Field("attributes", list_of(ref("NamedResourcesAttribute"))),
)
NamedResourcesAttribute = Struct(
    "NamedResourcesAttribute",
    Field("name", STRING, omitempty=False),
    Field(
        "namedResourcesAttributeValue",
        ref("NamedResourcesAttributeValue"),
        go="NamedResourcesAttributeValue",
        inline=True,
    ),
)
NamedResourcesAttributeValue = Struct(
    "NamedResourcesAttributeValue",
    Field("quantity", QUANTITY, go="QuantityValue", pointer=True),
    Field("bool", BOOL, go="BoolValue", pointer=True),
    Field("int", INT64, go="IntValue", pointer=True),
    Field("intSlice", ref("NamedResourcesIntSlice"), go="IntSliceValue", pointer=True),
    Field("string", STRING, go="StringValue", pointer=True),
    Field("stringSlice", ref("NamedResourcesStringSlice"), go="StringSliceValue", pointer=True),
    Field("version", STRING, go="VersionValue", pointer=True),
)
NamedResourcesIntSlice = Struct("NamedResourcesIntSlice", Field("ints", list_of(INT64), omitempty=False))
NamedResourcesStringSlice = Struct(
    "NamedResourcesStringSlice", Field("strings", list_of(STRING), omitempty=False)
)
NamedResourcesRequest = Struct("NamedResourcesRequest", Field("selector", STRING, omitempty=False))
NamedResourcesFilter = Struct("NamedResourcesFilter", Field("selector", STRING, omitempty=False))
NamedResourcesAllocationResult = Struct(
    "NamedResourcesAllocationResult", Field("name", STRING, omitempty=False)
)

STRUCTS = (
    ResourceModel,
    ResourceRequestModel,
    ResourceFilterModel,
    AllocationResultModel,
    NamedResourcesResources,
    NamedResourcesInstance,
    NamedResourcesAttribute,
    NamedResourcesAttributeValue,
    NamedResourcesIntSlice,
    NamedResourcesStringSlice,
    NamedResourcesRequest,
    NamedResourcesFilter,
    NamedResourcesAllocationResult,
)
