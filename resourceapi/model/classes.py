"""DeviceClass."""

from __future__ import annotations

from resourceapi import limits
from resourceapi.model import formats
from resourceapi.model.claims import DEVICE_CONFIGURATION, SELECTORS
from resourceapi.model.meta import METADATA
from resourceapi.rules import MaxItems, Optional, Subfield
from resourceapi.schema import STRING, Field, Struct, list_of, ref

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

STRUCTS = (DeviceClass, DeviceClassSpec, DeviceClassConfiguration)
