"""The API versions of ``resource.k8s.io``: v1, and what the older ones have otherwise.

The hub, to which every version is converted and over which hand-written rules are checked, has the shape of v1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from resourceapi.measured import NEWEST
from resourceapi.model import claims, meta, pool_status_requests, slices
from resourceapi.rules import Optional
from resourceapi.schema import QUANTITY, STRING, Field, Schema, Struct, list_of, map_of, ref

GROUP = "resource.k8s.io"
#: The project's own group: of kinds that only proposals put into ``resource.k8s.io``, where the API server has that group.
OWN_GROUP = "claimcheck.example.com"
#: The last version of classic DRA; its structs are in :mod:`resourceapi.model.v1alpha2`.
CLASSIC_VERSION = "v1alpha2"
CLASSIC_API_VERSION = f"{GROUP}/{CLASSIC_VERSION}"
#: Where API servers have the group in that version.
CLASSIC_PATH = f"/apis/{CLASSIC_API_VERSION}"
#: The versions of classic DRA with an API of its own, which `claimcheck migrate` reads.
CLASSIC_VERSIONS = ("v1alpha1", CLASSIC_VERSION)
#: The group that early texts have in place of that of the API.
MISTAKEN_GROUP = "core.k8s.io"
#: Where API servers have the group in v1.
V1_PATH = f"/apis/{GROUP}/v1"

_V1 = Schema(
    "v1",
    (
        *meta.STRUCTS,
        *claims.STRUCTS,
        *claims.CLASS_STRUCTS,
        *slices.STRUCTS,
        *slices.TAINT_RULE_STRUCTS,
        *pool_status_requests.STRUCTS,
        *slices.PATCH_STRUCTS,
    ),
)


def _driver_length_first(struct: Struct) -> Struct:
    """The beta versions check the length of a configuration's driver before its format."""
    required, format_, length = claims.DRIVER.rules
    swapped = claims.DRIVER.with_rules(required, length, format_)
    return Struct(struct.name, *(swapped if field is claims.DRIVER else field for field in struct.fields))


_V1BETA2 = _V1.derive("v1beta2", _driver_length_first(claims.OpaqueDeviceConfiguration))

# v1beta1 has the fields of `exactly` in the request itself, those of a device in `basic`, and plain values where
# later versions tell unset from zero.
_V1BETA1 = _V1BETA2.derive(
    "v1beta1",
    Struct(
        "DeviceRequest",
        claims.DeviceRequest["name"],
        claims.DEVICE_CLASS_NAME,
        *claims.REQUEST_DETAILS,
        claims.ADMIN_ACCESS,
        claims.FIRST_AVAILABLE,
        *claims.REQUEST_EXTRAS,
    ),
    Struct("Device", slices.DEVICE_NAME, Field("basic", ref("BasicDevice"), Optional(), pointer=True)),
    Struct("BasicDevice", *slices.DEVICE_DETAILS),
    Struct(
        "ResourceSliceSpec",
        slices.ResourceSliceSpec["driver"],
        slices.ResourceSliceSpec["pool"],
        slices.NODE_NAME.unpointed(),
        slices.NODE_SELECTOR,
        slices.ALL_NODES.unpointed(),
        *slices.SLICE_CONTENTS,
    ),
)

# Up to 1.33 v1alpha3 had the kinds of v1beta1, with capacities that are quantities; since then it has kinds of its own.
_FLAT_V1ALPHA3 = _V1BETA1.derive(
    "v1alpha3",
    Struct(
        "BasicDevice",
        *(
            Field("capacity", map_of(QUANTITY, key=slices.QUALIFIED_NAME))
            if field.name == "capacity"
            else field
            for field in slices.DEVICE_DETAILS
        ),
    ),
)
_EVERY = {"v1": _V1, "v1beta2": _V1BETA2, "v1beta1": _V1BETA1, "v1alpha3": _V1.derive("v1alpha3")}
LAST_FLAT_V1ALPHA3 = 33

_SNAPSHOT = Field("compatibilityGroups", map_of(list_of(STRING)), gates=("DRADeviceCompatibilityGroups",))


def _with_snapshot(schema: Schema) -> Schema:
    """KEP-5963: an allocation result remembers the groups that the device had for each counter set."""
    result = schema["DeviceRequestAllocationResult"]
    return schema.derive(schema.package, Struct(result.name, *result.fields, _SNAPSHOT))


@cache
def schemas_in(minor: int) -> Mapping[str, Schema]:
    """The schemas by version, that of the hub first, with the fields that release 1.``minor`` has."""
    every = _EVERY | ({"v1alpha3": _FLAT_V1ALPHA3} if minor <= LAST_FLAT_V1ALPHA3 else {})
    return {version: schema.in_release(minor) for version, schema in every.items()}


SCHEMAS = schemas_in(NEWEST)
V1, V1BETA2, V1BETA1 = (SCHEMAS[version] for version in ("v1", "v1beta2", "v1beta1"))
SCHEMAS_WITH_PROPOSALS = {version: _with_snapshot(schema) for version, schema in SCHEMAS.items()}
