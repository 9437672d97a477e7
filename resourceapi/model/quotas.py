"""ResourceQuota (``core/v1``)."""

from __future__ import annotations

from resourceapi.model import meta
from resourceapi.schema import QUANTITY, STRING, Field, Schema, Struct, list_of, map_of, named, ref

KIND = "ResourceQuota"
SCOPES = list_of(named("v1.ResourceQuotaScope"))
AMOUNTS = map_of(QUANTITY)

SCHEMA = Schema(
    "v1",
    (
        *meta.STRUCTS,
        Struct(
            KIND,
            meta.METADATA,
            Field("spec", ref("ResourceQuotaSpec")),
            Field("status", ref("ResourceQuotaStatus")),
        ),
        Struct(
            "ResourceQuotaSpec",
            Field("hard", AMOUNTS),
            Field("scopes", SCOPES),
            Field("scopeSelector", ref("ScopeSelector"), pointer=True),
        ),
        Struct("ScopeSelector", Field("matchExpressions", list_of(ref("ScopedResourceSelectorRequirement")))),
        Struct(
            "ScopedResourceSelectorRequirement",
            Field("scopeName", SCOPES.element or STRING, omitempty=False),
            Field("operator", named("v1.ScopeSelectorOperator"), omitempty=False),
            Field("values", list_of(STRING)),
        ),
        Struct("ResourceQuotaStatus", Field("hard", AMOUNTS), Field("used", AMOUNTS)),
    ),
)
