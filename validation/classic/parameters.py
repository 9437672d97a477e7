"""What must hold for ResourceClaimParameters, for ResourceClassParameters, and for references to parameters."""

from __future__ import annotations

from resourceapi import names
from resourceapi.classic_kinds import CLAIM_PARAMETERS, CLASS_PARAMETERS
from resourceapi.equality import equal
from resourceapi.field_errors import REQUIRED, Path
from resourceapi.objects import Object
from validation.checks import Checks
from validation.classic.kind_rules import ClassicKindRules
from validation.classic.named_resources import check_selector, model_of
from validation.classic.names import check_drivers
from validation.object_meta import check_metadata, check_metadata_update


def check_parameters_reference(reference: Object | None, path: Path, checks: Checks) -> None:
    """A reference to an object in the namespace of the claim: any group, any kind, any name."""
    if reference is None:
        return
    for name in ("kind", "name"):
        if not reference.get(name):
            checks.report(REQUIRED, (*path, name))


def check_class_parameters_reference(reference: Object | None, path: Path, checks: Checks) -> None:
    """A reference from a class, which may name a namespace."""
    check_parameters_reference(reference, path, checks)
    if reference is not None and reference.get("namespace"):
        checks.problems(names.namespace_name(reference["namespace"]), (*path, "namespace"))


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


class ResourceClassParametersRules(ClassicKindRules):
    """ResourceClassParameters: all of it may change, and its filters are always checked as new ones."""

    __slots__ = ()
    kind = CLASS_PARAMETERS

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """One filter and one set of parameters for each driver."""
        check_class_parameters_reference(obj.get("generatedFrom"), ("generatedFrom",), checks)
        for entry, path in check_drivers(obj.get("filters"), ("filters",), checks):
            model = model_of(entry, path, checks)
            if model is not None:
                check_selector(model, (*path, "namedResources"), checks, stored=False)
        for _ in check_drivers(obj.get("vendorParameters"), ("vendorParameters",), checks):
            pass  # parameters can be any JSON
