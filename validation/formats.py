"""Formats in the wording of hand-written validation."""

from __future__ import annotations

from resourceapi import names
from resourceapi.names import HANDWRITTEN, FormatError

NOT_NEGATIVE = "must be greater than or equal to 0"
NON_NEGATIVE = "must be non-negative"
NOT_ALLOCATABLE = "must be a node allocatable resource name"
AT_LEAST_ZERO = "must be greater than or equal to zero"


def dns_label(value: str) -> list[FormatError]:
    """See :func:`resourceapi.names.short_name`."""
    return names.short_name(value, HANDWRITTEN)


def dns_subdomain(value: str) -> list[FormatError]:
    """See :func:`resourceapi.names.long_name`."""
    return names.long_name(value, HANDWRITTEN)


def pool_name(value: str) -> list[FormatError]:
    """See :func:`resourceapi.names.resource_pool_name`."""
    return names.resource_pool_name(value, HANDWRITTEN)


def is_node_allocatable(resource: str) -> bool:
    """Whether devices can take a resource of their node (KEP-5517)."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")
