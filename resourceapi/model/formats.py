"""The formats of names that fields declare, with the origin under which the server reports them."""

from __future__ import annotations

from resourceapi import names
from resourceapi.rules import STANDARD, Format

SHORT_NAME = Format("k8s-short-name", names.short_name)
LONG_NAME = Format("k8s-long-name", names.long_name)
LONG_NAME_CASELESS = Format("k8s-long-name-caseless", names.long_name_caseless)
LABEL_KEY = Format("k8s-label-key", names.label_key)
UUID = Format("k8s-uuid", names.uuid)
POOL_NAME = Format("k8s-resource-pool-name", names.resource_pool_name)
FULLY_QUALIFIED_NAME = Format("k8s-resource-fully-qualified-name", names.fully_qualified_name)
FULLY_QUALIFIED_NAME_ALWAYS = Format(
    "k8s-resource-fully-qualified-name", names.fully_qualified_name, stage=STANDARD
)
EXTENDED_RESOURCE_NAME = Format("k8s-extended-resource-name", names.extended_resource_name)
GROUP_NAME = Format("k8s-short-name", names.short_name, stage=STANDARD)
