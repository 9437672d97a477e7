"""DeviceTaintRules: taints that an administrator puts on devices from outside of their slices (KEP-5055)."""

from __future__ import annotations

from allocator.patches.device_names import DeviceNames
from resourceapi.objects import EMPTY, Object


class TaintRule:
    """A DeviceTaintRule; compared by identity."""

    __slots__ = ("name", "names", "order", "taint")

    def __init__(self, obj: Object, order: int = 0) -> None:
        """`obj`: a DeviceTaintRule of v1 in normal form; `order` sorts rules: so they add their taints."""
        self.order = order
        spec = obj.get("spec") or EMPTY
        selector = spec.get("deviceSelector")
        self.name: str = (obj.get("metadata") or EMPTY).get("name", "")
        #: of the devices that it is about; None if it is about none, as without a selector
        self.names: DeviceNames | None = None
        if selector is not None:
            self.names = DeviceNames(selector.get("driver"), selector.get("pool"), selector.get("device"))
        self.taint: Object = spec.get("taint") or {}
