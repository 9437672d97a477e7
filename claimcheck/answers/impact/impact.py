"""Compares a cluster as it is with the same cluster after a change: pods that leave, start or stay pending, devices, and new findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from advice.findings import NOTE
from allocator.explaining.holders import Holder, holder
from allocator.explaining.reallocation import Refused
from allocator.selection import Selectors
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.caveats import group_notes
from claimcheck.answers.claim_quotas import ClaimQuotas, Exceeded
from claimcheck.answers.cluster_state import CLAIM, TEMPLATE, ClusterState
from claimcheck.answers.devices.cluster_devices import ClusterDevices, chooses
from claimcheck.answers.doctor.examination import OBJECT_CHECKS, Examination, examine
from claimcheck.answers.doctor.examined import Affected, Diagnosis, Examined
from claimcheck.answers.evictions import NO_TIME_FOR_EVICTIONS, because, when
from claimcheck.answers.impact.change import POD, Change, ChangedObjects, ObjectId
from claimcheck.answers.impact.changed_devices import ChangedDevice, changed_devices
from claimcheck.answers.impact.changed_quotas import give_back
from claimcheck.answers.impact.departures import Departure, emptied, leave, take_away
from claimcheck.answers.impact.node_taints import NodeEviction, evicted_from_nodes
from claimcheck.answers.impact.placed_pods import keep
from claimcheck.answers.impact.reallocations import Reallocations
from claimcheck.answers.impact.rollouts import MOST_STEPS, RolledOut, Rollout, on_nodes, rollouts_of
from claimcheck.answers.scenario import WITH_PATCHES
from claimcheck.answers.simulate import Report, as_scheduled
from claimcheck.answers.unplaced import Unplaced
from documents.manifest import Manifest
from resourceapi.manifests import full_name
from resourceapi.model.slices import PATCHED
from resourceapi.model.versions import GROUP
from resourceapi.phrases import some
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from resourceapi.records.taints import without_time
from resourceapi.releases import Profile


class Cluster(NamedTuple):
    """A cluster that is compared with another.

    :param placed: the node of each pod that waits and would be placed, by its title.
    :param starting: pods that rollouts were waiting for, with their nodes: they are on them already.
    :param is_underway: whether rollouts would go on.
    """

    examined: Examined
    report: Report
    placed: Mapping[str, str]
    starting: Sequence[tuple[str, str]] = ()
    is_underway: bool = False

    @property
    def unplaced(self) -> set[str]:
        """The pods that are left, or wait for what is not there."""
        left = (name for group in self.report.unplaced for name in group.pods)
        return {*left, *(each.workload.title for each in self.report.waiting)}


class LostClaim(NamedTuple):
    """An allocated claim whose pods keep its devices, but would not get them again, and why."""

    holder: Holder
    refused: Refused


class ClassDevices(NamedTuple):
    """How many devices a DeviceClass chooses before and afterwards."""

    name: str
    before: int
    after: int


class Impact(NamedTuple):
    """What a change does.

    :param departures: the pods that leave their nodes.
    :param starting: pods that will be placed and would not be as the cluster is, or are new, with their nodes.
    :param pending: pods that will not be placed, by reason: they are placed now, wait and would be, or come anew for others that leave.
    :param waiting: pods that will wait for what is not there, or for quota, with that; they do not wait now, or come anew.
    :param exceeded: quotas of which more is used afterwards than they allow, and is not now.
    :param rollouts: what becomes of workloads whose pods are made anew.
    :param lost: claims whose pods would not get their devices again if they restarted.
    :param devices: the devices that do not say the same afterwards.
    :param classes: the DeviceClasses that choose more or fewer devices.
    :param found: what `doctor` finds afterwards and does not find now; only the objects that are new.
    :param solved: what it finds now and does not find afterwards.
    :param notes: what else is to be known about it, in sentences.
    :param unknown: what there was no time to find out, in sentences.
    """

    departures: Sequence[Departure]
    starting: Sequence[tuple[str, str]]
    pending: Sequence[Unplaced]
    waiting: Sequence[tuple[str, str]]
    exceeded: Sequence[Exceeded]
    rollouts: Sequence[RolledOut]
    lost: Sequence[LostClaim]
    devices: Sequence[ChangedDevice]
    classes: Sequence[ClassDevices]
    found: Sequence[Diagnosis]
    solved: Sequence[Diagnosis]
    notes: Sequence[str]
    unknown: Sequence[str]

    @property
    def harms(self) -> bool:
        """Whether something is worse than before, and worse than a note."""
        found = any(each.check.severity != NOTE for each in self.found)
        stuck = any(not each.ends for each in self.rollouts)
        worse = self.departures or self.pending or self.waiting or self.exceeded or self.lost
        return found or stuck or bool(worse)


def impact(
    state: ClusterState,
    stored: Sequence[Manifest],
    change: Change,
    then: Profile,
    limit: TimeLimit,
    *,
    live: bool = False,
) -> Impact:
    """Find out what a change does.

    :param state: the cluster as it is, with its objects.
    :param stored: the objects.
    :param then: the release and the feature gates of the cluster afterwards.
    :param limit: how long everything may take.
    :param live: whether a server has stored the objects.
    :raises Unanswerable: if the API server would refuse the change, or what it is about does not exist.
    :raises OutOfTime: if applying patches to devices, or reading the pods, takes too long.
    """
    objects = ChangedObjects(state, stored, change)
    changed = _learned(objects, state, then, live=live)
    for name in objects.added_taints:
        # when its pods go is counted from the moment of the change, whatever time it takes to find out
        changed.taint_rules[name] = without_time(changed.taint_rules[name])
    first_half = limit.share(2)  # the rest is for the cluster afterwards
    now = _cluster(state, stored, first_half)
    unknown = []
    departures = emptied(objects, now.examined.devices.state.pods.objects.values())
    try:
        departures += _evicted(
            now.examined.devices, ClusterDevices(changed, first_half), objects, departures, first_half
        )
    except OutOfTime:
        unknown.append(NO_TIME_FOR_EVICTIONS)
    leave(objects, departures)
    rollouts = rollouts_of(objects, now.examined.devices.now)
    afterwards = _rolled_out(objects, rollouts, state, then, limit, live=live)
    if afterwards.is_underway:
        unknown.append(f"Rollouts are followed for {MOST_STEPS} steps, and there are more.")
    lost: list[LostClaim] = []
    classes: list[ClassDevices] = []
    devices: list[ChangedDevice] = []
    try:
        devices = changed_devices(
            now.examined.devices, afterwards.examined.devices, objects.applied_patches, limit
        )
        lost = list(_lost(objects, now.examined.devices, afterwards.examined.devices, limit))
        classes = list(_classes(now.examined.devices, afterwards.examined.devices, limit))
    except OutOfTime:
        unknown.append(
            "There was no time to ask for all devices, claims and classes what changes (--timeout)."
        )
    if now.report.undecided or afterwards.report.undecided:
        unknown.append("There was no time to find out for all pods whether they fit (--timeout).")
    findings = [examine(each.examined, OBJECT_CHECKS) for each in (now, afterwards)]
    unknown += [
        f"There was no time to look at all {what} (--timeout)."
        for what in dict.fromkeys(what for each in findings for what in each.unfinished)
    ]
    coming_back = {f"{POD} {each.pod.key}" for each in departures if each.returns}
    return Impact(
        departures,
        [
            (pod, node)
            for pod, node in (*afterwards.starting, *afterwards.placed.items())
            if pod not in now.placed and pod not in coming_back
        ],
        list(_pending(now, afterwards)),
        list(_waiting(now, afterwards)),
        _exceeded(state, afterwards.examined.state),
        [each.state for each in rollouts],
        lost,
        devices,
        classes,
        list(_only_in(findings[1].diagnoses, findings[0])),
        list(_only_in(findings[0].diagnoses, findings[1])),
        [*_notes(state, afterwards, objects, devices), *_silenced(findings[1], findings[0])],
        [*_ignored(objects), *_undecidable(now, afterwards), *unknown, *findings[0].unread],
    )


def _rolled_out(
    objects: ChangedObjects,
    rollouts: Sequence[Rollout],
    before: ClusterState,
    then: Profile,
    limit: TimeLimit,
    *,
    live: bool,
) -> Cluster:
    """The cluster afterwards, with rollouts as far as they come: pods are placed, then their controllers go on, and so on."""
    starting: list[tuple[str, str]] = []
    placed: set[str] = set()
    gone, _ = _next(objects, rollouts, placed, Counter())
    for step in range(MOST_STEPS):
        take_away(objects, gone)
        give_back(objects, before)
        new = [*objects.workloads.values(), *(one for each in rollouts for one in each.manifests)]
        state = _learned(objects, before, then, live=live)
        cluster = _cluster(state, objects.manifests(), limit, new)._replace(starting=list(starting))
        if not rollouts:
            return cluster
        placed.update(cluster.placed)
        starting += keep(objects, cluster.report, step)
        gone, moved = _next(objects, rollouts, placed, _without_place(cluster))
        if not moved:
            return cluster
    return cluster._replace(is_underway=True)


def _next(
    objects: ChangedObjects, rollouts: Sequence[Rollout], placed: Collection[str], unplaced: Counter[int]
) -> tuple[list[Pod], bool]:
    """Let rollouts make a step; returns the pods that go, and whether any did something."""
    gone, moved = list[Pod](), False
    nodes = on_nodes(objects, rollouts)
    for each in rollouts:
        idle = [pod.key for pod in each.kept if not pod.node and f"{POD} {pod.key}" not in placed]
        made = each.new
        gone += (going := each.go_on(idle, unplaced, nodes[each.id]))
        moved = moved or bool(going) or each.new != made
    return gone, moved


def _without_place(cluster: Cluster) -> Counter[int]:
    """How many pods of manifests are on no node, by the ``id`` of these; nothing is known of those that need no devices."""
    report = cluster.report
    placed = Counter(
        id(tried.workload.manifest)
        for tried, placement in zip(report.tried, report.runs[0].placements, strict=True)
        if placement.node
    )
    return Counter(
        {
            id(each.manifest): each.copies - placed[id(each.manifest)]
            for each in cluster.examined.waiting.workloads
        }
    )


def _notes(
    state: ClusterState, afterwards: Cluster, objects: ChangedObjects, devices: Sequence[ChangedDevice]
) -> Iterator[str]:
    """With which devices all of it is so."""
    if objects.applied_patches and not state.features.device_patches:
        yield f"The feature gate {PATCHED[0]} is off, so patches have no effect."
    elif devices and afterwards.examined.devices.inventory.patches_in_effect:
        yield WITH_PATCHES
    if objects.left_alone:
        yield f"Pods stay as they are until they are deleted: those of {some(objects.left_alone)}."
    yield from group_notes(state)


def _ignored(objects: ChangedObjects) -> Iterator[str]:
    """That objects of the change are not looked at."""
    if objects.repeated:
        yield f"More than once in the change: {some(list(objects.repeated))}. What the last one does is told."
    if objects.ignored:
        yield (
            f"Not looked at: {some(objects.ignored)}. What counts are new Pods, new workloads, Nodes, Namespaces, ResourceQuotas, PodGroups and "
            f"the kinds of {GROUP}. Of a workload that has pods, these count as they are."
        )


def _learned(objects: ChangedObjects, like: ClusterState, profile: Profile, *, live: bool) -> ClusterState:
    """The state of a cluster with these objects, of which the same could not be read."""
    state = ClusterState(profile, like.default_namespace)
    state.unread = dict(like.unread)
    state.learn(objects.manifests(), live=live)
    return state


def _evicted(
    now: ClusterDevices,
    changed: ClusterDevices,
    objects: ChangedObjects,
    known: Sequence[Departure],
    limit: TimeLimit,
) -> list[Departure]:
    """The pods that taints make leave after the change and that would have stayed, or stayed longer, without it.

    :param known: pods that leave anyway.
    :raises OutOfTime: if it takes too long to find out.
    """
    leaving = {each.pod.key for each in known}
    already = {each.pod.key: each.when for each in now.evictions()}
    pods = now.state.pods.objects.values()
    found = {each.pod.key: each for each in evicted_from_nodes(objects, pods, changed.now, limit)}
    for each in changed.evictions():
        if each.pod.key not in found or each.when < found[each.pod.key].when:
            found[each.pod.key] = NodeEviction(each.pod, each.when, because(each))
    return [
        Departure(each.pod, when(each.when, changed.now), each.why)
        for key, each in sorted(found.items(), key=lambda item: (item[1].when, item[0]))
        if key not in leaving and (key not in already or each.when < already[key])
    ]


def _undecidable(now: Cluster, afterwards: Cluster) -> Iterator[str]:
    """The pods of which nothing can be said afterwards, with the reason."""
    known = set(now.report.problems)
    yield from (
        f"{pod}: {problem}" for pod, problem in afterwards.report.problems if (pod, problem) not in known
    )


def _cluster(
    state: ClusterState, manifests: Iterable[Manifest], limit: TimeLimit, new: Sequence[Manifest] = ()
) -> Cluster:
    examined = Examined(state, manifests, "", limit, new=new)
    report = as_scheduled(examined.waiting, limit)
    return Cluster(examined, report, {each.pod: each.node for each in report.runs[0].placements if each.node})


def _pending(now: Cluster, afterwards: Cluster) -> Iterator[Unplaced]:
    """The pods that are left afterwards and are not now, by reason."""
    left = now.unplaced
    for group in afterwards.report.unplaced:
        if tried := [each for each in group.tried if each.pod.name not in left]:
            yield group._replace(tried=tried)


def _waiting(now: Cluster, afterwards: Cluster) -> Iterator[tuple[str, str]]:
    waits_already = now.unplaced
    for each in afterwards.report.waiting:
        if each.workload.title not in waits_already:
            yield each.workload.title, each.missing


def _exceeded(now: ClusterState, afterwards: ClusterState) -> list[Exceeded]:
    known = {each[:2] for each in ClaimQuotas(now).exceeded()}
    return [each for each in ClaimQuotas(afterwards).exceeded() if each[:2] not in known]


def _lost(
    objects: ChangedObjects, now: ClusterDevices, afterwards: ClusterDevices, limit: TimeLimit
) -> Iterator[LostClaim]:
    """The claims that would not get their devices again, but would as the cluster is."""
    claims = list(afterwards.state.allocated_claims)
    gone = dict(_gone(objects, claims, afterwards.state.pods.objects.values()))
    refused = Reallocations(afterwards, limit).refused(claim for claim in claims if claim.key not in gone)
    already = {claim.key for claim, _ in Reallocations(now, limit).refused(claim for claim, _ in refused)}
    reasons = {claim.key: why for claim, why in refused if claim.key not in already} | gone
    for claim in claims:
        if claim.key in reasons:
            yield LostClaim(holder(claim), reasons[claim.key])


def _gone(
    objects: ChangedObjects, claims: Iterable[Claim], pods: Iterable[Pod]
) -> Iterator[tuple[str, Refused]]:
    """The claims in use that are deleted, or whose template is: their pods could not start again."""
    if not objects.deleted_sources:
        return
    templates = {
        full_name(pod.namespace, entry.claim): ObjectId(TEMPLATE, pod.namespace, entry.template)
        for pod in pods
        for entry in pod.claims
    }
    for claim in claims:
        itself = ObjectId(CLAIM, claim.namespace, claim.name)
        deleted = objects.deleted_sources & {itself, templates.get(claim.key, itself)}
        if deleted and claim.results:
            yield claim.key, Refused(claim.results[0].device, f"{min(deleted)} is deleted")


def _classes(now: ClusterDevices, afterwards: ClusterDevices, limit: TimeLimit) -> Iterator[ClassDevices]:
    before, after = (_chosen(each, limit) for each in (now, afterwards))
    for name in sorted({*before, *after}):
        if before.get(name, 0) != after.get(name, 0):
            yield ClassDevices(name, before.get(name, 0), after.get(name, 0))


def _chosen(devices: ClusterDevices, limit: TimeLimit) -> dict[str, int]:
    """How many devices each DeviceClass chooses, by its name."""
    selectors = Selectors(devices.state.features.minor)
    kinds = devices.kinds()
    return {
        name: sum(len(alike) for alike in kinds if chooses(device_class, alike[0], selectors, limit) is True)
        for name, device_class in devices.state.classes.items()
    }


def _silenced(afterwards: Examination, now: Examination) -> Iterator[str]:
    """What annotations silence that is not found now: whoever makes the change may have written them."""
    silenced = [
        f"{each.check.code} of {affected.kind} {affected.full_name}"
        for each in _only_in(afterwards.silenced, now)
        for affected in each.objects
    ]
    if silenced:
        yield f"Left out, as annotations of the objects say: {some(silenced)}."


def _only_in(found: Sequence[Diagnosis], other: Examination) -> Iterator[Diagnosis]:
    """Of what one examination has found what the other has not, silenced or not: only the objects that are new."""
    of_other = (*other.diagnoses, *other.silenced)
    known = {(each.check.code, affected[:3]) for each in of_other for affected in each.objects}
    for each in found:
        objects: list[Affected] = [
            affected for affected in each.objects if (each.check.code, affected[:3]) not in known
        ]
        if objects:
            yield each._replace(objects=objects)
