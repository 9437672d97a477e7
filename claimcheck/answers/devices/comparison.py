"""What ResourceSlicePatches and DeviceTaintRules would change, before they are applied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from allocator.device_shapes import DeviceShape
from allocator.devices import Device, Slice
from allocator.evictions import Eviction
from allocator.explaining.holders import Holder, holder
from allocator.explaining.reallocation import Refused
from allocator.patches import PatchFailure
from allocator.patches.overrides import Applied
from allocator.patches.sources import SLICE, DeviceSources, Given, Giver
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.devices.cluster_devices import MOST_LISTED, ClusterDevices
from claimcheck.answers.devices.pending_pods import Places, PodsThatFit
from claimcheck.answers.devices.proposal import Proposal
from claimcheck.answers.devices.reallocations import Reallocations
from claimcheck.answers.evictions import when
from cluster.workloads import Workload
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pools import DeviceId

ATTRIBUTE, CAPACITY, TAINT = "attribute", "capacity", "taint"


class Change(NamedTuple):
    """What a device says before and afterwards (None: nothing), and who says so then.

    :param what: ATTRIBUTE, CAPACITY or TAINT; a taint has no name.
    """

    what: str
    name: str
    old: Object | None
    new: Object | None
    giver: Giver


class Hidden(NamedTuple):
    """A value that has no effect, as another patch gives the device another one."""

    what: str
    name: str
    patch: str
    value: Object
    effective: Given


class ChangedDevice(NamedTuple):
    """A device with what would change about it, and what would not, though a patch says so: of both as much as is listed.

    :param more: how much there is beside that.
    """

    device: DeviceId
    changes: tuple[Change, ...]
    hidden: tuple[Hidden, ...]
    more: int = 0


class PodOutcome(NamedTuple):
    """A pending pod, by `namespace/name`, with the nodes on which it fits."""

    pod: str
    places: Places


class LostClaim(NamedTuple):
    """An allocated claim that keeps its devices, but would not get them again, and why."""

    holder: Holder
    refused: Refused


class Comparison(NamedTuple):
    """All that would change.

    :param fitting: pending pods that do not fit now, and would then.
    :param misfitting: pending pods that fit now, and would not then.
    :param undecided: pending pods of which that is not known.
    :param lost: allocated claims that could be allocated to their devices now, and could not then.
    :param evicted: pods that would be evicted from their devices then, or earlier than now, and when that would be.
    :param idle: patches whose filters choose no device, by their names; none where patches have no effect at all.
    :param failures: why patches do not apply to devices, by their names.
    :param with_patches: whether something changes, and patches apply to some device then.
    """

    devices: list[ChangedDevice]
    fitting: list[PodOutcome]
    misfitting: list[PodOutcome]
    undecided: list[str]
    lost: list[LostClaim]
    evicted: list[tuple[Eviction, str]]
    idle: list[str]
    failures: Mapping[str, PatchFailure]
    with_patches: bool = False

    @property
    def changed(self) -> list[ChangedDevice]:
        """The devices about which something changes."""
        return [each for each in self.devices if each.changes]


def compare(
    devices: ClusterDevices, proposal: Proposal, workloads: Sequence[Workload], limit: TimeLimit
) -> Comparison:
    """Find out what a proposal would change; afterwards the devices are as before.

    :param workloads: the pending pods.
    :param limit: how long all of it may take.
    :raises OutOfTime: if the patches or the allocated claims take longer; pods are undecided then.
    """
    pods = PodsThatFit(devices, workloads, limit)
    already = {each.pod.key: each.when for each in devices.evictions}
    before = {slice.name: slice for slice in devices.inventory}
    now = pods.places()
    proposal.apply(devices.cluster)
    if proposal.patches and not devices.cluster.settle(limit):
        raise OutOfTime
    inventory = devices.inventory
    changed = sorted(_changed(devices, before, proposal, limit), key=lambda each: each.device)
    applied = {patch.name for device in devices for patch in inventory.applied_to(device).patches}
    failures = {name: each for name, each in inventory.failures.items() if name in proposal.patches}
    then = pods.places()
    refused = Reallocations(devices, limit).refused(_holding(devices, changed))
    proposal.undo(devices.cluster)
    evictions = [
        (each, when(each, devices.now))
        for each in devices.evictions_with(proposal.rules)
        if each.pod.key not in already or each.when < already[each.pod.key]
    ]
    return Comparison(
        changed,
        list(_only_in(then, now)),
        list(_only_in(now, then)),
        [pod for pod in then if now[pod] is None or then[pod] is None],
        list(_lost(refused, Reallocations(devices, limit), {each.pod.key for each, _ in evictions})),
        evictions,
        [name for name in sorted(proposal.patches) if name not in applied and name not in failures]
        if devices.state.features.device_patches
        else [],
        failures,
        bool(applied) and any(each.changes for each in changed),
    )


def _only_in(one: Mapping[str, Places | None], other: Mapping[str, Places | None]) -> Iterator[PodOutcome]:
    """The pods that surely fit in one case, and surely not in the other."""
    for pod, places in one.items():
        if places is not None and places.nodes and other[pod] == Places():
            yield PodOutcome(pod, places)


def _holding(devices: ClusterDevices, changed: Iterable[ChangedDevice]) -> Iterator[Claim]:
    """The allocated claims that have devices which change."""
    touched = {each.device for each in changed if each.changes}
    for claim in devices.state.allocated_claims:
        if any(result.device in touched for result in claim.results):
            yield claim


def _lost(
    refused: Sequence[tuple[Claim, Refused]], now: Reallocations, evicted: AbstractSet[str]
) -> Iterator[LostClaim]:
    """Of claims that would not get their devices again those that would get them as things are, and whose pods are not all evicted."""
    already = {claim.key for claim, _ in now.refused(claim for claim, _ in refused)}
    for claim, why in refused:
        who = holder(claim)
        if claim.key not in already and not (who.pods and evicted >= set(who.pods)):
            yield LostClaim(who, why)


def _changed(
    devices: ClusterDevices, before: Mapping[str, Slice], proposal: Proposal, limit: TimeLimit
) -> Iterator[ChangedDevice]:
    """The devices that a proposal changes, or would change if nothing hid it."""
    published = {slice.name: slice for slice in devices.inventory.published()}
    alike: dict[tuple[DeviceShape, DeviceShape, DeviceShape, Applied], ChangedDevice] = {}
    for slice in devices.inventory:
        all_of_it = (before[slice.name].devices, published[slice.name].devices, slice.devices)
        for was, own, device in zip(*all_of_it, strict=True):
            limit.check()
            applied = devices.inventory.applied_to(device)
            if devices.is_obsolete(device):
                continue
            if was.shape is device.shape and not any(
                each.name in proposal.patches for each in applied.patches
            ):
                continue
            key = was.shape, own.shape, device.shape, applied
            found = alike.get(key)
            if found is None:
                found = alike[key] = _compared(was, device, devices.sources_of(device), proposal)
            if found.changes or found.hidden:
                yield found._replace(device=device.id)


def _compared(was: Device, device: Device, sources: DeviceSources, proposal: Proposal) -> ChangedDevice:
    """A device, whether anything about it changes or not."""
    changes, hidden = list(_changes(was, device, sources)), list(_hidden(sources, proposal))
    more = sum(max(0, len(each) - MOST_LISTED) for each in (changes, hidden))
    return ChangedDevice(device.id, tuple(changes[:MOST_LISTED]), tuple(hidden[:MOST_LISTED]), more)


def _changes(was: Device, device: Device, sources: DeviceSources) -> Iterator[Change]:
    for what, old, new, given in (
        (ATTRIBUTE, was.attributes, device.attributes, sources.attributes),
        (CAPACITY, was.capacity, device.capacity, sources.capacity),
    ):
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                giver = given[name].giver if name in given else SLICE
                yield Change(what, name, old.get(name), new.get(name), giver)
    before, after = (each.spec.get("taints") or () for each in (was, device))
    known_before, known_after = ({frozenset(taint.items()) for taint in taints} for taints in (before, after))
    for taint in before:
        if frozenset(taint.items()) not in known_after:
            yield Change(TAINT, "", taint, None, SLICE)
    for each in sources.taints:
        if frozenset(each.value.items()) not in known_before:
            yield Change(TAINT, "", None, each.value, each.giver)


def _hidden(sources: DeviceSources, proposal: Proposal) -> Iterator[Hidden]:
    for what, given in ((ATTRIBUTE, sources.attributes), (CAPACITY, sources.capacity)):
        for name, each in given.items():
            for giver, value in each.hidden:
                if giver.kind == RESOURCE_SLICE_PATCH.name and giver.name in proposal.patches:
                    yield Hidden(what, name, giver.name, value, each)
