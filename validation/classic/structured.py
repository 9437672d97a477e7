"""What must hold for the part of an allocation that comes from structured parameters."""

from __future__ import annotations

from resourceapi.field_path import Path
from resourceapi.objects import Object
from validation.checks import Checks
from validation.classic.named_resources import check_result, model_of
from validation.classic.node_lists import check_node_name


def check_structured_handle(handle: Object, path: Path, checks: Checks) -> None:
    """The node that the resources are on, and which they are; there may be none."""
    if handle.get("nodeName"):
        check_node_name(handle["nodeName"], (*path, "nodeName"), checks)
    for index, result in enumerate(handle.get("results") or ()):
        model = model_of(result, (*path, "results", index), checks)
        if model is not None:
            check_result(model, (*path, "results", index, "namedResources"), checks)
