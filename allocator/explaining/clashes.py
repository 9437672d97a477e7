"""Why a node does not serve all requests although each of them finds enough devices by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from allocator.allocated import listed
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.explaining.changes import parts, with_details
from allocator.explaining.snapshot import CAPACITY, COUNTERS, GROUPS
from allocator.explaining.steps import NodeView
from allocator.explaining.trials import Trials, Undecided, Variation
from resourceapi.phrases import number
from resourceapi.records.pools import PoolId

DEVICES = "devices"
#: Counter sets and lists of groups that are named.
MAX_NAMED = 3


class Clash(NamedTuple):
    """What keeps requests from being served together on a node.

    :param kind: GROUPS, COUNTERS or CAPACITY if it would fit without these, DEVICES if there are too few different devices.
    :param for_tenants: the text for those who may not read ResourceSlices, if there is one.
    """

    node: str
    kind: str
    text: str
    for_tenants: str = ""


def clash(
    trials: Trials, view: NodeView, node: str, left: Mapping[Alternative, Sequence[Device]]
) -> Clash | None:
    """Find out what is in the way on a node; None if nothing by itself is.

    :param left: the devices that each request or alternative could take if it were alone.
    """
    if text := _too_few(view, left):
        return Clash(node, DEVICES, text)
    try:
        if _fits_without(trials, node, GROUPS):
            texts = (f"compatibility groups: {_groups(left, sets)}" for sets in (True, False))
            return Clash(node, GROUPS, *texts)
        if _fits_without(trials, node, COUNTERS):
            return Clash(node, COUNTERS, f"shared counters: {_counters(view, left)}")
        if _fits_without(trials, node, CAPACITY):
            return Clash(node, CAPACITY, f"capacity: {_capacity(view, left)}")
    except Undecided:
        return None
    return None


def _fits_without(trials: Trials, node: str, what: str) -> bool:
    claims = trials.claims
    if what == CAPACITY:
        for part in parts(claims):
            claims = with_details(claims, part, capacity=None)
    return trials.surely_fits_on(node, Variation(claims, without=what))


def _too_few(view: NodeView, left: Mapping[Alternative, Sequence[Device]]) -> str:
    """Whether even the smallest alternatives need more devices than there are for all requests together."""
    needed: dict[object, int] = {}
    for alternative in left:
        if alternative.admin_access or any(map(view.attempt.is_shared, left[alternative])):
            return ""
        count = len(left[alternative]) if alternative.takes_all else alternative.count
        request = alternative.claim, alternative.main
        needed[request] = min(needed.get(request, count), count)
    different = {device.id for devices in left.values() for device in devices}
    total = sum(needed.values())
    if total <= len(different):
        return ""
    return f"together they need {number(total, 'device')}, and {len(different):,} {'is' if len(different) == 1 else 'are'} left for all of them"


def _groups(left: Mapping[Alternative, Sequence[Device]], sets: bool) -> str:
    """Which groups the devices of each request are in, on the counter sets that they draw from.

    :param sets: whether these are named.
    """
    texts = []
    for alternative, devices in left.items():
        by_groups: dict[str, dict[str, None]] = {}
        for entry in (entry for device in devices for entry in device.consumes):
            by_groups.setdefault(listed(entry.groups), {})[entry.counter_set] = None
        some = "; ".join(
            f"{groups} on {_some(list(on))}" if sets else groups
            for groups, on in list(by_groups.items())[:MAX_NAMED]
        )
        texts.append(f"request {alternative.name} finds devices with {some or 'no groups'}")
    return ", ".join(texts)


def _counters(view: NodeView, left: Mapping[Alternative, Sequence[Device]]) -> str:
    """What is left of the counters that the devices draw from."""
    sets: dict[tuple[PoolId, str], Device] = {}
    for devices in left.values():
        for device in devices:
            for entry in device.consumes:
                sets.setdefault((device.slice.pool, entry.counter_set), device)
    texts = [_left_of(view, device, name) for (_, name), device in list(sets.items())[:MAX_NAMED]]
    more = f" and {number(len(sets) - MAX_NAMED, 'other set')}" if len(sets) > MAX_NAMED else ""
    return "together they need more than is left of " + "; ".join(texts) + more


def _capacity(view: NodeView, left: Mapping[Alternative, Sequence[Device]]) -> str:
    """What is left of the capacities of the devices that can be shared."""
    shared = {
        device.id: device for devices in left.values() for device in devices if view.attempt.is_shared(device)
    }
    texts = []
    for device in list(shared.values())[:MAX_NAMED]:
        amounts = [f"{name} {amount}" for name, amount in view.attempt.capacity_left(device).items()]
        texts.append(f"{device.id.device} ({', '.join(amounts[:MAX_NAMED])})")
    more = f" and {number(len(shared) - MAX_NAMED, 'other device')}" if len(shared) > MAX_NAMED else ""
    return "together they need more than is left of " + "; ".join(texts) + more


def _left_of(view: NodeView, device: Device, name: str) -> str:
    available = view.attempt.counters_left(device)
    amounts = [
        f"{counter} {amount}" for (counter_set, counter), amount in available.items() if counter_set == name
    ]
    shown = ", ".join(amounts[:MAX_NAMED]) + (", …" if len(amounts) > MAX_NAMED else "")
    return f"{name} ({shown})"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
