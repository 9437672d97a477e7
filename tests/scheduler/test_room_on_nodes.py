"""What devices take of CPU and memory of their nodes, which filter and bind count beside what pods request (KEP-5517)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from resourceapi.objects import Object
from scheduler import group_devices
from scheduler.decisions import GROUP_SECONDS
from scheduler.extender_api import CandidateNodes, PreemptionRequest, Victims
from scheduler.filtering import Refused
from scheduler.preempting import Preemption
from scheduler.refusal_notes import case_of, note_on
from scheduler.room_on_nodes import BINDING_SECONDS, LATER_SECONDS, MOST_RESOURCES
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CORE
from tests.scheduler.small_cluster import GATES, PODS, Sidecar, claim, cluster, node_of, pod, traces
from tests.scheduler.test_pod_groups import GATES as GROUP_GATES
from tests.scheduler.test_pod_groups import group

GATE = {"DRANodeAllocatableResources": True}
STATUSES = "nodeAllocatableResourceClaimStatuses"
FOUR_CPUS = {"cpu": {"mapping": {"deviceMultiplier": "4"}}}


def scene(*objects: Object, cpu: str = "8", count: int = 3, **device: Any) -> FakeApi:
    """A node whose devices stand for 4 CPUs each, unless it is said otherwise."""
    device = {"nodeAllocatableResources": FOUR_CPUS, **device}
    api = cluster(*objects, count=count, **device)
    api.change(f"{CORE}/nodes/n1", {"status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "9"}}})
    return api


def asks(name: str, *claims: str, cpu: str = "0", **spec: Any) -> Object:
    """A pod whose container requests CPU and uses the claims."""
    uses = [{"name": each} for each in claims]
    resources = {"requests": {"cpu": cpu}, "claims": uses}
    return pod(name, *claims, containers=[{"name": "c", "image": "x", "resources": resources}], **spec)


def told(api: FakeApi, name: str) -> Any:
    """What the status of a pod says that its devices take."""
    return api.get(f"{PODS}/{name}").get("status", {}).get(STATUSES)


def refused(sidecar: Sidecar, name: str) -> dict[str, str]:
    """Why a pod fits on no node."""
    verdicts = sidecar.filter.answer(CandidateNodes(sidecar.api.get(f"{PODS}/{name}"), ("n1",)))
    assert not verdicts.fitting
    return {**verdicts.failed, **verdicts.beyond_preemption}


def test_pods_without_claims_count() -> None:
    """Those on the node; not those that have ended, or are on no node."""
    ended = {**asks("ended", cpu="8", nodeName="n1"), "status": {"phase": "Succeeded"}}
    there = asks("there", cpu="5", nodeName="n1", schedulerName="other")
    api = scene(claim("c"), asks("p", "c"), there, ended, asks("waits", cpu="8"))
    sidecar = Sidecar(api, GATE)
    assert refused(sidecar, "p") == {"n1": "Insufficient cpu"}
    api.remove(f"{PODS}/there")
    sidecar.sync()
    assert sidecar.schedule("p") == ""
    assert told(api, "p") == [
        {"resourceClaimName": "c", "containers": ["c"], "mapping": [{"name": "cpu", "quantity": "4"}]}
    ]


@pytest.mark.parametrize("gates", [{}, GATES])
def test_without_the_gate(gates: dict[str, bool]) -> None:
    """Nothing counts, nothing is written, and no pods are kept that have no claims."""
    api = scene(claim("c"), asks("p", "c"), asks("there", cpu="8", nodeName="n1"))
    sidecar = Sidecar(api, gates)
    assert list(sidecar.picture.pods.objects) == ["ns/p"]
    assert sidecar.schedule("p") == ""
    assert told(api, "p") is None


def test_node_that_comes_back_has_its_pods() -> None:
    api = scene(claim("c"), asks("p", "c"), asks("there", cpu="5", nodeName="n1"))
    sidecar = Sidecar(api, GATE)
    node = api.get(f"{CORE}/nodes/n1")
    api.remove(f"{CORE}/nodes/n1")
    sidecar.sync()
    api.add(node)
    sidecar.sync()
    assert refused(sidecar, "p") == {"n1": "Insufficient cpu"}


def test_pod_is_refused_until_there_is_room() -> None:
    """The refusal is answered from memory; kube-scheduler is to ask again once a pod has left the node."""
    api = scene(claim("c"), asks("p", "c"), asks("there", cpu="5", nodeName="n1"))
    sidecar, seen = Sidecar(api, GATE), list[Refused]()
    sidecar.filter = sidecar.filter_that_tells(seen.append)
    for _ in range(2):
        refused(sidecar, "p")
    assert len(seen) == 1
    gains = sidecar.picture.gains_for(seen[0].helped_by)
    assert gains == seen[0].gains
    api.remove(f"{PODS}/there")
    sidecar.sync()
    assert sidecar.picture.gains_for(seen[0].helped_by) > gains
    assert sidecar.schedule("p") == ""


@pytest.mark.parametrize(("mapped", "fitting"), [(True, False), (False, True)])
def test_claim_that_a_gang_shares(mapped: bool, fitting: bool) -> None:
    """Pods that are tried together cannot share what stands for CPU, as with the plugin; half of the gang was bound."""
    how: Object = {"mapping": {"deviceMultiplier": "1"}} if mapped else {"overhead": {"perPod": "1"}}
    pods = [asks(name, "s", schedulingGroup={"podGroupName": "g"}) for name in "pq"]
    api = scene(group("g", "s"), claim("s"), *pods, nodeAllocatableResources={"cpu": how})
    sidecar = Sidecar(api, {**GATE, **GROUP_GATES})
    assert [bool(sidecar.decide(name)) for name in "pq"] == [True, fitting]
    if fitting:
        assert [sidecar.bind(name) for name in "qp"] == ["", ""]


def test_claim_that_the_group_has_already() -> None:
    """A pod that comes later may use it: it is reserved for its PodGroup."""
    api = scene(group("g", "s"), claim("s"), asks("p", "s", schedulingGroup={"podGroupName": "g"}))
    sidecar = Sidecar(api, {**GATE, **GROUP_GATES})
    assert sidecar.schedule("p") == ""
    api.add(asks("q", "s", schedulingGroup={"podGroupName": "g"}))
    sidecar.sync()
    assert sidecar.schedule("q") == ""


class TestWhileAPodIsBeingBound:
    """kube-scheduler knows what its devices take only when it has seen it on its node."""

    @contextmanager
    def bound_unseen(self, *others: Object) -> Iterator[tuple[FakeApi, Sidecar]]:
        """A pod with 4 of 8 CPUs by its device, of whose Binding the picture does not know."""
        api = scene(claim("c"), claim("d"), asks("p", "c"), *others)
        sidecar = Sidecar(api, GATE)
        assert sidecar.schedule("p") == ""
        yield api, sidecar

    @pytest.mark.parametrize("claims", [(), ("d",)])
    def test_others_do_not_get_its_room(self, claims: tuple[str, ...]) -> None:
        with self.bound_unseen(asks("q", *claims, cpu="5")) as (_, sidecar):
            assert refused(sidecar, "q") == {"n1": "Insufficient cpu"}

    def test_it_counts_once(self) -> None:
        """When it is seen on its node; kube-scheduler looks after pods without claims from then on."""
        with self.bound_unseen(asks("q", "d", cpu="1"), asks("r", "d")) as (_, sidecar):
            sidecar.sync()
            assert refused(sidecar, "q") == {"n1": "Insufficient cpu"}
            assert sidecar.schedule("r") == ""

    def test_kube_scheduler_may_see_it_later(self) -> None:
        """So others do not get its room either when it has just been seen here; after that, kube-scheduler does not even ask."""
        with self.bound_unseen(asks("q", cpu="5")) as (_, sidecar):
            sidecar.sync()
            assert refused(sidecar, "q") == {"n1": "Insufficient cpu"}
            clock = sidecar.picture.room._clock
            sidecar.picture.room._clock = lambda: clock() + LATER_SECONDS
            assert sidecar.decide("q") == ["n1"]

    def test_pods_without_claims_that_fit_at_the_same_time(self) -> None:
        """The second bind finds that the first has taken the room."""
        with self.bound_unseen(asks("q", cpu="4"), asks("r", cpu="4")) as (_, sidecar):
            assert sidecar.decide("q") == sidecar.decide("r") == ["n1"]
            assert sidecar.bind("q") == ""
            assert sidecar.bind("r") == "n1 cannot take it by now: Insufficient cpu"

    def test_it_counts_no_longer_if_it_is_never_seen(self) -> None:
        with self.bound_unseen(asks("q", cpu="5")) as (api, sidecar):
            api.remove(f"{PODS}/p")
            clock = sidecar.picture.room._clock
            sidecar.picture.room._clock = lambda: clock() + BINDING_SECONDS
            assert sidecar.decide("q") == ["n1"]

    def test_pod_without_claims_counts_from_its_bind(self) -> None:
        api = scene(claim("c"), asks("p", "c"), asks("plain", cpu="5"))
        sidecar = Sidecar(api, GATE)
        assert sidecar.decide("p") == sidecar.decide("plain") == ["n1"]
        assert sidecar.bind("plain") == ""
        assert sidecar.bind("p") == "n1 cannot take it by now: Insufficient cpu"
        assert traces(api) == []
        assert told(api, "p") is None


@pytest.mark.parametrize("path", ["binding", "status"])
def test_bind_that_fails(path: str) -> None:
    """Its room is free again, and its status says nothing."""
    api = scene(claim("c"), asks("p", "c"), asks("q", cpu="8"))
    sidecar = Sidecar(api, GATE)
    sidecar.decide("p")
    api.fail(1, 403, lambda request: request.path.endswith(f"pods/p/{path}"))
    assert "injected" in sidecar.bind("p")
    assert not told(api, "p")
    assert traces(api) == []
    assert sidecar.decide("q") == ["n1"]
    sidecar.sync()
    assert sidecar.schedule("p") == ""
    assert told(api, "p")


def test_devices_that_are_taken_back() -> None:
    """A pod that has waited in vain for binding conditions says no longer what they took."""
    conditions: Object = {
        "bindsToNode": True,
        "bindingConditions": ["ready"],
        "bindingFailureConditions": ["failed"],
    }
    api = scene(claim("c"), asks("p", "c"), count=1, **conditions)
    sidecar = Sidecar(api, {**GATES, **GATE})
    assert sidecar.schedule("p").startswith("waiting for binding conditions")
    assert told(api, "p")
    sidecar.sync()
    sidecar.later(601)
    sidecar.giving_up.look()
    assert traces(api) == []
    assert told(api, "p") == []


def test_status_of_an_earlier_attempt_is_replaced() -> None:
    """The pod says that it takes something of another node, where devices take something."""
    api = scene(claim("c"), asks("p", "c"), nodeAllocatableResources={})
    other = {
        "driver": "x",
        "nodeName": "n2",
        "pool": {"name": "n2", "generation": 1, "resourceSliceCount": 1},
    }
    devices = [{"name": "d", "nodeAllocatableResources": FOUR_CPUS}]
    api.add({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n2"}, "spec": {**other, "devices": devices}})  # fmt: skip
    api.change(f"{PODS}/p", {"status": {STATUSES: [{"resourceClaimName": "c"}]}})
    sidecar = Sidecar(api, GATE)
    assert sidecar.schedule("p") == ""
    assert told(api, "p") == []


def test_event_says_what_explain_says() -> None:
    """In its words, without what others take of the node."""
    api = scene(claim("c"), asks("p", "c", cpu="1"), asks("there", cpu="5", nodeName="n1"))
    sidecar, seen = Sidecar(api, GATE), list[Refused]()
    sidecar.filter = sidecar.filter_that_tells(seen.append)
    refused(sidecar, "p")
    assert note_on(case_of(seen[0]), sidecar.picture) == (
        "does not fit on n1; Insufficient cpu with the devices of its claims"
    )


class TestPodGroup:
    """kube-scheduler binds none of the pods before all have been filtered, and does not know what their devices take."""

    def gang(self, cpu: str) -> Sidecar:
        """Two pods that need 5 CPUs each with their devices."""
        members = [
            asks(name, claim, cpu="1", schedulingGroup={"podGroupName": "g"}) for name, claim in ("pc", "qd")
        ]
        api = scene(
            group(),
            claim("c"),
            claim("d"),
            claim("e"),
            *members,
            asks("other", "e"),
            asks("plain", cpu="5"),
            cpu=cpu,
        )
        return Sidecar(api, {**GATE, "GenericWorkload": True})

    def test_pods_without_claims_do_not_wait_for_a_gang_that_does_not_fit(self) -> None:
        """The attack: what its first pods would take was counted for a minute, until a pod with claims was filtered."""
        sidecar = self.gang("9")
        assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], [])
        assert sidecar.decide("plain") == ["n1"]

    def test_pods_without_claims_wait_for_binds_of_a_gang(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """No longer than those with claims do."""
        sidecar, now = self.gang("10"), 0.0
        monkeypatch.setattr(group_devices, "monotonic", lambda: now)
        assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], ["n1"])
        assert sidecar.decide("plain") == []
        now = GROUP_SECONDS
        assert sidecar.decide("plain") == ["n1"]

    def test_what_one_takes_counts_for_the_next(self) -> None:
        sidecar = self.gang("9")
        assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], [])
        assert sidecar.decide("other") == ["n1"]

    def test_each_counts_once_when_it_is_bound(self) -> None:
        sidecar = self.gang("10")
        assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], ["n1"])
        assert [sidecar.bind(each) for each in "qp"] == ["", ""]
        assert sidecar.decide("other") == []
        sidecar.sync()
        assert refused(sidecar, "other") == {"n1": "Insufficient cpu"}


class TestPreemption:
    """kube-scheduler makes room for what pods request, and knows nothing of what devices are going to take."""

    def victims(self, cpu: str, *given: str) -> list[str]:
        """Of a pod that requests CPU beside a device that stands for 4; 6 of 8 are taken by pods of lower priority."""
        there = [asks(f"v{number}", cpu="3", nodeName="n1") for number in range(2)]
        api = scene(claim("c"), asks("p", "c", cpu=cpu, priority=10), *there)
        sidecar = Sidecar(api, GATE)
        chosen = Victims([f"uid-{each}" for each in given], 0)
        request = PreemptionRequest(api.get(f"{PODS}/p"), {"n1": chosen})
        found = Preemption(sidecar.picture, seconds=60.0).victims(request)
        return [uid for each in found.values() for uid in each.uids]

    def test_victims_that_are_enough(self) -> None:
        assert self.victims("1", "v0") == ["uid-v0"]

    def test_those_that_make_room_for_devices(self) -> None:
        """kube-scheduler has chosen as many as the pod itself needs; its plugin counts the devices as well."""
        assert self.victims("3", "v0") == ["uid-v0", "uid-v1"]

    def test_nobody_is_deleted_in_vain(self) -> None:
        assert self.victims("5", "v0", "v1") == []


def test_pods_with_many_resources() -> None:
    """Of a pod that requests huge pages of thousands of sizes, not all are kept; memory is, which comes after them."""
    sizes = {f"hugepages-{number}Mi": "1Gi" for number in range(1, 5000)}
    there = pod(
        "there",
        nodeName="n1",
        containers=[
            {"name": "c", "image": "x", "resources": {"requests": {"cpu": "5", "memory": "1Gi", **sizes}}}
        ],
    )
    api = scene(claim("c"), asks("p", "c"), there)
    sidecar = Sidecar(api, GATE)
    kept = sidecar.picture.pods.objects["ns/there"].requests
    assert len(kept) == MOST_RESOURCES
    assert kept["memory"] == 1 << 30
    assert refused(sidecar, "p") == {"n1": "Insufficient cpu"}
    assert node_of(api, "there") == "n1"
