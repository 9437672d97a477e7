"""Asks `simulate`, `explain`, `devices` and the sidecar about pods of random clusters, and lets real kube-schedulers place them.

python -m tests.e2e.live_answers --seed 7 --count 20

Each pod is asked about, and then put before kube-scheduler with its own plugin or with the sidecar; if one refuses it, before
the other as well. Where devices are patched or have compatibility groups, only the sidecar sees them as they are.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from allocator.explaining.explanation import CHANCE, ERROR, FITS
from allocator.pod_claims import ClaimsOnNode
from allocator.pod_nodes import DEFAULT_SCHEDULER
from allocator.simulation import Limits
from allocator.time_limit import TimeLimit
from claimcheck import Cluster
from claimcheck.answers.explain import Explained, explain_all
from claimcheck.answers.scenario import Scenario
from claimcheck.answers.simulate import Report, simulate
from claimcheck.inputs import values_in
from commandline.main import main as claimcheck
from commandline.simulate import json_report
from resourceapi.records.claims import Allocation, Claim
from resourceapi.records.nodes import read_node
from tests.claimcheck.first_lines import begins, first_lines, for_events
from tests.claimcheck.random_inventories import GATES, NAMESPACES, Inventory, Json, inventory
from tests.e2e.control_plane import component
from tests.e2e.live_hunt import hunt
from tests.e2e.live_objects import LiveObjects, refusal, with_patches
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SchedulingCluster, scheduling_cluster, until

ON = dict.fromkeys(GATES, True)
_FLAG = "--feature-gates=" + ",".join(f"{gate}=true" for gate in GATES)
_KINDS = (
    "Pod",
    "ResourceClaim",
    "Node",
    "ResourceSlice",
    "DeviceClass",
    "DeviceTaintRule",
    "ResourceSlicePatch",
)
#: What others do on the machine does not count.
_UNHURRIED = TimeLimit(clock=time.process_time)
#: How long something is waited for that should come, in seconds.
SECONDS = 20.0
#: What `devices` says of a device that a rule refuses because of what is in use.
_STATUS = {
    "allocated": {"allocated", "shared"},
    "counters": {"counters used up"},
    "groups": {"other groups in use"},
}

Device = tuple[str, str, str, str, str]
"""Claim, request, driver, pool and name."""


class Difference(NamedTuple):
    """What somebody says or does of a pod that is not what `explain` says.

    :param who: kube-scheduler, or which of the answers.
    """

    pod: str
    scheduler: str
    who: str
    said: object
    explained: object


@contextlib.contextmanager
def two_schedulers() -> Iterator[SchedulingCluster]:
    """A control plane with kube-scheduler as it is, for pods that name no other, and another one with the sidecar."""
    with (
        scheduling_cluster(
            replicas=1,
            server_flags=[_FLAG, "--runtime-config=api/all=true"],
            config={"apiServer": {"featureGates": ON}},
            controller_flags=[_FLAG],
            scheduler_flags=[_FLAG],
            beside=with_patches,
        ) as cluster,
        component(cluster.server, "kube-scheduler", [_FLAG, "--kube-api-qps=500", "--kube-api-burst=1000"]),
    ):
        cluster.client.ask("DELETE", "/api/v1/nodes/node-a")
        yield cluster


class Told:
    """What is said of a pod before anybody has scheduled it."""

    def __init__(self, scenario: Scenario) -> None:
        (self.first,) = first_lines(explain_all(scenario, limit=_UNHURRIED))
        self._scenario = scenario

    @property
    def explained(self) -> Explained:
        return self.first.explained

    @property
    def fits(self) -> bool:
        return self.explained.verdict in (FITS, CHANCE)

    @property
    def is_asked(self) -> bool:
        """Whether nodes are left on which devices are looked for."""
        return self.explained.explanation is not None and bool(self.explained.explanation.answers)

    @property
    def node(self) -> str:
        explanation = self.explained.explanation
        placed = explanation.placed if explanation is not None else None
        return self.explained.bound if placed is None else placed.node

    @property
    def devices(self) -> set[Device]:
        explanation = self.explained.explanation
        if explanation is None or explanation.placed is None:
            return set()
        names = [each.name for each in explanation.demand]
        return devices_in(dict(zip(names, explanation.placed.result or (), strict=True)))

    def simulated(self) -> Report:
        return simulate(
            self._scenario, ["kube-scheduler"], batch=False, templates=(), limits=Limits(_UNHURRIED)
        )


def devices_in(allocations: dict[str, Json]) -> set[Device]:
    return {
        (claim, each.request, *each.device)
        for claim, allocation in allocations.items()
        for each in Allocation(allocation).results
    }


class LiveCluster:
    """A random cluster at a server, the pods of which are asked about one after the other."""

    def __init__(self, cluster: SchedulingCluster) -> None:
        self.there = LiveObjects(cluster.client, NAMESPACES, _KINDS)
        self.kubeconfig = str(cluster.server.kubeconfig)
        self.counted: Counter[str] = Counter()

    def differences(self, seed: int) -> Iterator[Difference]:
        """All that is not as `explain` says."""
        found = inventory(seed, named_nodes=True)
        self._set_up(found)
        for number, pod in enumerate(found.pods):
            schedulers = [SCHEDULER_NAME]
            if not (found.is_for_sidecar or pod["spec"].get("nodeName")):
                schedulers.insert(number % 2, DEFAULT_SCHEDULER)
            for scheduler in schedulers:
                asked = {**pod, "spec": {**pod["spec"], "schedulerName": scheduler}}
                yield from self._differences(asked)
                if self._is_placed(asked):
                    break
                self.there.delete("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])

    def _differences(self, pod: Json) -> Iterator[Difference]:
        scheduler, name = pod["spec"]["schedulerName"], _name(pod)

        def differs(who: str, said: object, explained: object) -> Difference:
            return Difference(name, scheduler, who, said, explained)

        told = Told(self._scenario(pod))
        yield from (differs(*each) for each in _simulated(told))
        self.there.make(pod)
        with contextlib.suppress(AssertionError):
            until(lambda: self._is_placed(pod) or self._is_refused(pod, told), "", SECONDS)
        placed = self._is_placed(pod)
        self.counted["placed" if placed else "refused"] += 1
        if placed:
            yield from (differs(*each) for each in self._placement(pod, told))
        elif told.fits:
            yield differs("kube-scheduler", self._refusal(pod), told.first.text)
        else:
            yield from (differs(*each) for each in self._reasons(pod, told))
        if placed or told.is_asked:
            yield from (differs(*each) for each in self._held(told))

    # --- comparisons: who says something else, that, and what `explain` says

    def _placement(self, pod: Json, told: Told) -> Iterator[tuple[str, object, object]]:
        node = self.there.node(pod["metadata"]["name"], pod["metadata"]["namespace"])
        if not told.fits:
            yield "kube-scheduler", f"bound to {node}", told.first.text
            return
        equal = told.simulated().runs[0].placements[0].equal
        if node != told.node and node not in equal:
            yield "kube-scheduler", f"bound to {node}", f"{told.node}, or as well {equal}"
            return
        devices = devices_in({key: each["status"]["allocation"] for key, each in self._claims_of(pod)})
        expected = told.devices
        if node != told.node:
            self.counted["on an equal node"] += 1
            return
        if not devices >= expected:
            yield "kube-scheduler", devices, expected

    def _reasons(self, pod: Json, told: Told) -> Iterator[tuple[str, object, object]]:
        said, condition = told.first.text, self._refusal(pod)
        message = condition.get("message", "").partition(" preemption:")[0]
        if pod["spec"]["schedulerName"] == DEFAULT_SCHEDULER:
            failed = condition.get("reason") == "SchedulerError"
            if failed != (told.explained.verdict == ERROR):
                yield "kube-scheduler", condition, said
            elif told.explained.unavailable not in ("", message):
                yield "kube-scheduler", message, told.explained.unavailable
        elif told.is_asked:
            event = self._event(pod)
            if not event or not begins(event, for_events(told.first)):
                yield "event", event, for_events(told.first)
            self.counted["events"] += 1

    def _held(self, told: Told) -> Iterator[tuple[str, object, object]]:
        """What `devices` says of what claims hold, and of devices that are refused because of what is in use."""
        devices = self._devices()
        for claim in self.there.of("ResourceClaim"):
            for each in Claim(claim).results:
                held = devices["/".join(each.device)]
                users = {f"{use['namespace']}/{use['name']}" for use in held["claims"]}
                if held["status"] not in _STATUS["allocated"] or _name(claim) not in users:
                    yield "devices", held, f"held by {_name(claim)}"
        explanation = told.explained.explanation
        for kind in explanation.kinds if explanation is not None and not told.fits else ():
            for step in (step for request in kind.requests for step in request.steps if step.rule in _STATUS):
                for rejection in step.rejected:
                    status = devices[rejection.example]["status"] if rejection.example else ""
                    if status and status not in _STATUS[step.rule]:
                        yield "devices", f"{rejection.example}: {status}", f"{step.rule}: {rejection.reason}"
                    self.counted["devices refused"] += 1

    # --- the cluster

    def _set_up(self, found: Inventory) -> None:
        self.there.clear()
        for each in (*found.cluster, *found.claims):
            self.there.make(each)
        for scheduler in (DEFAULT_SCHEDULER, SCHEDULER_NAME):
            self._wait_for(scheduler)

    def _wait_for(self, scheduler: str) -> None:
        """Until a scheduler has bound a pod that is made after all else; what it sees by other watches comes a little later."""
        spec = {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "c", "image": "x"}],
        }
        self.there.make({"kind": "Pod", "metadata": {"name": "settled"}, "spec": spec})
        until(lambda: bool(self.there.node("settled")), f"{scheduler} binds nothing")
        self.there.delete("Pod", "settled")
        time.sleep(0.5)

    def _scenario(self, pod: Json) -> Scenario:
        cluster = Cluster.from_kubeconfig(self.kubeconfig, feature_gates=ON)
        return cluster.scenario(list(values_in([pod], cluster.profile)))

    def _devices(self) -> dict[str, Json]:
        options = [
            "--kubeconfig",
            self.kubeconfig,
            "-o",
            "json",
            f"--feature-gates={_FLAG.partition('=')[2]}",
        ]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            claimcheck(["devices", *options])
        return {
            f"{each['driver']}/{each['pool']}/{each['device']}": each
            for each in json.loads(output.getvalue())["devices"]
        }

    def _claims_of(self, pod: Json) -> Iterator[tuple[str, Json]]:
        namespace = pod["metadata"]["namespace"]
        for each in pod["spec"]["resourceClaims"]:
            claim = self.there.get("ResourceClaim", each["resourceClaimName"], namespace)
            yield _name(claim), claim

    def _is_placed(self, pod: Json) -> bool:
        """Whether it is on a node, and its claims have devices for it."""
        if not (node := self.there.node(pod["metadata"]["name"], pod["metadata"]["namespace"])):
            return False
        claims = [Claim(each) for _, each in self._claims_of(pod)]
        known = read_node(self.there.get("Node", node))
        away = known is None or ClaimsOnNode.of(claims).is_away_from(known)
        return all(each.is_allocated for each in claims) and not away

    def _is_refused(self, pod: Json, told: Told) -> bool:
        if pod["spec"]["schedulerName"] == SCHEDULER_NAME and told.is_asked:
            return bool(self._event(pod))
        return bool(self._refusal(pod))

    def _refusal(self, pod: Json) -> Json:
        there = self.there.get("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])
        return refusal(there) or {}

    def _event(self, pod: Json) -> str:
        """What the sidecar says of it."""
        uid = self.there.get("Pod", pod["metadata"]["name"], pod["metadata"]["namespace"])["metadata"]["uid"]
        path = f"/apis/events.k8s.io/v1/namespaces/{pod['metadata']['namespace']}/events"
        events: list[Any] = self.there.client.ask(
            "GET", path, query={"fieldSelector": f"regarding.uid={uid}"}
        ).body["items"]
        notes = [each["note"] for each in events if each.get("reportingController") == "claimcheck-scheduler"]
        return notes[-1] if notes else ""


def _simulated(told: Told) -> Iterator[tuple[str, object, object]]:
    """What `simulate` says of the pod."""
    report = told.simulated()
    (placement,) = report.runs[0].placements
    if placement.node:
        devices = devices_in(dict(placement.results))
        if (placement.node, devices) != (told.node, told.devices):
            yield "simulate", (placement.node, devices), (told.first.text, told.devices)
        return
    groups = json_report.document(report)["unplaced"]
    causes = [each["causes"][0] for each in groups if each.get("causes")]
    if causes != [told.first.text]:
        yield "simulate", causes or placement.error, told.first.text


def _name(obj: Json) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


@contextlib.contextmanager
def _live() -> Iterator[LiveCluster]:
    with two_schedulers() as cluster:
        yield LiveCluster(cluster)


if __name__ == "__main__":
    sys.exit(hunt("tests.e2e.live_answers", str(__doc__), "clusters", _live()))
