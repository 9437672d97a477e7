"""ResourceClaim, ResourceClaimTemplate, DeviceClass and what they are made of (v1; of v1beta1 see ``versions``)."""

from __future__ import annotations

from resourceapi import limits
from resourceapi.model import formats
from resourceapi.model.meta import METADATA, UID
from resourceapi.objects import EMPTY, Object
from resourceapi.rules import (
    STANDARD,
    Immutable,
    MaxBytes,
    MaxItems,
    MaxLength,
    NotModified,
    OneOfValues,
    Optional,
    Required,
    Subfield,
    Unique,
)
from resourceapi.schema import (
    BOOL,
    INT64,
    QUANTITY,
    RAW,
    STRING,
    TIME,
    Field,
    Struct,
    list_of,
    map_of,
    named,
    ref,
)

FULLY_QUALIFIED_NAME = named("FullyQualifiedName")
CONSUMABLE = ("DRAConsumableCapacity",)
BINDING = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
NODE_OPERATIONS = ("DRAOptionalNodeOperations",)

#: The versions that have the fields of an exact request in the request itself.
FLAT_VERSIONS = ("v1beta1", "v1alpha3")
EXACT_COUNT, ALL = "ExactCount", "All"
AllocationMode = named("DeviceAllocationMode", OneOfValues(EXACT_COUNT, ALL), enum=(ALL, EXACT_COUNT))
TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
FORMER_TAINT_EFFECTS = TAINT_EFFECTS[:2]
NONE_EFFECT_SINCE = 35
TaintEffect = named("DeviceTaintEffect", OneOfValues(*TAINT_EFFECTS), enum=TAINT_EFFECTS)
FormerTaintEffect = named("DeviceTaintEffect", OneOfValues(*FORMER_TAINT_EFFECTS), enum=FORMER_TAINT_EFFECTS)
EQUAL, EXISTS = "Equal", "Exists"
TolerationOperator = named("DeviceTolerationOperator", OneOfValues(EQUAL, EXISTS), enum=(EQUAL, EXISTS))
FROM_CLAIM, FROM_CLASS = "FromClaim", "FromClass"
ConfigSource = named(
    "AllocationConfigSource", OneOfValues(FROM_CLAIM, FROM_CLASS), enum=(FROM_CLAIM, FROM_CLASS)
)
PREPARE, UNPREPARE, ALL_OPERATIONS = "NodePrepareResources", "NodeUnprepareResources", "*"
SkipNodeOperation = named(
    "SkipNodeOperation",
    OneOfValues(PREPARE, UNPREPARE, ALL_OPERATIONS, stage=STANDARD),
    enum=(ALL_OPERATIONS, PREPARE, UNPREPARE),
)

SKIP_NODE_OPERATIONS = Field(
    "skipNodeOperations",
    list_of(SkipNodeOperation),
    Optional(stage=STANDARD),
    Unique(stage=STANDARD),
    gates=NODE_OPERATIONS,
    is_set=True,
    since=37,
)
REQUEST_REFERENCES = Field("requests", list_of(STRING), Optional(), MaxItems(limits.REQUESTS), Unique())
BINDING_CONDITIONS = Field(
    "bindingConditions",
    list_of(STRING),
    Optional(),
    MaxItems(limits.BINDING_CONDITIONS),
    gates=BINDING,
    since=34,
)
BINDING_FAILURE_CONDITIONS = Field(
    "bindingFailureConditions",
    list_of(STRING),
    Optional(),
    MaxItems(limits.BINDING_FAILURE_CONDITIONS),
    gates=BINDING,
    since=34,
)
SHARE_ID = Field("shareID", UID, Optional(), formats.UUID, pointer=True, gates=CONSUMABLE, since=34)
TOLERATIONS = Field(
    "tolerations", list_of(ref("DeviceToleration")), Optional(), gates=("DRADeviceTaints",), since=33
).before(35, gates=())
SELECTORS = Field("selectors", list_of(ref("DeviceSelector")), Optional(), MaxItems(limits.SELECTORS))
DRIVER = Field(
    "driver",
    STRING,
    Required(),
    formats.LONG_NAME_CASELESS,
    MaxLength(limits.DRIVER_NAME_CHARACTERS),
    omitempty=False,
).before(36, rules=(Required(), formats.LONG_NAME_CASELESS))
DEVICE_CONFIGURATION = Field(
    "deviceConfiguration", ref("DeviceConfiguration"), go="DeviceConfiguration", inline=True
)

