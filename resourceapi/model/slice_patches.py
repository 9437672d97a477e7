"""ResourceSlicePatch (KEP-5027), which no release has.

The comments of the proposal mention taints; its types have none, and neither has this.
"""

from __future__ import annotations

from resourceapi.model import formats
from resourceapi.model.claims import SELECTORS
from resourceapi.model.meta import METADATA
from resourceapi.model.slices import DeviceAttribute
from resourceapi.rules import STANDARD, EachKey, OneOfFields, Optional
from resourceapi.schema import STRING, Field, Struct, Type, map_of, ref

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

STRUCTS = (
    ResourceSlicePatch,
    ResourceSlicePatchSpec,
    DevicePatch,
    DevicePatchFilter,
    NullableDeviceAttribute,
    NullValue,
)
