"""ResourcePoolStatusRequest (KEP-5677): a request to count the devices of pools, and the answer in its status."""

from __future__ import annotations

from resourceapi import limits
from resourceapi.model import formats
from resourceapi.model.meta import METADATA
from resourceapi.objects import Object
from resourceapi.rules import (
    STANDARD,
    ForbiddenWithout,
    Immutable,
    MaxBytes,
    Maximum,
    MaxItems,
    Minimum,
    Optional,
    Required,
    Unique,
)
from resourceapi.schema import INT32, INT64, QUANTITY, STRING, Field, Struct, list_of, ref

PARTITION_TYPES = ("DRAPartitionableDevicesType",)
# All rules are newer than the declarative generation.
_OPTIONAL = Optional(stage=STANDARD)
_REQUIRED = Required(stage=STANDARD)
_NOT_NEGATIVE = Minimum(0)
_DRIVER = formats.always(formats.LONG_NAME_CASELESS)
_POOL_NAME = formats.always(formats.POOL_NAME)


def _count(name: str, least: int = 0) -> Field:
    """A number of devices or slices that may be unknown."""
    return Field(name, INT32, _OPTIONAL, Minimum(least), pointer=True)


def _required_count(name: str) -> Field:
    return Field(name, INT32, _REQUIRED, _NOT_NEGATIVE, pointer=True)


def _amount(name: str) -> Field:
    return Field(name, QUANTITY, _REQUIRED, pointer=True)


_LIMIT = Field(
    "limit", INT32, _REQUIRED, Maximum(limits.POOLS_REPORTED), Minimum(1), pointer=True, default=100
)

ResourcePoolStatusRequest = Struct(
    "ResourcePoolStatusRequest",
    METADATA,
    Field("spec", ref("ResourcePoolStatusRequestSpec"), Immutable(stage=STANDARD), omitempty=False),
    Field("status", ref("ResourcePoolStatusRequestStatus"), _OPTIONAL, pointer=True),
)
ResourcePoolStatusRequestSpec = Struct(
    "ResourcePoolStatusRequestSpec",
    Field("driver", STRING, _REQUIRED, _DRIVER, omitempty=False),
    Field("poolName", STRING, _OPTIONAL, _POOL_NAME, pointer=True),
    _LIMIT,
    Field(
        "defaultPartitionTypeAttribute",
        STRING,
        ForbiddenWithout(*PARTITION_TYPES),
        _OPTIONAL,
        formats.FULLY_QUALIFIED_NAME_ALWAYS,
        pointer=True,
        gates=PARTITION_TYPES,
        since=37,
    ),
)
ResourcePoolStatusRequestStatus = Struct(
    "ResourcePoolStatusRequestStatus",
    _required_count("poolCount"),
    Field("pools", list_of(ref("PoolStatus")), MaxItems(limits.POOLS_REPORTED, stage=STANDARD), _OPTIONAL),
    Field(
        "conditions",
        list_of(ref("Condition", package="v1")),
        MaxItems(limits.POOL_STATUS_REQUEST_CONDITIONS, stage=STANDARD),
        _OPTIONAL,
        list_keys=("type",),
    ).before(
        37,
        rules=(
            MaxItems(limits.POOL_STATUS_REQUEST_CONDITIONS, stage=STANDARD),
            _OPTIONAL,
            Unique("type", stage=STANDARD),
        ),
    ),
)
PoolStatus = Struct(
    "PoolStatus",
    Field("driver", STRING, _REQUIRED, _DRIVER),
    Field("poolName", STRING, _REQUIRED, _POOL_NAME),
    Field("generation", INT64, _REQUIRED, _NOT_NEGATIVE, omitempty=False),
    _count("resourceSliceCount", 1),
    _count("totalDevices"),
    _count("allocatedDevices"),
    _count("availableDevices"),
    _count("unavailableDevices"),
    Field("nodeName", STRING, _OPTIONAL, formats.always(formats.LONG_NAME), pointer=True),
    Field(
        "validationError",
        STRING,
        _OPTIONAL,
        MaxBytes(limits.POOL_VALIDATION_ERROR_BYTES, stage=STANDARD),
        pointer=True,
    ),
    Field(
        "partitionSummary",
        list_of(ref("PartitionTypeStatus")),
        MaxItems(limits.PARTITION_TYPES_REPORTED, stage=STANDARD),
        _OPTIONAL,
        Unique("attribute", "type", stage=STANDARD),
        since=37,
    ),
    Field("shareableSummary", ref("ShareableSummaryStatus"), _OPTIONAL, pointer=True, since=37),
)
PartitionTypeStatus = Struct(
    "PartitionTypeStatus",
    Field("attribute", STRING, _REQUIRED),
    Field("type", STRING, _REQUIRED),
    _required_count("total"),
    _required_count("allocatable"),
)
ShareableSummaryStatus = Struct(
    "ShareableSummaryStatus",
    _required_count("fullyAvailableDevices"),
    _required_count("partiallyAvailableDevices"),
    Field(
        "capacity",
        list_of(ref("ShareableCapacityStatus")),
        MaxItems(limits.SHAREABLE_CAPACITIES_REPORTED, stage=STANDARD),
        _OPTIONAL,
    ),
)
ShareableCapacityStatus = Struct(
    "ShareableCapacityStatus",
    Field("name", STRING, _REQUIRED),
    _amount("total"),
    _amount("consumed"),
    _amount("available"),
)

STRUCTS = (
    ResourcePoolStatusRequest,
    ResourcePoolStatusRequestSpec,
    ResourcePoolStatusRequestStatus,
    PoolStatus,
    PartitionTypeStatus,
    ShareableSummaryStatus,
    ShareableCapacityStatus,
)


def default_request(request: Object, version: str, now: str) -> None:
    """Fill in how many pools are reported at most."""
    request.setdefault("spec", {}).setdefault(_LIMIT.name, _LIMIT.default)
