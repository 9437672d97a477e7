"""What must hold for ResourceClaimParameters."""

from __future__ import annotations

from resourceapi.classic_kinds import CLAIM_PARAMETERS
from resourceapi.equality import equal
from resourceapi.field_errors import REQUIRED
from resourceapi.field_path import Path
from resourceapi.objects import Object
from validation.checks import Checks
from validation.classic.driver_names import check_drivers
from validation.classic.kind_rules import ClassicKindRules
from validation.classic.named_resources import check_selector, model_of
from validation.classic.references import check_parameters_reference
from validation.object_meta import check_metadata, check_metadata_update


class ResourceClaimParametersRules(ClassicKindRules):
    """ResourceClaimParameters: all of it may change."""

    __slots__ = ()
    kind = CLAIM_PARAMETERS

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """What is asked of each driver."""
        _check_parameters(obj, checks, stored=False)

    def _check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        check_metadata_update(obj, old, checks)
        check_metadata(obj, checks, namespaced=True)
        stored = equal(obj.get("driverRequests"), old.get("driverRequests"))
        _check_parameters(obj, checks, stored=stored)


def _check_parameters(obj: Object, checks: Checks, *, stored: bool) -> None:
    """:param stored: whether the requests are those that the object has had before."""
    check_parameters_reference(obj.get("generatedFrom"), ("generatedFrom",), checks)
    for entry, path in check_drivers(obj.get("driverRequests"), ("driverRequests",), checks):
        _check_requests(entry.get("requests"), (*path, "requests"), checks, stored=stored)


def _check_requests(requests: list[Object] | None, path: Path, checks: Checks, *, stored: bool) -> None:
    for index, request in enumerate(requests or ()):
        model = model_of(request, (*path, index), checks)
        if model is not None:
            check_selector(model, (*path, index, "namedResources"), checks, stored=stored)
    if not requests:
        checks.report(REQUIRED, path, "", "empty entries with no requests are not allowed")