# what a request and a subrequest have in common; the class name of a subrequest has rules of its own
DEVICE_CLASS_NAME = Field("deviceClassName", STRING, omitempty=False)
REQUEST_DETAILS = (
    SELECTORS,
    Field("allocationMode", AllocationMode, Optional(), default=EXACT_COUNT),
    Field("count", INT64, default=1),
)
ADMIN_ACCESS = Field("adminAccess", BOOL, pointer=True, gates=("DRAAdminAccess",))
REQUEST_EXTRAS = (
    TOLERATIONS,
    Field("capacity", ref("CapacityRequirements"), pointer=True, gates=CONSUMABLE, since=34),
    Field(
        "derivedAttributes",
        list_of(ref("DeviceDerivedAttribute")),
        MaxItems(limits.DERIVED_ATTRIBUTES, stage=STANDARD),
        Optional(stage=STANDARD),
        gates=("DRADerivedAttributes",),
        since=37,
    ),
)
FIRST_AVAILABLE = Field(
    "firstAvailable",
    list_of(ref("DeviceSubRequest")),
    Optional(),
    MaxItems(limits.SUBREQUESTS),
    Unique("name"),
    gates=("DRAPrioritizedList",),
    since=33,
)
SPEC = Field("spec", ref("ResourceClaimSpec"), omitempty=False)

ResourceClaim = Struct(
    "ResourceClaim",
    METADATA,
    Field("spec", ref("ResourceClaimSpec"), Immutable(), omitempty=False),
    Field("status", ref("ResourceClaimStatus")),
)
ResourceClaimTemplate = Struct(
    "ResourceClaimTemplate", METADATA, Field("spec", ref("ResourceClaimTemplateSpec"), omitempty=False)
)
ResourceClaimTemplateSpec = Struct("ResourceClaimTemplateSpec", METADATA, SPEC)
ResourceClaimSpec = Struct("ResourceClaimSpec", Field("devices", ref("DeviceClaim"), omitempty=False))
DeviceClaim = Struct(
    "DeviceClaim",
    Field(
        "requests",
        list_of(ref("DeviceRequest")),
        Optional(),
        MaxItems(limits.REQUESTS),
        Unique("name"),
        omitempty=False,
    ),
    Field("constraints", list_of(ref("DeviceConstraint")), Optional(), MaxItems(limits.CONSTRAINTS)),
    Field("config", list_of(ref("DeviceClaimConfiguration")), Optional(), MaxItems(limits.CONFIGS)),
)
DeviceRequest = Struct(
    "DeviceRequest",
    Field("name", STRING, omitempty=False),
    Field("exactly", ref("ExactDeviceRequest"), Optional(), pointer=True),
    FIRST_AVAILABLE,
)
ExactDeviceRequest = Struct(
    "ExactDeviceRequest", DEVICE_CLASS_NAME, *REQUEST_DETAILS, ADMIN_ACCESS, *REQUEST_EXTRAS
)
DeviceSubRequest = Struct(
    "DeviceSubRequest",
    Field("name", STRING, omitempty=False),
    DEVICE_CLASS_NAME.with_rules(Required(), formats.LONG_NAME),
    *REQUEST_DETAILS,
    *REQUEST_EXTRAS,
)
CapacityRequirements = Struct(
    "CapacityRequirements", Field("requests", map_of(QUANTITY, key="{v}.QualifiedName"))
)
DeviceSelector = Struct("DeviceSelector", Field("cel", ref("CELDeviceSelector"), go="CEL", pointer=True))
CELDeviceSelector = Struct("CELDeviceSelector", Field("expression", STRING, omitempty=False))
DeviceDerivedAttribute = Struct(
    "DeviceDerivedAttribute",
    Field(
        "name",
        FULLY_QUALIFIED_NAME,
        Required(stage=STANDARD),
        formats.FULLY_QUALIFIED_NAME_ALWAYS,
        omitempty=False,
    ),
    Field("expression", STRING, Required(stage=STANDARD), omitempty=False),
)
DeviceConstraint = Struct(
    "DeviceConstraint",
    REQUEST_REFERENCES,
    Field("matchAttribute", FULLY_QUALIFIED_NAME, Optional(), formats.FULLY_QUALIFIED_NAME, pointer=True),
    Field(
        "distinctAttribute",
        FULLY_QUALIFIED_NAME,
        Optional(),
        formats.FULLY_QUALIFIED_NAME,
        pointer=True,
        gates=CONSUMABLE,
        since=34,
    )
    .before(36, rules=())
    .before(35, kept=True),
)
DeviceClaimConfiguration = Struct("DeviceClaimConfiguration", REQUEST_REFERENCES, DEVICE_CONFIGURATION)
DeviceConfiguration = Struct(
    "DeviceConfiguration", Field("opaque", ref("OpaqueDeviceConfiguration"), Optional(), pointer=True)
)
OpaqueDeviceConfiguration = Struct(
    "OpaqueDeviceConfiguration", DRIVER, Field("parameters", RAW, omitempty=False)
)
DeviceToleration = Struct(
    "DeviceToleration",
    Field("key", STRING, Optional(), formats.LABEL_KEY),
    Field("operator", TolerationOperator, Required(), default=EQUAL).before(36, rules=()),
    Field("value", STRING),
    Field("effect", TaintEffect, Optional())
    .before(36, rules=())
    .before(NONE_EFFECT_SINCE, type=FormerTaintEffect),
    Field("tolerationSeconds", INT64, pointer=True),
)

