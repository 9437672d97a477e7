"""CC022 and CC026: ResourceSlicePatches that apply to no device, or not to all that they are about; capacities without a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from advice.device_inventory import objects_of, read
from advice.lints.facts import Facts
from advice.lints.patched_devices import PatchedDevices
from advice.lints.table import NULL_CAPACITY, WITHOUT_EFFECT, Warning
from allocator.features import Features
from resourceapi.decoding import DecodingError
from resourceapi.field_errors import Key
from resourceapi.kinds import DEVICE_CLASS, RESOURCE_SLICE_PATCH
from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.phrases import nearest

if TYPE_CHECKING:
    from allocator.patches import PatchFailure
    from resourceapi.objects import Object
    from resourceapi.records.pools import DeviceId

_FILTER = ("spec", "devices", "filter")
_NAMES = (("driver", "has the driver"), ("pool", "is in the pool"), ("device", "has the name"))


def check(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """The warnings about a patch."""
    yield from _capacities(manifest)
    yield from _effect(manifest, facts)


def _capacities(manifest: dict[str, Any]) -> Iterator[Warning]:
    """Capacities that somebody wants to remove, as `null` removes an attribute (KEP-5027 has no such thing)."""
    for name, capacity in mapping(manifest, "spec", "devices", "capacity").items():
        if mapping(capacity).get("value") is not None or not (capacity is None or isinstance(capacity, dict)):
            continue
        message = "without a value the capacity is 0"
        if capacity is None:
            message = "`null` does not remove a capacity: kubectl does not send it, and other clients set the capacity to 0"
        yield Warning(
            NULL_CAPACITY.code,
            ("spec", "devices", "capacity", Key(name)),
            message,
            'a patch cannot remove a capacity: write `value: "0"` to reduce it to 0, or leave it out',
        )


def _effect(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """A patch whose filter fails, or that applies to no device, where all devices are known and patches have an effect."""
    class_name = text(mapping(manifest, *_FILTER), "deviceClassName")
    if not facts.knows_devices or not Features(facts.profile.gates).device_patches:
        return
    if class_name and class_name not in facts.class_selectors and not facts.knows_all(DEVICE_CLASS.name, ""):
        return
    try:
        patch = read(manifest, RESOURCE_SLICE_PATCH, facts.profile.schemas)
    except DecodingError:
        return
    if patch is None:
        return
    if facts.patched_devices is None:
        objects = objects_of([*facts.slices, *facts.patches], facts.class_selectors, facts.profile)
        facts.patched_devices = PatchedDevices(*objects)
    devices = facts.patched_devices
    devices.put(patch)
    failure = devices.failure_of(name_of(patch))
    if failure is not None:
        yield _failing(patch, failure, facts)
    elif not devices.has_effect(name_of(patch)):
        yield _idle(patch, devices.ids())


def _failing(patch: Object, failure: PatchFailure, facts: Facts) -> Warning:
    message = f"the patch {failure}"
    filter = mapping(patch, *_FILTER)
    if failure.device is None:
        meant = nearest(text(filter, "deviceClassName"), facts.class_selectors)
        hint = f"did you mean `{meant}`?" if meant else ""
        return Warning(WITHOUT_EFFECT.code, (*_FILTER, "deviceClassName"), message, hint)
    from advice.lints.expressions import guard, read
    from deviceselectors.environment import Environment

    for index, selector in enumerate(entries(filter, "selectors")):
        expression = read(text(mapping(selector, "cel"), "expression"), Environment("stored"))
        if expression is not None and expression.unguarded:
            first = expression.unguarded[0]
            path = (*_FILTER, "selectors", index, "cel", "expression")
            stretch = (first.position, first.length)
            return Warning(WITHOUT_EFFECT.code, path, message, guard(first), stretch=stretch)
    return Warning(WITHOUT_EFFECT.code, _FILTER, message)


def _idle(patch: Object, devices: list[DeviceId]) -> Warning:
    """That no device satisfies the filter; where no device has one of the names, it is about that name."""
    filter = mapping(patch, *_FILTER)
    before: list[str] = []
    for field, has in _NAMES:
        wanted = text(filter, field)
        if not wanted:
            continue
        left = [device for device in devices if getattr(device, field) == wanted]
        if not left:
            of = f" of this {' and '.join(before)}" if before else ""
            meant = nearest(wanted, sorted({getattr(device, field) for device in devices}))
            message = f'the patch applies to no device: no device{of} {has} "{wanted}"'
            return Warning(
                WITHOUT_EFFECT.code, (*_FILTER, field), message, f"did you mean `{meant}`?" if meant else ""
            )
        devices = left
        before.append(field)
    return Warning(
        WITHOUT_EFFECT.code,
        _FILTER,
        "the patch applies to no device: none satisfies the filter",
        "filters see devices as ResourceSlices describe them, without what other patches change",
    )
