"""What structured parameters put into the allocation of a claim."""

from __future__ import annotations

from resourceapi.field_errors import REQUIRED
from resourceapi.field_path import Path
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks
from validation.classic.node_lists import check_node_name

NO_MODEL = "exactly one structured model field must be set"


def check_structured_handle(handle: Object, path: Path, checks: Checks) -> None:
    """The node of the devices, unless they are on no certain one, and the devices."""
    if handle.get("nodeName"):
        check_node_name(handle["nodeName"], (*path, "nodeName"), checks)
    checks.each(handle.get("results"), (*path, "results"), _check_result)


def _check_result(result: Object, path: Path, checks: Checks) -> None:
    """One device; the only model is that of named resources."""
    if "namedResources" not in result:
        checks.report(REQUIRED, path, "", NO_MODEL)
        return
    name = result["namedResources"].get("name", "")
    checks.problems(formats.dns_subdomain(name), (*path, "namedResources", "name"))
