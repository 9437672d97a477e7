"""Admission by what nodes declare (plugin NodeDeclaredFeatureValidator)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from validation.checks import Object
from validation.requests import Answer

if TYPE_CHECKING:
    from validation.server import Server

FEATURE = "DRANodeAllocatableResources"


def admit_slice(resource_slice: Object, server: Server) -> Answer | None:
    """Refuse devices with node resources where the node does not declare the feature."""
    return None
