"""Formats in the wording of hand-written validation."""

from __future__ import annotations

from resourceapi import names
from resourceapi.names import HANDWRITTEN, Problem

NOT_NEGATIVE = "must be greater than or equal to 0"
AT_LEAST_ZERO = "must be greater than or equal to zero"


def dns_label(value: str) -> list[Problem]:
    """See :func:`resourceapi.names.short_name`."""
    return names.short_name(value, HANDWRITTEN)


def dns_subdomain(value: str) -> list[Problem]:
    """See :func:`resourceapi.names.long_name`."""
    return names.long_name(value, HANDWRITTEN)


def pool_name(value: str) -> list[Problem]:
    """See :func:`resourceapi.names.resource_pool_name`."""
    return names.resource_pool_name(value, HANDWRITTEN)
