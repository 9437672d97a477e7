"""ResourceSlice: pools, devices, attributes, capacities, counters and taints; DeviceTaintRule, ResourceSlicePatch."""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi import limits
from resourceapi.model import formats
from resourceapi.model.claims import (
    BINDING,
    BINDING_CONDITIONS,
    BINDING_FAILURE_CONDITIONS,
    CONSUMABLE,
    FULLY_QUALIFIED_NAME,
    NONE_EFFECT_SINCE,
    SELECTORS,
    SKIP_NODE_OPERATIONS,
    FormerTaintEffect,
    TaintEffect,
)
from resourceapi.model.meta import METADATA
from resourceapi.objects import EMPTY, Object
from resourceapi.rules import (
    STANDARD,
    EachKey,
    EachValue,
    ForbiddenWithout,
    MaxItems,
    OneOfFields,
    Optional,
    Required,
    Unique,
)
from resourceapi.schema import (
    BOOL,
    INT64,
    QUANTITY,
    STRING,
    TIME,
    Field,
    Struct,
    Type,
    list_of,
    map_of,
    named,
    ref,
)

#: The release (minor number) in which devices and the counters that they consume came to be in slices of their own.
COUNTERS_APART_SINCE = 35
PARTITIONABLE = ("DRAPartitionableDevices",)
LISTS = ("DRAListTypeAttributes",)
QUALIFIED_NAME = "{v}.QualifiedName"
COUNTERS = map_of(ref("Counter"))

NODE_NAME = Field("nodeName", STRING, pointer=True)
NODE_SELECTOR = Field("nodeSelector", ref("NodeSelector", package="v1"), pointer=True)
ALL_NODES = Field("allNodes", BOOL, pointer=True)
SLICE_CONTENTS = (
    Field("devices", list_of(ref("Device")), Optional()).before(35, omitempty=False),
    Field("perDeviceNodeSelection", BOOL, pointer=True, gates=PARTITIONABLE, since=33),
    Field(
        "sharedCounters",
        list_of(ref("CounterSet")),
        Optional(),
        MaxItems(limits.SHARED_COUNTER_SETS),
        Unique("name"),
        gates=PARTITIONABLE,
        since=33,
    ),
    Field(
        "partitionTypeAttribute",
        FULLY_QUALIFIED_NAME,
        ForbiddenWithout("DRAPartitionableDevicesType"),
        Optional(stage=STANDARD),
        formats.FULLY_QUALIFIED_NAME_ALWAYS,
        pointer=True,
        gates=("DRAPartitionableDevicesType",),
        since=37,
    ),
    SKIP_NODE_OPERATIONS,
)
DEVICE_NAME = Field("name", STRING, omitempty=False)
DEVICE_DETAILS = (
    Field("attributes", map_of(ref("DeviceAttribute"), key=QUALIFIED_NAME), Optional()),
    Field("capacity", map_of(ref("DeviceCapacity"), key=QUALIFIED_NAME)),
    Field(
        "consumesCounters",
        list_of(ref("DeviceCounterConsumption")),
        Optional(),
        MaxItems(limits.COUNTER_SETS_PER_DEVICE),
        Unique("counterSet"),
        gates=PARTITIONABLE,
        since=33,
    ),
    Field("nodeName", STRING, pointer=True, gates=PARTITIONABLE, since=33),
    Field("nodeSelector", ref("NodeSelector", package="v1"), pointer=True, gates=PARTITIONABLE, since=33),
    Field("allNodes", BOOL, pointer=True, gates=PARTITIONABLE, since=33),
    Field("taints", list_of(ref("DeviceTaint")), Optional(), gates=("DRADeviceTaints",), since=33),
    Field("bindsToNode", BOOL, pointer=True, gates=BINDING, since=34),
    BINDING_CONDITIONS,
    BINDING_FAILURE_CONDITIONS,
    Field("allowMultipleAllocations", BOOL, pointer=True, gates=CONSUMABLE, since=34),
    Field(
        "nodeAllocatableResourceMappings",
        map_of(ref("NodeAllocatableResourceMapping"), key="v1.ResourceName"),
        gates=("DRANodeAllocatableResources",),
        since=36,
        until=36,
    ),
    Field(
        "nodeAllocatableResources",
        map_of(ref("NodeAllocatableResource"), key="v1.ResourceName"),
        Optional(stage=STANDARD),
        gates=("DRANodeAllocatableResources",),
        since=37,
    ),
)

