"""Which patches and DeviceTaintRules apply to which devices, and the slices with what they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from allocator.device_shapes import ShapeRegistry
from allocator.devices import Device, Slice, first_of
from allocator.features import Features
from allocator.patches.changes import Changes, Matcher
from allocator.patches.criterion import Expressions, is_too_long
from allocator.patches.overrides import Applied, MergedShapes, PlacedRule
from allocator.patches.patch import Patch
from allocator.time_limit import UNLIMITED, TimeLimit
from resourceapi.go_text import quote
from resourceapi.objects import Object
from resourceapi.records.classes import DeviceClass
from resourceapi.records.pools import DeviceId
from resourceapi.records.taints import DeviceNames, DeviceTaintRule


class PatchFailure(NamedTuple):
    """That the filter of a patch fails: on the first device, why there, and on how many; `device` is None if on all devices."""

    device: DeviceId | None
    reason: str
    devices: int

    def __str__(self) -> str:
        """What to say of the patch."""
        if self.device is None:
            return f"applies to no device: {self.reason}"
        return f"does not apply to {first_of(self.devices, self.device)}: {self.reason}"


class Merge:
    """Patches, rules and classes as they are now. Filters see devices as their slices have them. Not for several threads."""

    def __init__(self) -> None:
        self._patches: dict[str, Patch] = {}
        self._rules: dict[str, PlacedRule] = {}
        self._classes: dict[str, tuple[str, ...]] = {}
        self._shapes = MergedShapes()
        self._expressions = Expressions()
        self._orders = count()
        self._changed_patches: set[str] = set()
        self._changed_rules: set[str] = set()
        self._changed_names: set[DeviceNames] = set()
        #: those of before stay until there are new ones, with what they have found out
        self._changes: Changes | None = None
        self._everything: Changes | None = None
        self._has_new_changes = self._has_new_everything = True

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to merge."""
        return not self._patches and not self._rules

    @property
    def has_changes(self) -> bool:
        """Whether something has changed since `done`."""
        return bool(self._changed_patches or self._changed_rules)

    # --- changes

    def put_patch(self, obj: Object) -> None:
        """Add a ResourceSlicePatch in normal form, or replace that of the same name."""
        patch = Patch(obj)
        self._patch_changed(self._patches.get(patch.name), patch)
        self._patches[patch.name] = patch

    def remove_patch(self, name: str) -> None:
        """Take out the patch of this name, if there is one."""
        self._patch_changed(self._patches.pop(name, None))

    def put_rule(self, rule: DeviceTaintRule) -> None:
        """Add a rule, or replace that of the same name, whose place in the order it takes."""
        before = self._rules.get(rule.name)
        placed = PlacedRule(rule, next(self._orders) if before is None else before.order)
        self._rule_changed(before, placed)
        self._rules[rule.name] = placed

    def remove_rule(self, name: str) -> None:
        """Take out the rule of this name, if there is one."""
        self._rule_changed(self._rules.pop(name, None))

    def put_class(self, device_class: DeviceClass) -> None:
        """Add a class, or replace that of the same name."""
        self._class_changed(device_class.name, device_class.expressions)

    def remove_class(self, name: str) -> None:
        """Take out the class of this name, if there is one."""
        self._class_changed(name, None)

    def _class_changed(self, name: str, expressions: tuple[str, ...] | None) -> None:
        if expressions == self._classes.get(name):
            return
        if expressions is None:
            del self._classes[name]
        else:
            self._classes[name] = expressions
        self._patch_changed(*[patch for patch in self._patches.values() if patch.class_name == name])

    def _patch_changed(self, *versions: Patch | None) -> None:
        for patch in versions:
            if patch is not None:
                self._changed_patches.add(patch.name)
                self._changed_names.add(patch.names)
                self._has_new_changes = self._has_new_everything = True

    def _rule_changed(self, *versions: PlacedRule | None) -> None:
        for rule in versions:
            if rule is not None:
                self._changed_rules.add(rule.name)
                self._changed_names.update([rule.names] if rule.names is not None else ())
                self._has_new_changes = self._has_new_everything = True

    # --- questions

    @property
    def everything(self) -> Changes:
        """All that there is, for slices to which nothing has been applied."""
        if self._everything is None or self._has_new_everything:
            matcher = self._matcher(self._patches.values(), self._rules.values())
            self._everything = Changes(matcher, self._patches.keys(), self._rules.keys())
            self._has_new_everything = False
        return self._everything

    @property
    def changes(self) -> Changes:
        """What has changed since `done`."""
        if self._changes is None or self._has_new_changes:
            patches = [self._patches[each] for each in self._changed_patches if each in self._patches]
            rules = [self._rules[each] for each in self._changed_rules if each in self._rules]
            matcher = self._matcher(patches, rules)
            self._changes = Changes(matcher, self._changed_patches, self._changed_rules)
            self._has_new_changes = False
            if len(patches) == len(self._patches) and len(rules) == len(self._rules):
                self._everything = self._changes
                self._has_new_everything = False
        return self._changes

    def take_names(self) -> set[DeviceNames]:
        """Those of the devices that changes since the last call are about, or have been."""
        found, self._changed_names = self._changed_names, set()
        return found

    def compile(self, time_limit: TimeLimit) -> None:
        """Compile the expressions of what has changed.

        :raises allocator.time_limit.OutOfTime: if the time is over before that; the next call goes on.
        """
        for name in self._changed_patches:
            patch = self._patches.get(name)
            texts = (patch and self._texts(patch)) or ()
            for text in () if is_too_long(texts) else texts:
                if self._expressions.compile(text):
                    time_limit.check()

    def done(self) -> None:
        """All changes have been made to all slices that they are about."""
        self._changed_patches, self._changed_rules = set(), set()
        self._changes = None
        if self.is_empty:
            self._everything = None
        self._expressions.keep(text for patch in self._patches.values() for text in self._texts(patch) or ())

    def _matcher(self, patches: Iterable[Patch], rules: Iterable[PlacedRule]) -> Matcher:
        known = ((patch, self._texts(patch)) for patch in patches)
        return Matcher(
            [(patch, texts) for patch, texts in known if texts is not None], rules, self._expressions
        )

    def _texts(self, patch: Patch) -> tuple[str, ...] | None:
        """The expressions of its class, then its own; None if its class does not exist."""
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

    def failures(self, applied: Iterable[tuple[Slice, Sequence[Applied]]]) -> dict[str, PatchFailure]:
        """The patches whose filters fail, by name; of the devices the first in the order of their full names is told.

        :param applied: slices as they were published, with what applies to their devices.
        """
        first: dict[Applied, Device] = {}
        counts: Counter[Applied] = Counter()
        for slice, of_devices in applied:
            for device, each in zip(slice.devices, of_devices, strict=True):
                if each.failed:
                    counts[each] += 1
                    before = first.setdefault(each, device)
                    if before is not device and _full_name(device) < _full_name(before):
                        first[each] = device
        devices: dict[str, tuple[Device, str]] = {}
        of_patch: Counter[str] = Counter()
        for each, number in counts.items():
            for patch, reason in each.failed:
                known = devices.get(patch.name)
                if known is None or _full_name(first[each]) < _full_name(known[0]):
                    devices[patch.name] = first[each], reason
                of_patch[patch.name] += number
        found = {
            name: PatchFailure(device.id, reason, of_patch[name])
            for name, (device, reason) in devices.items()
            if name in self._patches
        }
        return found | self._unknown_classes()

    def _unknown_classes(self) -> dict[str, PatchFailure]:
        return {
            patch.name: PatchFailure(
                None, f"deviceclass.resource.k8s.io {quote(patch.class_name)} not found", 0
            )
            for patch in self._patches.values()
            if patch.class_name is not None and patch.class_name not in self._classes
        }


def _full_name(device: Device) -> tuple[DeviceId, str]:
    return device.id, device.slice.name


def merged_slices(
    slices: Iterable[Object],
    patches: Iterable[Object],
    rules: Iterable[DeviceTaintRule],
    classes: Mapping[str, DeviceClass],
    features: Features,
) -> list[Object]:
    """ResourceSlices with what patches and DeviceTaintRules change, as far as their gates are on; others as they are.

    :param classes: by name. Slices are those of v1, patches of their only version, in normal form.
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
    shapes = ShapeRegistry(features.reading)
    return [_merged_object(each, merge, shapes) for each in slices]


def _merged_object(obj: Object, merge: Merge, shapes: ShapeRegistry) -> Object:
    slice = Slice(obj, shapes)
    applied = merge.everything.applied(slice, None, UNLIMITED)
    merged = slice if applied is None else merge.merged(slice, applied, shapes)
    if merged is slice:
        return obj
    return {**obj, "spec": {**obj["spec"], "devices": merged.as_object()["spec"]["devices"]}}
