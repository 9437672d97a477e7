"""What must hold for a ResourceClass."""

from __future__ import annotations

from resourceapi.classic_kinds import RESOURCE_CLASS
from resourceapi.objects import Object
from validation.checks import Checks
from validation.classic.kind_rules import ClassicKindRules
from validation.classic.names import check_driver_name
from validation.classic.parameters import check_class_parameters_reference
from validation.node_selectors import check_node_selector


class ResourceClassRules(ClassicKindRules):
    """ResourceClass: all of it may change."""

    __slots__ = ()
    kind = RESOURCE_CLASS
    checked_twice = True

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """A driver, perhaps with parameters and the nodes that it can serve."""
        check_driver_name(obj.get("driverName", ""), ("driverName",), checks)
        check_class_parameters_reference(obj.get("parametersRef"), ("parametersRef",), checks)
        if "suitableNodes" in obj:
            check_node_selector(obj["suitableNodes"], ("suitableNodes",), checks)
