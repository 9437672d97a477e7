"""ResourceClaim and ResourceClaimTemplate; what structured parameters put into an allocation is in ``structured``."""

from __future__ import annotations

from resourceapi.model.claims import ResourceClaimConsumerReference
from resourceapi.model.meta import METADATA
from resourceapi.objects import Object
from resourceapi.schema import BOOL, STRING, Field, Struct, list_of, named, ref

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

STRUCTS = (
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimConsumerReference,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    AllocationResult,
    ResourceHandle,
)

_ALLOCATION_MODE = ResourceClaimSpec["allocationMode"]


def default_claim(claim: Object, version: str, now: str) -> None:
    """Fill in the defaults of a claim; see :data:`resourceapi.kind.Default`."""
    _default_spec(claim)


def default_template(template: Object, version: str, now: str) -> None:
    """Fill in the defaults of a template, which are those of the claims made from it."""
    _default_spec(template.setdefault("spec", {}))


def _default_spec(owner: Object) -> None:
    owner.setdefault("spec", {}).setdefault(_ALLOCATION_MODE.name, _ALLOCATION_MODE.default)
