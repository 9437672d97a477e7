"""Which patches and DeviceTaintRules apply to which devices, and the slices with what they change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from allocator.demand import name_of
from allocator.device_shapes import ShapeRegistry
from allocator.devices import Device, DeviceId, Slice
from allocator.features import Features
from allocator.patches.overrides import NOTHING, Applied, MergedShapes
from allocator.patches.patch import Patch, class_expressions
from allocator.patches.taint_rule import TaintRule
from allocator.selection import CompileError, Selectors
from resourceapi.go_text import quote
from resourceapi.objects import Object


class PatchFailure(NamedTuple):
    """That the filter of a patch fails: on the first device, why there, and on how many; `device` is None if on all devices."""

    device: DeviceId | None
    reason: str
    devices: int


class Merge:
    """Patches, rules and classes as they are now. Filters see devices as their slices have them. Not for several threads."""

    def __init__(self) -> None:
        self.selectors = Selectors()
        self._patches: dict[str, Patch] = {}
        self._rules: dict[str, TaintRule] = {}
        self._classes: dict[str, tuple[str, ...]] = {}
        self._shapes = MergedShapes()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to merge."""
        return not self._patches and not self._rules

    # --- changes

    def put_patch(self, obj: Object) -> None:
        """Add a ResourceSlicePatch in normal form, or replace that of the same name."""
        patch = Patch(obj)
        self._patches[patch.name] = patch

    def remove_patch(self, name: str) -> None:
        """Take out the patch of this name, if there is one."""
        self._patches.pop(name, None)

    def put_rule(self, obj: Object) -> None:
        """Add a DeviceTaintRule of v1 in normal form, or replace that of the same name, whose place in the order it gets."""
        rule = TaintRule(obj)
        self._rules[rule.name] = rule

    def remove_rule(self, name: str) -> None:
        """Take out the rule of this name, if there is one."""
        self._rules.pop(name, None)

    def put_class(self, obj: Object) -> None:
        """Add a DeviceClass of v1 in normal form, or replace that of the same name."""
        self._classes[name_of(obj)] = class_expressions(obj)

    def remove_class(self, name: str) -> None:
        """Take out the class of this name, if there is one."""
        self._classes.pop(name, None)

    # --- questions

    def applied(self, slice: Slice) -> list[Applied]:
        """What applies to each device of a slice, which is as it was published."""
        patches = sorted(self._patches.values(), key=lambda patch: patch.order)
        near = [patch for patch in patches if patch.names.include_pool(slice.pool)]
        rules = [rule for rule in self._rules.values() if rule.names and rule.names.include_pool(slice.pool)]
        if not near and not rules:
            return [NOTHING] * len(slice.devices)
        return [self._applied(device, near, rules) for device in slice.devices]

    def _applied(self, device: Device, patches: Iterable[Patch], rules: Iterable[TaintRule]) -> Applied:
        name = device.id.device
        applying, failed = [], []
        for patch in patches:
            if patch.names.include_device(name):
                outcome = self.outcome(patch, device)
                if outcome is True:
                    applying.append(patch)
                elif isinstance(outcome, str):
                    failed.append(patch)
        taints = [rule for rule in rules if rule.names is not None and rule.names.include_device(name)]
        return Applied(tuple(applying), tuple(taints), tuple(failed))

    def outcome(self, patch: Patch, device: Device) -> bool | str:
        """Whether class and selectors of a patch choose a device, or why they fail; of an unknown class they choose none."""
        expressions = self._expressions(patch)
        if expressions is None:
            return False
        for expression in expressions:
            try:
                outcome = self.selectors.outcome(expression, device)
            except CompileError as error:
                return f"CEL compile error: {error}"
            if outcome is not True:
                return f"CEL runtime error: {outcome}" if isinstance(outcome, str) else outcome
        return True

    def _expressions(self, patch: Patch) -> tuple[str, ...] | None:
        """Those of its class, then its own; None if its class does not exist."""
        if patch.class_name is None:
            return patch.expressions
        of_class = self._classes.get(patch.class_name)
        return None if of_class is None else of_class + patch.expressions

    def merged(self, slice: Slice, applied: Iterable[Applied], shapes: ShapeRegistry) -> Slice:
        """The slice with what applies to its devices; the slice itself if nothing does."""
        merged = [
            self._shapes.of(device.shape, each) for device, each in zip(slice.devices, applied, strict=True)
        ]
        same = all(device.shape is shape for device, shape in zip(slice.devices, merged, strict=True))
        return slice if same else slice.with_shapes(merged, shapes)

    def failures(self, applied: Iterable[tuple[Slice, Iterable[Applied]]]) -> dict[str, PatchFailure]:
        """The patches whose filters fail, by name; of the devices the first in the order of their full names is told."""
        found: dict[str, PatchFailure] = {}
        first: dict[str, tuple[Patch, Device, int]] = {}
        for slice, each in applied:
            for device, what in zip(slice.devices, each, strict=True):
                for patch in what.failed:
                    _, before, count = first.get(patch.name, (patch, device, 0))
                    first[patch.name] = (patch, min(before, device, key=lambda one: one.id), count + 1)
        for name, (patch, device, count) in first.items():
            found[name] = PatchFailure(device.id, str(self.outcome(patch, device)), count)
        for patch in self._patches.values():
            if patch.class_name is not None and patch.class_name not in self._classes:
                reason = f"deviceclass.resource.k8s.io {quote(patch.class_name)} not found"
                found[patch.name] = PatchFailure(None, reason, 0)
        return found


def merged_slices(
    slices: Iterable[Object],
    patches: Iterable[Object],
    rules: Iterable[Object],
    classes: Mapping[str, Object],
    features: Features,
) -> list[Object]:
    """ResourceSlices with what patches and DeviceTaintRules change, as far as their gates are on; others as they are.

    :param classes: by name. All objects are those of v1 (patches: of their only version) in normal form.
    """
    merge = Merge()
    for patch in patches if features.device_patches else ():
        merge.put_patch(patch)
    for rule in rules if features.device_taints else ():
        merge.put_rule(rule)
    if merge.is_empty:
        return list(slices)
    for each in classes.values():
        merge.put_class(each)
    shapes = ShapeRegistry(stable=features.stable)
    return [_merged_object(each, merge, shapes) for each in slices]


def _merged_object(obj: Object, merge: Merge, shapes: ShapeRegistry) -> Object:
    slice = Slice(obj, shapes)
    merged = merge.merged(slice, merge.applied(slice), shapes)
    if merged is slice:
        return obj
    return {**obj, "spec": {**obj["spec"], "devices": merged.as_object()["spec"]["devices"]}}
