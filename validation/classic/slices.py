"""What must hold for a ResourceSlice of classic DRA."""

from __future__ import annotations

from resourceapi.classic_kinds import RESOURCE_SLICE
from resourceapi.objects import Object
from validation.checks import Checks
from validation.classic.kind_rules import ClassicKindRules
from validation.classic.named_resources import check_instances, model_of
from validation.classic.names import check_driver_name, check_node_name
from validation.object_meta import check_metadata_update


class ResourceSliceRules(ClassicKindRules):
    """ResourceSlice: its resources may change, its node and its driver may not."""

    __slots__ = ()
    kind = RESOURCE_SLICE

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """The resources of a driver, perhaps on a node."""
        if obj.get("nodeName"):
            check_node_name(obj["nodeName"], ("nodeName",), checks)
        check_driver_name(obj.get("driverName", ""), ("driverName",), checks)
        resources = model_of(obj, (), checks)
        if resources is not None:
            check_instances(resources, ("namedResources",), checks)

    def check_change(self, obj: Object, old: Object, checks: Checks) -> None:
        """Node and driver stay, also where there was none."""
        for name in ("nodeName", "driverName"):
            if obj.get(name, "") != old.get(name, ""):
                checks.invalid((name,), obj.get(name, ""), "field is immutable")

    def _check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        check_metadata_update(obj, old, checks)
        self._check_new(obj, checks)
        self.check_change(obj, old, checks)
