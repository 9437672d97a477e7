"""DeviceClasses, ResourceSlicePatches and DeviceTaintRules that do not choose the devices that are meant."""

from __future__ import annotations

from collections.abc import Iterator

from allocator.devices import first_of
from allocator.selection import Selectors
from claimcheck.answers.devices.cluster_devices import chooses
from claimcheck.answers.doctor.checks import (
    EMPTY_CLASS,
    FAILING_CLASS,
    HIDDEN_PATCH,
    IDLE_PATCH,
    IDLE_RULE,
    RULE_FOR_ALL,
)
from claimcheck.answers.doctor.examined import Affected, Diagnosis, Examined, command
from resourceapi.kinds import DEVICE_CLASS, DEVICE_TAINT_RULE, RESOURCE_SLICE, RESOURCE_SLICE_PATCH
from resourceapi.phrases import number


def check(examined: Examined) -> Iterator[Diagnosis]:
    """All about what chooses devices."""
    if RESOURCE_SLICE.name in examined.state.unread:
        return
    yield from _classes(examined)
    if examined.state.features.device_patches:
        yield from _patches(examined)
    if examined.state.features.device_taints:
        yield from _rules(examined)


def _classes(examined: Examined) -> Iterator[Diagnosis]:
    selectors = Selectors(examined.state.features.minor)
    kinds = examined.devices.kinds()
    empty = []
    for name, device_class in sorted(examined.state.classes.items()):
        chosen, failed, first, error = 0, 0, None, ""
        for devices in kinds:
            outcome = chooses(device_class, devices[0], selectors, examined.limit)
            if isinstance(outcome, str):
                first, error = first or devices[0], error or outcome
                failed += len(devices)
            elif outcome:
                chosen += len(devices)
        if first is not None:
            cause = f"a selector fails on {first_of(failed, first.id)}: {error}"
            objects = [Affected(DEVICE_CLASS.name, "", name)]
            yield Diagnosis(FAILING_CLASS, cause, objects, command=command("devices", f"--class={name}"))
        elif not chosen:
            empty.append(Affected(DEVICE_CLASS.name, "", name))
    if empty:
        cause = f"chooses none of the {number(sum(map(len, kinds)), 'device')} of the cluster"
        yield Diagnosis(EMPTY_CLASS, cause, empty, command=command("devices", f"--class={empty[0].name}"))


def _patches(examined: Examined) -> Iterator[Diagnosis]:
    inventory = examined.devices.inventory
    names = set(examined.state.of(RESOURCE_SLICE_PATCH.name))
    for name, failure in sorted(inventory.failures.items()):
        yield Diagnosis(IDLE_PATCH, str(failure), [_patch(name)])
    idle = sorted(names - inventory.patches_in_effect - inventory.failures.keys())
    if idle:
        yield Diagnosis(IDLE_PATCH, "applies to no device", [_patch(name) for name in idle])
    hidden = sorted(inventory.patches_in_effect - _effective(examined))
    if hidden:
        yield Diagnosis(
            HIDDEN_PATCH,
            "says nothing that patches with a higher priority do not say as well",
            [_patch(name) for name in hidden],
        )


def _effective(examined: Examined) -> set[str]:
    """The patches that give some device something that no other patch gives it first."""
    found = set()
    for applied in examined.devices.inventory.applied:
        given: set[tuple[str, str]] = set()
        for patch in applied.patches:
            says = {("attribute", name) for name in patch.attributes} | {
                ("capacity", name) for name in patch.capacity
            }
            if not says <= given:
                found.add(patch.name)
            given |= says
    return found


def _patch(name: str) -> Affected:
    return Affected(RESOURCE_SLICE_PATCH.name, "", name)


def _rules(examined: Examined) -> Iterator[Diagnosis]:
    rules = examined.state.taint_rules
    taken = {rule.name for applied in examined.devices.inventory.applied for rule in applied.rules}
    idle = [Affected(DEVICE_TAINT_RULE.name, "", name) for name in sorted(rules.keys() - taken)]
    if idle:
        yield Diagnosis(IDLE_RULE, "taints no device", idle)
    for name in sorted(rules.keys() & taken):
        if not any(rules[name].names or ()):
            cause = "taints all devices of all drivers"
            yield Diagnosis(RULE_FOR_ALL, cause, [Affected(DEVICE_TAINT_RULE.name, "", name)])
