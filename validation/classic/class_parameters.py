"""What must hold for ResourceClassParameters."""

from __future__ import annotations

from resourceapi.classic_kinds import CLASS_PARAMETERS
from resourceapi.objects import Object
from validation.checks import Checks
from validation.classic.driver_names import check_drivers
from validation.classic.kind_rules import ClassicKindRules
from validation.classic.named_resources import check_selector, model_of
from validation.classic.references import check_class_parameters_reference


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