ResourceSlice = Struct("ResourceSlice", METADATA, Field("spec", ref("ResourceSliceSpec"), omitempty=False))
ResourceSliceSpec = Struct(
    "ResourceSliceSpec",
    Field("driver", STRING, omitempty=False),
    Field("pool", ref("ResourcePool"), omitempty=False),
    NODE_NAME,
    NODE_SELECTOR,
    ALL_NODES,
    *SLICE_CONTENTS,
)
ResourcePool = Struct(
    "ResourcePool",
    Field("name", STRING, omitempty=False),
    Field("generation", INT64, omitempty=False),
    Field("resourceSliceCount", INT64, omitempty=False),
)
CounterSet = Struct(
    "CounterSet",
    Field("name", STRING, Required(), formats.SHORT_NAME, omitempty=False),
    Field("counters", COUNTERS, Required(), EachKey(formats.SHORT_NAME)).before(36, rules=()),
)
Counter = Struct("Counter", Field("value", QUANTITY, omitempty=False))
Device = Struct("Device", DEVICE_NAME, *DEVICE_DETAILS)
DeviceCounterConsumption = Struct(
    "DeviceCounterConsumption",
    Field("counterSet", STRING, Required(), formats.SHORT_NAME, omitempty=False),
    Field("counters", COUNTERS, Required(), EachKey(formats.SHORT_NAME)).before(36, rules=()),
    Field(
        "compatibilityGroups",
        list_of(STRING),
        MaxItems(limits.COMPATIBILITY_GROUPS, stage=STANDARD),
        Optional(stage=STANDARD),
        EachValue(formats.GROUP_NAME),
        Unique(stage=STANDARD),
        gates=("DRADeviceCompatibilityGroups",),
        since=37,
    ),
)
NodeAllocatableResource = Struct(
    "NodeAllocatableResource",
    Field("mapping", ref("NodeAllocatableMapping"), Optional(stage=STANDARD), pointer=True),
    Field("overhead", ref("NodeAllocatableOverhead"), Optional(stage=STANDARD), pointer=True),
)
NodeAllocatableResourceMapping = Struct(
    "NodeAllocatableResourceMapping",
    Field("capacityKey", named("QualifiedName"), pointer=True),
    Field("allocationMultiplier", QUANTITY, pointer=True),
)
NodeAllocatableMapping = Struct(
    "NodeAllocatableMapping",
    Field("capacityKey", named("QualifiedName"), pointer=True),
    Field("capacityMultiplier", QUANTITY, pointer=True),
    Field("deviceMultiplier", QUANTITY, pointer=True),
    rules=(OneOfFields("capacityKey", "deviceMultiplier", stage=STANDARD),),
)
NodeAllocatableOverhead = Struct(
    "NodeAllocatableOverhead",
    Field("perPod", QUANTITY, pointer=True),
    Field("perContainer", QUANTITY, pointer=True),
)
DeviceAttribute = Struct(
    "DeviceAttribute",
    Field("int", INT64, go="IntValue", pointer=True),
    Field("bool", BOOL, go="BoolValue", pointer=True),
    Field("string", STRING, go="StringValue", pointer=True),
    Field("version", STRING, go="VersionValue", pointer=True),
    Field("ints", list_of(INT64), go="IntValues", gates=LISTS, since=36),
    Field("bools", list_of(BOOL), go="BoolValues", gates=LISTS, since=36),
    Field("strings", list_of(STRING), go="StringValues", gates=LISTS, since=36),
    Field("versions", list_of(STRING), go="VersionValues", gates=LISTS, since=36),
    rules=(OneOfFields("int", "bool", "string", "version", "ints", "bools", "strings", "versions"),),
)
DeviceCapacity = Struct(
    "DeviceCapacity",
    Field("value", QUANTITY, omitempty=False),
    Field("requestPolicy", ref("CapacityRequestPolicy"), pointer=True, gates=CONSUMABLE, since=34),
)
CapacityRequestPolicy = Struct(
    "CapacityRequestPolicy",
    Field("default", QUANTITY, pointer=True, omitempty=False),
    Field("validValues", list_of(QUANTITY)),
    Field("validRange", ref("CapacityRequestPolicyRange"), pointer=True),
)
CapacityRequestPolicyRange = Struct(
    "CapacityRequestPolicyRange",
    Field("min", QUANTITY, pointer=True),
    Field("max", QUANTITY, pointer=True),
    Field("step", QUANTITY, pointer=True),
)
DeviceTaint = Struct(
    "DeviceTaint",
    Field("key", STRING, omitempty=False),
    Field("value", STRING),
    Field("effect", TaintEffect, Required(), omitempty=False).before(
        NONE_EFFECT_SINCE, type=FormerTaintEffect
    ),
    Field("timeAdded", TIME, pointer=True),
)

