"""What patches would change, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allocator.patches.patch import removes
from allocator.patches.sources import Giver
from claimcheck.answers.devices.cluster_devices import failure_text
from claimcheck.answers.devices.comparison import ATTRIBUTE, CAPACITY, Change, Comparison, Hidden, PodOutcome
from claimcheck.answers.evictions import because
from claimcheck.answers.scenario import WITH_PATCHES
from commandline.devices import words
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.objects import EMPTY, Object
from resourceapi.phrases import number
from resourceapi.records.pools import DeviceId
from resourceapi.records.taints import read_taint

#: Devices, nodes, and claims that are named; of others only the number is shown.
MAX_DEVICES, MAX_NODES, MAX_CLAIMS = 4, 3, 20


def lines(comparison: Comparison, *, wide: bool = False) -> Iterator[str]:
    """The report line by line; nothing if nothing changes.

    :param wide: whether to name all devices and claims.
    """
    most = None if wide else MAX_DEVICES
    groups: dict[tuple[str, ...], list[DeviceId]] = {}
    for each in comparison.devices:
        more = [f"and {number(each.more, 'other')}"] if each.more else []
        groups.setdefault((*map(_change, each.changes), *map(_hidden, each.hidden), *more), []).append(
            each.device
        )
    for said, devices in groups.items():
        yield f"{_listed(list(map(str, devices)), most, 'device')}:"
        yield from (f"  {line}" for line in said)
        yield ""
    yield _summary(len(comparison.changed), len(comparison.devices))
    for name in comparison.idle:
        yield f"{RESOURCE_SLICE_PATCH.name} {name} applies to no device"
    for name, failure in sorted(comparison.failures.items()):
        yield failure_text(name, failure)
    yield from _pods(
        comparison.fitting, "does not fit now, and would fit then", "do not fit now, and would fit then"
    )
    yield from _pods(
        comparison.misfitting, "fits now, and would not fit then", "fit now, and would not fit then"
    )
    if comparison.undecided:
        yield f"not decided in time (--timeout): {_listed(comparison.undecided, MAX_CLAIMS, 'pod')}"
    yield from _evicted(comparison, None if wide else MAX_CLAIMS)
    yield from _lost(comparison, None if wide else MAX_CLAIMS)
    if comparison.with_patches:
        yield ""
        yield WITH_PATCHES


def _summary(changed: int, listed: int) -> str:
    """How many devices would change, of those that are listed: patches have no effect on the others."""
    devices = number(changed, "device") if changed else "No device"
    if 0 < changed < listed:
        devices = f"{changed:,} of these {listed:,} devices"
    return f"{devices} would change."


def _change(change: Change) -> str:
    """``attribute model: a100 → h100  (ResourceSlicePatch rename)``."""
    values = [_value(change.what, each) for each in (change.old, change.new)]
    if change.what == CAPACITY:
        policies = [words.policy(each or EMPTY) for each in (change.old, change.new)]
        if policies[0] != policies[1]:
            values = [
                value if each is None else f"{value} ({policy or 'no policy'})"
                for value, each, policy in zip(values, (change.old, change.new), policies, strict=True)
            ]
    by = f"  ({change.giver})" if change.giver.kind else ""
    what = f"{change.what} {change.name}" if change.name else change.what
    return f"{what}: {values[0]} → {values[1]}{by}"


def _hidden(hidden: Hidden) -> str:
    """``attribute tier: gold (ResourceSlicePatch new) has no effect: bronze (ResourceSlicePatch pinned) comes first``."""
    own = _given(hidden.what, hidden.value, Giver(RESOURCE_SLICE_PATCH.name, hidden.patch))
    first = _given(hidden.what, hidden.effective.value, hidden.effective.giver)
    return f"{hidden.what} {hidden.name}: {own} has no effect: {first} comes first"


def _given(what: str, value: Object, giver: Giver) -> str:
    return f"{'removal' if removes(value) else _value(what, value)} ({giver})"


def _value(what: str, value: Object | None) -> str:
    if value is None:
        return words.NONE
    if what == ATTRIBUTE:
        return words.value(value)
    return words.amount(value) if what == CAPACITY else str(read_taint(value))


def _pods(pods: Sequence[PodOutcome], one: str, many: str) -> Iterator[str]:
    if not pods:
        return
    yield ""
    yield f"{_counted(len(pods), f'pending pod {one}', f'pending pods {many}')}:"
    for each in pods[:MAX_CLAIMS]:
        names, count = each.places.names, each.places.nodes
        more = f", … ({number(count, 'node')})" if count > MAX_NODES else ""
        yield f"  {each.pod} on {', '.join(names[:MAX_NODES])}{more}"
    if len(pods) > MAX_CLAIMS:
        yield f"  and {number(len(pods) - MAX_CLAIMS, 'other')}"
    if len(pods) > 1:
        yield "  (each by itself: together they may need the same devices)"


def _evicted(comparison: Comparison, most: int | None) -> Iterator[str]:
    if not comparison.evicted:
        return
    yield ""
    count = len(comparison.evicted)
    yield f"{_counted(count, 'pod would be evicted', 'pods would be evicted')}:"
    for each, when in comparison.evicted[:most]:
        yield f"  {each.pod.key} {when}: {because(each)}"
    if most is not None and count > most:
        yield f"  and {number(count - most, 'other')}"


def _lost(comparison: Comparison, most: int | None) -> Iterator[str]:
    if not comparison.lost:
        return
    yield ""
    count = len(comparison.lost)
    yield (
        f"{_counted(count, 'allocated claim keeps its devices', 'allocated claims keep their devices')}, "
        "but would not get them again:"
    )
    for each in comparison.lost[:most]:
        yield f"  {each.holder.claim} ({each.holder.used_by}): {each.refused.device}: {each.refused.reason}"
    if most is not None and count > most:
        yield f"  and {number(count - most, 'other')}"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _listed(names: Sequence[str], most: int | None, noun: str) -> str:
    shown = ", ".join(names[:most])
    return f"{shown}, … ({number(len(names), noun)})" if most is not None and len(names) > most else shown