ResourceClaimStatus = Struct(
    "ResourceClaimStatus",
    Field("allocation", ref("AllocationResult"), Optional(), NotModified(), pointer=True),
    Field(
        "reservedFor",
        list_of(ref("ResourceClaimConsumerReference")),
        Optional(),
        MaxItems(limits.RESERVED_FOR),
        Unique("uid"),
        list_keys=("uid",),
    ),
    Field(
        "devices",
        list_of(ref("AllocatedDeviceStatus")),
        Optional(),
        Unique("driver", "device", "pool", "shareID"),
        gates=("DRAResourceClaimDeviceStatus",),
        list_keys=("driver", "device", "pool", "shareID"),
    ).before(34, list_keys=("driver", "device", "pool")),
)
ResourceClaimConsumerReference = Struct(
    "ResourceClaimConsumerReference",
    Field("apiGroup", STRING, go="APIGroup"),
    Field("resource", STRING, omitempty=False),
    Field("name", STRING, omitempty=False),
    Field("uid", UID, go="UID", omitempty=False),
)
AllocationResult = Struct(
    "AllocationResult",
    Field("devices", ref("DeviceAllocationResult")),
    Field("nodeSelector", ref("NodeSelector", package="v1"), pointer=True),
    # since 1.35 kept whatever the gates say
    Field("allocationTimestamp", TIME, pointer=True, since=34).before(35, gates=BINDING),
)
DeviceAllocationResult = Struct(
    "DeviceAllocationResult",
    Field(
        "results",
        list_of(ref("DeviceRequestAllocationResult")),
        Optional(),
        MaxItems(limits.ALLOCATION_RESULTS),
    ),
    Field(
        "config",
        list_of(ref("DeviceAllocationConfiguration")),
        Optional(),
        MaxItems(limits.ALLOCATION_CONFIGS),
    ),
)
DeviceRequestAllocationResult = Struct(
    "DeviceRequestAllocationResult",
    Field("request", STRING, omitempty=False),
    DRIVER,
    Field("pool", STRING, Required(), formats.POOL_NAME, omitempty=False),
    Field("device", STRING, omitempty=False),
    ADMIN_ACCESS.before(34, omitempty=False),
    TOLERATIONS.ungated(),  # in a result they are kept whatever the gate says
    BINDING_CONDITIONS,
    BINDING_FAILURE_CONDITIONS,
    SHARE_ID,
    Field("consumedCapacity", map_of(QUANTITY, key="{v}.QualifiedName"), gates=CONSUMABLE, since=34),
    SKIP_NODE_OPERATIONS,
)
DeviceAllocationConfiguration = Struct(
    "DeviceAllocationConfiguration",
    Field("source", ConfigSource, Required(), omitempty=False),
    REQUEST_REFERENCES,
    DEVICE_CONFIGURATION,
)
AllocatedDeviceStatus = Struct(
    "AllocatedDeviceStatus",
    Field("driver", STRING, omitempty=False),
    Field("pool", STRING, omitempty=False),
    Field("device", STRING, omitempty=False),
    Field("shareID", STRING, Optional(), formats.UUID, pointer=True, gates=CONSUMABLE, since=34),
    Field("conditions", list_of(ref("Condition", package="v1")), omitempty=False, list_keys=("type",)),
    Field("data", RAW, pointer=True).before(33, pointer=False),
    Field("networkData", ref("NetworkDeviceData"), Optional(), pointer=True),
)
NetworkDeviceData = Struct(
    "NetworkDeviceData",
    Field("interfaceName", STRING, Optional(), MaxBytes(limits.NETWORK_INTERFACE_NAME_BYTES)),
    Field("ips", list_of(STRING), Optional(), MaxItems(limits.NETWORK_IPS), Unique(), go="IPs"),
    Field("hardwareAddress", STRING, Optional(), MaxBytes(limits.NETWORK_HARDWARE_ADDRESS_BYTES)),
)

