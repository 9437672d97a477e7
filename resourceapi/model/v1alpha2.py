"""The structs of classic DRA: ``resource.k8s.io/v1alpha2`` as Kubernetes 1.30 served it.

It is the one version of classic DRA whose answers are known, and no other has its shape: so it is its own hub.
"""

from __future__ import annotations

from resourceapi.model import claims, meta
from resourceapi.model.meta import METADATA
from resourceapi.model.versions import CLASSIC_VERSION
from resourceapi.objects import Object
from resourceapi.schema import BOOL, INT64, QUANTITY, RAW, STRING, Field, Schema, Struct, list_of, named, ref

# References to the parameters of a driver.
_API_GROUP = Field("apiGroup", STRING, go="APIGroup")
_KIND = Field("kind", STRING, omitempty=False)
_NAME = Field("name", STRING, omitempty=False)

ResourceClassParametersReference = Struct(
    "ResourceClassParametersReference", _API_GROUP, _KIND, _NAME, Field("namespace", STRING)
)
ResourceClaimParametersReference = Struct("ResourceClaimParametersReference", _API_GROUP, _KIND, _NAME)


# The one model of structured parameters: a node has named resources, and CEL selects among their attributes.
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

# What structured parameters put into the allocation of a claim.
StructuredResourceHandle = Struct(
    "StructuredResourceHandle",
    Field("vendorClassParameters", RAW),
    Field("vendorClaimParameters", RAW),
    Field("nodeName", STRING),
    Field("results", list_of(ref("DriverAllocationResult")), omitempty=False),
)
DriverAllocationResult = Struct("DriverAllocationResult", Field("vendorRequestParameters", RAW), RESULT_MODEL)

ResourceClass = Struct(
    "ResourceClass",
    METADATA,
    Field("driverName", STRING, omitempty=False),
    Field("parametersRef", ref("ResourceClassParametersReference"), pointer=True),
    Field("suitableNodes", ref("NodeSelector", package="v1"), pointer=True),
    Field("structuredParameters", BOOL, pointer=True),
)

IMMEDIATE, WAIT_FOR_FIRST_CONSUMER = "Immediate", "WaitForFirstConsumer"
ALLOCATION_MODES = (IMMEDIATE, WAIT_FOR_FIRST_CONSUMER)

ResourceClaimSpec = Struct(
    "ResourceClaimSpec",
    Field("resourceClassName", STRING, omitempty=False),
    Field("parametersRef", ref("ResourceClaimParametersReference"), pointer=True),
    Field("allocationMode", named("AllocationMode", enum=ALLOCATION_MODES), default=WAIT_FOR_FIRST_CONSUMER),
)
ResourceClaim = Struct(
    "ResourceClaim",
    METADATA,
    Field("spec", ref("ResourceClaimSpec"), omitempty=False),
    Field("status", ref("ResourceClaimStatus")),
)
ResourceClaimTemplate = Struct(
    "ResourceClaimTemplate", METADATA, Field("spec", ref("ResourceClaimTemplateSpec"), omitempty=False)
)
ResourceClaimTemplateSpec = Struct(
    "ResourceClaimTemplateSpec", METADATA, Field("spec", ref("ResourceClaimSpec"), omitempty=False)
)

ResourceClaimStatus = Struct(
    "ResourceClaimStatus",
    Field("driverName", STRING),
    Field("allocation", ref("AllocationResult"), pointer=True),
    Field("reservedFor", list_of(ref("ResourceClaimConsumerReference")), list_keys=("uid",)),
    Field("deallocationRequested", BOOL),
)
AllocationResult = Struct(
    "AllocationResult",
    Field("resourceHandles", list_of(ref("ResourceHandle"))),
    Field("availableOnNodes", ref("NodeSelector", package="v1"), pointer=True),
    Field("shareable", BOOL),
)
ResourceHandle = Struct(
    "ResourceHandle",
    Field("driverName", STRING),
    Field("data", STRING),
    Field("structuredData", ref("StructuredResourceHandle"), pointer=True),
)

# What scheduler and drivers tell each other about the nodes for one pod.
PodSchedulingContext = Struct(
    "PodSchedulingContext",
    METADATA,
    Field("spec", ref("PodSchedulingContextSpec"), omitempty=False),
    Field("status", ref("PodSchedulingContextStatus")),
)
PodSchedulingContextSpec = Struct(
    "PodSchedulingContextSpec", Field("selectedNode", STRING), Field("potentialNodes", list_of(STRING))
)
PodSchedulingContextStatus = Struct(
    "PodSchedulingContextStatus",
    Field("resourceClaims", list_of(ref("ResourceClaimSchedulingStatus")), list_keys=("name",)),
)
ResourceClaimSchedulingStatus = Struct(
    "ResourceClaimSchedulingStatus", Field("name", STRING), Field("unsuitableNodes", list_of(STRING))
)

# Parameters in a form that the scheduler can read.
_DRIVER_NAME = Field("driverName", STRING)
_VENDOR_PARAMETERS = Field("vendorParameters", RAW)

ResourceClaimParameters = Struct(
    "ResourceClaimParameters",
    METADATA,
    Field("generatedFrom", ref("ResourceClaimParametersReference"), pointer=True),
    Field("shareable", BOOL),
    Field("driverRequests", list_of(ref("DriverRequests"))),
)
DriverRequests = Struct(
    "DriverRequests", _DRIVER_NAME, _VENDOR_PARAMETERS, Field("requests", list_of(ref("ResourceRequest")))
)
ResourceRequest = Struct("ResourceRequest", _VENDOR_PARAMETERS, REQUEST_MODEL)

ResourceClassParameters = Struct(
    "ResourceClassParameters",
    METADATA,
    Field("generatedFrom", ref("ResourceClassParametersReference"), pointer=True),
    Field("vendorParameters", list_of(ref("VendorParameters"))),
    Field("filters", list_of(ref("ResourceFilter"))),
)
ResourceFilter = Struct("ResourceFilter", _DRIVER_NAME, FILTER_MODEL)
VendorParameters = Struct("VendorParameters", _DRIVER_NAME, Field("parameters", RAW))

# The resources of a driver on one node.
ResourceSlice = Struct(
    "ResourceSlice",
    METADATA,
    Field("nodeName", STRING),
    Field("driverName", STRING, omitempty=False),
    RESOURCE_MODEL,
)

V1ALPHA2 = Schema(
    CLASSIC_VERSION,
    (
        *meta.STRUCTS,
        claims.ResourceClaimConsumerReference,
        *(each for each in tuple(globals().values()) if isinstance(each, Struct)),  # those of this file
    ),
    names_embedded=False,
)
SCHEMAS = {CLASSIC_VERSION: V1ALPHA2}

_ALLOCATION_MODE = ResourceClaimSpec["allocationMode"]


def default_claim(claim: Object, version: str, now: str) -> None:
    """Fill in the defaults of a claim; see :data:`resourceapi.kind.Default`."""
    _default_spec(claim)


def default_template(template: Object, version: str, now: str) -> None:
    """Fill in the defaults of a template, which are those of the claims made from it."""
    _default_spec(template.setdefault("spec", {}))


def _default_spec(owner: Object) -> None:
    owner.setdefault("spec", {}).setdefault(_ALLOCATION_MODE.name, _ALLOCATION_MODE.default)