STRUCTS = (
    ResourceSlice, ResourceSliceSpec, ResourcePool, CounterSet, Counter, Device, DeviceCounterConsumption,
    NodeAllocatableResource, NodeAllocatableResourceMapping, NodeAllocatableMapping, NodeAllocatableOverhead,
    DeviceAttribute, DeviceCapacity, CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceTaint,
)  # fmt: skip


def default_slice(resource_slice: Object, version: str, now: str) -> None:
    """Fill in the defaults of a slice: taints have been added now, if it does not say when."""
    for device in resource_slice.get("spec", EMPTY).get("devices") or ():
        default_taints(device.get("taints") or (), now)


def default_taints(taints: Iterable[Object], now: str) -> None:
    """Fill in the defaults of taints."""
    for taint in taints:
        taint.setdefault("timeAdded", now)


# DeviceTaintRule.

DeviceTaintRule = Struct(
    "DeviceTaintRule",
    METADATA,
    Field("spec", ref("DeviceTaintRuleSpec"), omitempty=False),
    Field("status", ref("DeviceTaintRuleStatus"), since=35),
)
DeviceTaintRuleSpec = Struct(
    "DeviceTaintRuleSpec",
    Field("deviceSelector", ref("DeviceTaintSelector"), pointer=True),
    Field("taint", ref("DeviceTaint")),
)
DeviceTaintSelector = Struct(
    "DeviceTaintSelector",
    Field("deviceClassName", STRING, pointer=True, until=34),
    Field("driver", STRING, pointer=True),
    Field("pool", STRING, pointer=True),
    Field("device", STRING, pointer=True),
    SELECTORS.last_in(34),
)
DeviceTaintRuleStatus = Struct(
    "DeviceTaintRuleStatus", Field("conditions", list_of(ref("Condition", package="v1")), list_keys=("type",))
)

TAINT_RULE_STRUCTS = (DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector, DeviceTaintRuleStatus)


def default_taint_rule(rule: Object, version: str, now: str) -> None:
    """Fill in the defaults of a rule: its taint has been added now, if it does not say when."""
    taint = rule.setdefault("spec", {}).setdefault("taint", {})  # no pointers: they are always there
    default_taints((taint,), now)


# ResourceSlicePatch (KEP-5027), which no release has.
# The comments of the proposal mention taints; its types have none, and neither has this.

PATCHED = ("DRAAdminControlledDeviceAttributes",)
_INT = Type("int64", "int")
_FULLY_QUALIFIED = (Optional(stage=STANDARD), EachKey(formats.FULLY_QUALIFIED_NAME_ALWAYS))

ResourceSlicePatch = Struct(
    "ResourceSlicePatch", METADATA, Field("spec", ref("ResourceSlicePatchSpec"), omitempty=False)
)
ResourceSlicePatchSpec = Struct(
    "ResourceSlicePatchSpec", Field("devices", ref("DevicePatch"), omitempty=False)
)
DevicePatch = Struct(
    "DevicePatch",
    Field("filter", ref("DevicePatchFilter"), pointer=True),
    Field("priority", _INT, pointer=True),
    Field(
        "attributes",
        map_of(ref("NullableDeviceAttribute"), key="{v}.FullyQualifiedName"),
        *_FULLY_QUALIFIED,
        gates=PATCHED,
    ),
    Field(
        "capacity",
        map_of(ref("DeviceCapacity"), key="{v}.FullyQualifiedName"),
        *_FULLY_QUALIFIED,
        gates=PATCHED,
    ),
)
DevicePatchFilter = Struct(
    "DevicePatchFilter",
    Field("deviceClassName", STRING, pointer=True),
    Field("driver", STRING, pointer=True),
    Field("pool", STRING, pointer=True),
    Field("device", STRING, pointer=True),
    SELECTORS,
)
NullableDeviceAttribute = Struct(
    "NullableDeviceAttribute",
    *DeviceAttribute.fields,
    Field("null", ref("NullValue"), go="NullValue", pointer=True),
    rules=(OneOfFields(*DeviceAttribute.by_name, "null", stage=STANDARD),),
)
NullValue = Struct("NullValue")

PATCH_STRUCTS = (
    ResourceSlicePatch,
    ResourceSlicePatchSpec,
    DevicePatch,
    DevicePatchFilter,
    NullableDeviceAttribute,
    NullValue,
)