STRUCTS = (
    ResourceClaim, ResourceClaimTemplate, ResourceClaimTemplateSpec, ResourceClaimSpec, DeviceClaim, DeviceRequest,
    ExactDeviceRequest, DeviceSubRequest, CapacityRequirements, DeviceSelector, CELDeviceSelector,
    DeviceDerivedAttribute, DeviceConstraint, DeviceClaimConfiguration, DeviceConfiguration,
    OpaqueDeviceConfiguration, DeviceToleration, ResourceClaimStatus, ResourceClaimConsumerReference,
    AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult, DeviceAllocationConfiguration,
    AllocatedDeviceStatus, NetworkDeviceData,
)  # fmt: skip

_ALLOCATION_MODE = ExactDeviceRequest["allocationMode"]
_COUNT = ExactDeviceRequest["count"]
_OPERATOR = DeviceToleration["operator"]


def default_claim(claim: Object, version: str, now: str) -> None:
    """Fill in the defaults of a claim and of its allocation; see :data:`resourceapi.kind.Default`."""
    _default_requests(claim.get("spec", EMPTY), version)
    results = claim.get("status", EMPTY).get("allocation", EMPTY).get("devices", EMPTY).get("results")
    for result in results or ():
        _default_tolerations(result)


def default_template(template: Object, version: str, now: str) -> None:
    """Fill in the defaults of the claim in a template."""
    _default_requests(template.get("spec", EMPTY).get("spec", EMPTY), version)


def _default_requests(claim_spec: Object, version: str) -> None:
    for request in claim_spec.get("devices", EMPTY).get("requests") or ():
        exactly = request.get("exactly")
        if exactly is not None:
            # in v1beta1 only the class tells that a request is meant to be exact
            if version not in FLAT_VERSIONS or exactly.get("deviceClassName"):
                _default_mode_and_count(exactly)
            _default_tolerations(exactly)
        for sub in request.get("firstAvailable") or ():
            _default_mode_and_count(sub)
            _default_tolerations(sub)


def _default_mode_and_count(request: Object) -> None:
    mode = request.setdefault(_ALLOCATION_MODE.name, _ALLOCATION_MODE.default)
    if mode == EXACT_COUNT:
        request.setdefault(_COUNT.name, _COUNT.default)


def _default_tolerations(owner: Object) -> None:
    for toleration in owner.get("tolerations") or ():
        toleration.setdefault(_OPERATOR.name, _OPERATOR.default)


# DeviceClass.

DeviceClass = Struct(
    "DeviceClass",
    METADATA.with_rules(Subfield("name", Optional(), formats.LONG_NAME)),
    Field("spec", ref("DeviceClassSpec"), omitempty=False),
)
DeviceClassSpec = Struct(
    "DeviceClassSpec",
    SELECTORS,
    Field("config", list_of(ref("DeviceClassConfiguration")), Optional(), MaxItems(limits.CONFIGS)),
    Field(
        "extendedResourceName",
        STRING,
        Optional(),
        formats.EXTENDED_RESOURCE_NAME,
        pointer=True,
        gates=("DRAExtendedResource",),
        since=34,
    ),
)
DeviceClassConfiguration = Struct("DeviceClassConfiguration", DEVICE_CONFIGURATION)

CLASS_STRUCTS = (DeviceClass, DeviceClassSpec, DeviceClassConfiguration)
