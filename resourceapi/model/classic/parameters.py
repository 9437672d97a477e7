"""ResourceClaimParameters and ResourceClassParameters: parameters in a form that the scheduler can read."""

from __future__ import annotations

from resourceapi.model.classic.named_resources import FILTER_MODEL, REQUEST_MODEL
from resourceapi.model.meta import METADATA
from resourceapi.schema import BOOL, RAW, STRING, Field, Struct, list_of, ref

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

STRUCTS = (
    ResourceClaimParameters,
    DriverRequests,
    ResourceRequest,
    ResourceClassParameters,
    ResourceFilter,
    VendorParameters,
)
