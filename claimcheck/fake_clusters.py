"""A cluster that schedules pods, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allocator.node_fit import pod_status
from allocator.scheduling import Mode
from allocator.simulation import Limits, Simulation
from allocator.time_limit import POD_SECONDS, TimeLimit
from claimcheck.answers.cluster_state import CLAIM
from claimcheck.answers.tried import pods_of, scheduling_state
from claimcheck.clusters import Cluster
from claimcheck.inputs import Objects, values_in
from claimcheck.placements import AllocatedDevice, devices_of
from documents.manifest import Unwritten
from resourceapi.errors import ClaimcheckError, Unanswerable
from resourceapi.manifests import mapping
from resourceapi.model.versions import GROUP

if TYPE_CHECKING:
    import allocator.simulation
    from cluster.workloads import Workload
    from resourceapi.objects import Object


class Unschedulable(ClaimcheckError):
    """A pod fits on no node; the text is kube-scheduler's, where it has one."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A pod on its node.

    - ``pod``: ``default/train``.
    - ``claims``: the ``status`` of each claim that it uses, by ``namespace/name``, as kube-scheduler writes it.
    - ``status``: what kube-scheduler writes into the ``status`` of the pod.
    - ``devices``: the devices in these.
    """

    pod: str
    node: str
    claims: Mapping[str, Mapping[str, Any]]
    status: Mapping[str, Any]

    @property
    def devices(self) -> tuple[AllocatedDevice, ...]:
        """The devices that its claims hold."""
        return devices_of({name: status.get("allocation") or {} for name, status in self.claims.items()})


class FakeCluster(Cluster):
    """A cluster with a scheduler: what a pod gets, no other gets. For tests; it is made as any :class:`Cluster`."""

    def schedule(self, pod: Objects) -> Scheduled:
        """Place a pod on the node that kube-scheduler chooses, and keep what it holds.

        :param pod: one pod, and claims and templates that are not in the cluster yet; if the pod is placed, they are from then on.
        :raises Unschedulable: if it fits on no node.
        :raises ClaimcheckError: if objects cannot be read or are refused, or it is not one pod that requests devices.
        """
        with self.lock:
            found = list(values_in(pod, self.profile))
            scenario = self.scenario(found)
            if len(scenario.workloads) > 1 or scenario.workloads[0].kind != "Pod":
                titles = ", ".join(each.title for each in scenario.workloads[:3])
                raise Unanswerable(f"expected one pod, found {titles}")
            (workload,) = scenario.workloads
            if workload.problem:
                raise Unanswerable(f"{workload.title}: {workload.problem}")
            if workload.waits_for:
                raise Unschedulable(f"{workload.title}: waits for {workload.waits_for}")
            snapshot, resources = scenario.snapshot, scenario.node_resources
            if workload.full_name in self._state.pods.objects:
                raise Unanswerable(f"{workload.title} is on a node already")
            limits = Limits(TimeLimit(POD_SECONDS))
            (wanted,) = pods_of(snapshot, workload, resources, limits)
            simulation = Simulation(scheduling_state(snapshot, resources), limits)
            (placement,) = simulation.run([wanted], Mode.PREFERRED)
            if not placement.node:
                raise Unschedulable(f"{workload.title}: {placement.error or placement.reason}")
            self._state = scenario.state
            self.manifests += found
            return self._keep(workload, wanted, placement)

    def _keep(
        self,
        workload: Workload,
        wanted: allocator.simulation.Pod,
        placement: allocator.simulation.Placement,
    ) -> Scheduled:
        """Write down what the pod holds."""
        claims = {}
        for name, claim in wanted.claims.items():
            before = mapping(claim.object, "status")
            allocation = placement.results.get(name) or before.get("allocation")
            if allocation is None:
                continue  # the node has the extended resource from a device plugin
            user = workload.consumer(name, workload.name).reference
            users = [each for each in before.get("reservedFor", ()) if each != user]
            now = {**before, "allocation": allocation, "reservedFor": [*users, user]}
            self._put(f"{GROUP}/v1", CLAIM, {**claim.object, "status": now})
            claims[name] = now
        spec = {**workload.pod_spec, "nodeName": placement.node}
        status = pod_status(placement.footprints)
        metadata = {"name": workload.name, "namespace": workload.namespace}
        self._put("v1", "Pod", {"metadata": metadata, "spec": spec, "status": status})
        self._snapshot = None
        return Scheduled(workload.full_name, placement.node, claims, status)

    def _put(self, api_version: str, kind: str, obj: Object) -> None:
        value = {**obj, "apiVersion": api_version, "kind": kind}
        self.manifests.append(Unwritten(f"scheduled {kind}", value))
        if kind == CLAIM:
            self._state.put(kind, obj)
        else:
            self._state.pods.put(value)
