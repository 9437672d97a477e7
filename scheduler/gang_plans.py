"""Places for the pods of a gang, found for all of them together where they do not fit one by one.

Filter gives each pod of a PodGroup the first node on which it fits, as long as that does. If a gang is refused, the next attempt
begins with a search for places for all of its pods (`allocator.packing`), and what that finds is given to the pods one by one.

kube-scheduler says only of the pod that it asks about where it may be: it is taken for granted that the others of its gang may be on
the same nodes, and need as much of them. Where that is not so, the rest is searched for anew.

A gang may be torn apart if a bind fails, or the leader ends between two binds. What its other pods need is found as well, and
counts before any other pod is looked at: nodes of claims that have devices by now cannot be chosen again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from allocator.gangs import Gang
from allocator.node_fit import NO_POD, PodOnNode
from allocator.packing import pack
from allocator.simulation import Limits, Placement, Simulation
from allocator.simulation import Pod as Placeable
from allocator.time_limit import TimeLimit
from resourceapi.caches import remember
from resourceapi.manifests import mapping
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pod_groups import PodGroup
from resourceapi.records.pods import Pod, containers_by_entry
from scheduler.cluster_picture import ClusterPicture, HelpedBy
from scheduler.extender_api import CandidateNodes
from scheduler.picture_lock import FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS, SearchTime
from scheduler.pod_claims import ClaimProblem, claims_for, shared_claims

#: How often it is tried to place a gang at most, and for how many gangs it is remembered that they do not fit one by one.
ROUNDS, MOST_GANGS = 200, 10_000
#: Gangs with more pods that wait get places one by one only.
MOST_PODS = 256


class _Refused(NamedTuple):
    """A gang whose pods do not fit one by one.

    :param gains: those of the picture when no places were found for it together; None if that has not been tried.
    :param pause: how long it was not searched for afterwards.
    :param until: when it is searched for again, if anything has changed.
    """

    gains: int | None = None
    pause: float = 0.0
    until: float = 0.0


class GangPlans:
    """For who holds the picture's lock."""

    def __init__(self, picture: ClusterPicture, search_time: SearchTime, seconds: float) -> None:
        """Begin with no plans.

        :param seconds: how long the search for places of one gang may take.
        """
        self._picture = picture
        self._clock = search_time.clock
        self._seconds = seconds
        #: by ``namespace/name`` of the PodGroup
        self._refused: dict[str, _Refused] = {}
        self._term = 0

    def refused(self, pod: Pod, on_node: PodOnNode) -> float | None:
        """Note that a pod of a gang does not fit, so that the next attempt begins with a search; when to try again even if nothing changes."""
        group, known = self._picture.group_of(pod), self._refused.get(pod.group_key)
        if group is None or not self._lacks_pods(group, pod):
            return None
        if known is None:
            remember(self._refused, pod.group_key, _Refused(), MOST_GANGS)
            return self._clock()
        return None if known.gains == self._gains(on_node) else known.until

    def _lacks_pods(self, group: PodGroup, pod: Pod) -> bool:
        """Whether too few pods of a gang fit so far, and more than one is to be placed."""
        fitting = self._picture.placed[pod.group_key] + self._picture.group_devices.fitting
        waiting = len(self._picture.waiting.get(pod.group_key, ()))
        return fitting < group.min_count and 1 < waiting <= MOST_PODS

    def _gains(self, on_node: PodOnNode) -> int:
        return self._picture.gains_for(HelpedBy.DEVICES if on_node is NO_POD else HelpedBy.ROOM)

    def node_for(self, pod: Pod, candidates: CandidateNodes, on_node: PodOnNode) -> str:
        """The node on which a pod fits beside the others of its gang, whose devices count from now on; empty if none is known."""
        node = self._picture.group_devices.take_plan(pod)
        if node in candidates.nodes:
            return node
        self._picture.group_devices.drop_plan()
        group, known = self._picture.group_of(pod), self._refused.get(pod.group_key)
        gains = self._gains(on_node)
        if group is None or known is None or known.gains == gains or known.until > self._clock():
            return ""
        found = self._plan(pod, group, candidates, on_node)
        pause = 0.0 if found else min(LAST_RETRY_SECONDS, max(FIRST_RETRY_SECONDS, 2 * known.pause))
        self._refused[pod.group_key] = _Refused(None if found else gains, pause, self._clock() + pause)
        return found.get(pod.key, "")

    def _plan(
        self, pod: Pod, group: PodGroup, candidates: CandidateNodes, on_node: PodOnNode
    ) -> dict[str, str]:
        """The nodes of the pods that fit together, by key; what others than the first get counts from now on."""
        devices = self._picture.group_devices
        members = self._members(group, pod)
        found = self._together(group, members, candidates, on_node, devices.fitting)
        own = set(pod.claim_keys)
        for (each, claims), placement in zip(members, found, strict=True):
            if placement.node and each is not pod:
                got = _got(placement, [claim for claim in claims if claim.key not in own])
                devices.plan(each, placement.node, got, placement.needs)
        return {each.pod: each.node for each in found if each.node}

    def _together(
        self,
        group: PodGroup,
        members: Sequence[tuple[Pod, list[Claim]]],
        candidates: CandidateNodes,
        on_node: PodOnNode = NO_POD,
        fitting: int = 0,
    ) -> list[Placement]:
        """Where the pods fit together, as if each were as the one that kube-scheduler asks about.

        :param fitting: how many others of the group fit.
        """
        picture = self._picture
        running = picture.placed[group.key] + fitting
        gang = Gang(group.key, min(group.min_count, running + len(members)), running)
        fellows = _Fellows(gang, group, candidates.pod, on_node)
        pods = [fellows.placeable(each, claims) for each, claims in members]
        simulation = Simulation(
            picture.state,
            Limits(TimeLimit(self._seconds)),
            resources=None if on_node is NO_POD else picture.room.resources,
            # of those that are alike no more are needed than there are pods
            nodes=[each for kind in picture.state.alike(candidates.nodes) for each in kind[: len(members)]],
        )
        try:
            return pack(simulation, pods, self._seconds, ROUNDS)
        finally:
            simulation.reset()

    def _members(self, group: PodGroup, *first: Pod) -> list[tuple[Pod, list[Claim]]]:
        """The pods of a gang that have not been asked about, with their claims, as far as these can be used.

        :param first: comes first, although it has.
        """
        picture = self._picture
        others = sorted(picture.waiting.get(group.key, set()).difference([each.key for each in first]))
        waiting = [each for each in map(picture.pods.objects.get, others) if each is not None]
        asked_about = picture.group_devices.is_filtered
        found = []
        for each in (*first, *[each for each in waiting if not (each.is_leaving or asked_about(each))]):
            with suppress(ClaimProblem):
                found.append((each, claims_for(each, picture.claims)))
        return found

    # --- gangs of which a part is bound, or has its claims

    def torn(self, pod: Pod, term: int) -> list[str]:
        """The gangs of which a bind has failed, or that another leader has begun to bind, but for that of a pod; each once."""
        devices, waiting = self._picture.group_devices, self._picture.waiting
        if term != self._term:
            self._term = term
            devices.torn.update(filter(self._is_begun, list(waiting)))
        # of one whose bind has just failed, it may not have been seen yet that others are bound
        devices.torn = {key for key in devices.torn if key in waiting}
        found = {key for key in devices.torn - {pod.group_key} if self._is_begun(key)}
        devices.torn -= found
        return list(found)

    def _is_begun(self, key: str) -> bool:
        """Whether some pods of a gang are bound, and too few, or claims of the group have devices."""
        group, placed = self._picture.pod_groups.objects.get(key), self._picture.placed[key]
        if group is None:
            return False
        stored = map(
            self._picture.claims.stored, [f"{group.namespace}/{each.claim}" for each in group.claims]
        )
        return placed < group.min_count and (
            placed > 0 or any(each is not None and each.is_allocated for each in stored)
        )

    def hold_rest(self, key: str) -> None:
        """Keep what the other pods of such a gang need, before others are told that it is free."""
        group = self._picture.pod_groups.objects.get(key)
        members = [] if group is None else self._members(group)
        if group is None or not 0 < len(members) <= MOST_PODS:
            return
        found = self._together(group, members, CandidateNodes({}, tuple(self._picture.state.nodes)))
        for (pod, claims), placement in zip(members, found, strict=True):
            if placement.node:
                self._picture.group_devices.hold_rest(pod, _got(placement, claims))


def _got(placement: Placement, claims: Sequence[Claim]) -> list[tuple[Claim, Object]]:
    """The claims that get devices with a placement, and these."""
    return [(each, placement.results[each.key]) for each in claims if each.key in placement.results]


class _Fellows:
    """Pods of a gang as a simulation has them, as if each were as the one that kube-scheduler asks about."""

    def __init__(
        self,
        gang: Gang,
        group: PodGroup,
        pod: Object,
        on_node: PodOnNode,
    ) -> None:
        """`pod`: that one."""
        self._gang = gang
        self._group = group
        self._needs = on_node.needs
        self._containers = containers_by_entry(mapping(pod, "spec"))

    def placeable(self, pod: Pod, claims: Sequence[Claim]) -> Placeable:
        """A pod with its claims."""
        uses = {f"{pod.namespace}/{each.claim}": self._containers.get(each.entry, ()) for each in pod.claims}
        return Placeable(
            pod.key,
            {each.key: each for each in claims},
            spec={"schedulingGroup": {"podGroupName": pod.group}},
            needs=self._needs,
            gang=self._gang,
            containers=uses,
            shared={key: each.reference for key, each in shared_claims(pod, self._group).items()},
        )
