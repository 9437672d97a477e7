"""Devices draw from a counter set at the same time only if their compatibility groups go together (KEP-5963)."""

from __future__ import annotations

from allocator.allocated import Common, admits, in_words, joined, listed
from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.rules.counters import MAX_NAMED, devices_of, drawing, draws
from allocator.rules.rule import Cause, Evidence, Objection, Rule
from resourceapi.records.pools import PoolId


def _joins(state: AttemptState, device: Device) -> bool:
    """Whether the device joins those on its counter sets.

    A shared one that is in use has joined, but may declare other groups now than its claims remember, if its slice has
    changed since.
    """
    if not device.consumes or not state.features.partitionable_devices:
        return False
    return state.features.group_snapshots or draws(state, device)


class CompatibilityGroups(Rule):
    """On each of its counter sets, the device has a group in common with all others, or none of them has groups."""

    name = "groups"
    title = "compatibility groups"

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        if not _joins(state, device):
            return True
        pool = device.slice.pool
        ledger = state.ledger(device)
        if not state.features.compatibility_groups:
            return all(entry.counter_set not in ledger.remembered for entry in device.consumes)
        for name, _, groups in device.consumes:
            common = state.groups.get((pool, name)) or ledger.groups.get(name)
            if not admits(common, groups):
                return False
            state.trail.set(state.groups, (pool, name), joined(common, groups))
        return True

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        state, pool = evidence.state, device.slice.pool
        if not _joins(state, device):
            return None
        joining: dict[str, Common] = {}
        for name, _, groups in device.consumes:
            common = joining.get(name) or state.common_groups(pool, name)
            is_on = state.features.compatibility_groups
            if admits(common, groups) if is_on else name not in state.ledger(device).remembered:
                joining[name] = joined(common, groups)
                continue
            claims, gone = drawing(evidence, pool, {name}), _gone(evidence, pool, name)
            claims = (*claims, *(claim for claim in gone if claim not in claims))
            if is_on:
                used = (
                    f"{name} is in use with {in_words(common)}{_whose(gone)}, the device has {listed(groups)}"
                )
                cause = Cause(
                    "does not go with what is in use on its counter set",
                    (("", used),),
                    for_tenants=f"devices with {listed(groups)} on a counter set that is in use with {in_words(common)}",
                )
                return Objection((cause,), claims)
            cause = Cause(
                f"counter set {name} is in use with compatibility groups{_whose(gone)}, but their gate is off",
                for_tenants="devices on a counter set that is in use with groups, but their gate is off",
            )
            return Objection((cause,), claims)
        return None


def _gone(evidence: Evidence, pool: PoolId, counter_set: str) -> dict[str, str]:
    """The claims that remember groups on a counter set of devices that no slice has any more, and those devices."""
    there = {device.id for device in devices_of(evidence, pool)}
    allocated = evidence.state.allocated
    return {
        claim: id.device
        for id in allocated.of_pool(pool)
        if id not in there and any(counter_set in each for each in allocated.groups(id))
        for claim in evidence.holders.get(id, ())
    }


def _whose(gone: dict[str, str]) -> str:
    devices = sorted(set(gone.values()))
    if not devices:
        return ""
    more = f" and {len(devices) - MAX_NAMED} more" if len(devices) > MAX_NAMED else ""
    verb = "is" if len(devices) == 1 else "are"
    return f" ({', '.join(devices[:MAX_NAMED])}{more} {verb} gone from the slices)"
