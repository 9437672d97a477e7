"""The pods of a cluster that are evicted from tainted devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from allocator.evictions import Eviction, NoExecuteTaints, evictions
from resourceapi.phrases import and_others, number
from resourceapi.records.taints import DeviceTaintRule

if TYPE_CHECKING:
    from allocator.devices import Slice
    from allocator.time_limit import TimeLimit
    from claimcheck.answers.cluster_state import ClusterState

RULES_GATE = "DRADeviceTaintRules"
#: Pods that are named in a note, and taints for which one is evicted.
MAX_NAMED = 3
NO_TIME_FOR_EVICTIONS = "There was no time to find out for all pods whether they are evicted (--timeout)."


def evicted(
    state: ClusterState,
    slices: Iterable[Slice],
    rules: Iterable[DeviceTaintRule],
    now: datetime,
    limit: TimeLimit,
) -> list[Eviction]:
    """Those that are evicted, or will be.

    :param slices: as drivers publish them.
    :param rules: DeviceTaintRules.
    :param now: when taints are added that are not there yet.
    :param limit: how long it may take.
    :raises OutOfTime: if it takes longer.
    """
    if not state.features.device_taints:
        return []
    taints = NoExecuteTaints(slices, rules if RULES_GATE in state.profile.gates else (), now)
    if taints.are_none:
        return []
    claims = {claim.key: claim for claim in state.allocated_claims}
    return evictions(state.pods.objects.values(), claims, taints, limit)


def when(moment: datetime, now: datetime) -> str:
    """`at once`, `in 300 seconds`."""
    seconds = round((moment - now).total_seconds())
    return f"in {number(seconds, 'second')}" if seconds > 0 else "at once"


def because(eviction: Eviction) -> str:
    """The first taints for which it is evicted, `maintenance:NoExecute (DeviceTaintRule drain)`, and how many others there are."""
    named = ", ".join(map(str, eviction.taints[:MAX_NAMED]))
    return named + and_others(len(eviction.taints), MAX_NAMED)


def notes(found: Sequence[Eviction], now: datetime) -> list[str]:
    """What is to be said where pods hold devices that they will not keep."""
    if not found:
        return []
    named = [
        f"{each.pod.key} {when(each.when, now)} because of {because(each)}" for each in found[:MAX_NAMED]
    ]
    more = [f"{number(len(found) - MAX_NAMED, 'other')}"] if len(found) > MAX_NAMED else []
    are = "pod is" if len(found) == 1 else "pods are"
    return [
        f"{len(found):,} {are} evicted, and then release{'s' if len(found) == 1 else ''} devices: {'; '.join([*named, *more])}."
    ]
