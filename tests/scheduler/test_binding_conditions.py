"""Devices with binding conditions keep a pod waiting, not a worker, and not for ever."""

from __future__ import annotations

import pytest

import resourceapi.records.claims as records
from allocator.scheduling_outcome import device_reason
from resourceapi.objects import Object
from scheduler.claim_writes import FINALIZER
from scheduler.extender_api import CandidateNodes, Verdicts
from scheduler.filtering import Refused
from scheduler.releasing import Releasing
from scheduler.waking import Waking
from tests.scheduler.fake_faults import Fault
from tests.scheduler.small_cluster import (
    CLAIMS,
    PODS,
    TIMEOUT,
    Sidecar,
    claim,
    cluster,
    in_time,
    node_of,
    pod,
    traces,
)

OPEN = "attached of gpu.example.com/n1/gpu-0 (claim ns/c) is not set"
WAITING = f"waiting for binding conditions: {OPEN}"
FAILED = "a binding condition says that it has failed: broken of gpu.example.com/n1/gpu-0 (claim ns/c) is True (R: m)"
LATE = f"binding conditions are not met after {TIMEOUT} s: {OPEN}"
HELD = [f"c: {FINALIZER}", "c: n1/gpu-0"]


class Scene:
    """Pods that wait for a device of the first of two nodes."""

    def __init__(self, *pods: str) -> None:
        self.api = cluster(
            claim("c"),
            *(pod(name, "c") for name in pods),
            nodes=("n1", "n2"),
            bindsToNode=True,
            bindingConditions=["attached"],
            bindingFailureConditions=["broken"],
        )
        self.sidecar = Sidecar(self.api)
        self.now = 0.0
        self.waking = Waking(self.sidecar.picture, lambda: None, clock=lambda: self.now)
        self.releasing = Releasing(self.sidecar.picture, self.sidecar.releaser)
        self.sidecar.filter = self.sidecar.filter_that_tells(self._refused)
        for name in pods:
            assert self.sidecar.schedule(name) == WAITING
        self.sidecar.sync()
        self.wake_ups()  # a new leader wakes whoever was refused before
        del self.api.requests[:]

    def _refused(self, refused: Refused) -> None:
        self.waking.refused(refused)
        self.releasing.refused(refused)

    def ask(self, *nodes: str, name: str = "p") -> Verdicts:
        """What kube-scheduler is told of a pod."""
        return self.sidecar.filter.answer(CandidateNodes(self.api.get(f"{PODS}/{name}"), nodes))

    def condition(self, name: str) -> None:
        """What the driver says."""
        found = {"type": name, "status": "True", "reason": "R", "message": "m"}
        device = {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
        status = {**device, "conditions": [{**found, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
        self.api.change(f"{CLAIMS}/c", {"status": {"devices": [status]}})
        self.sidecar.sync()

    def wake_ups(self) -> int:
        """How often pods are woken in the next second."""
        before = self.waking.wake_ups
        for _ in range(10):
            self.now += 0.1
            self.waking.look()
        return self.waking.wake_ups - before

    def look(self) -> list[str]:
        """What is said of pods whose devices are taken back."""
        del self.sidecar.told[:]
        self.sidecar.giving_up.look()
        self.sidecar.sync()
        return self.sidecar.told


def test_filter_says_what_a_pod_waits_for() -> None:
    """It costs no request, and the next pod does not wait for a bind that will not come."""
    scene = Scene("p")
    scene.sidecar.later(TIMEOUT)
    away = device_reason("resourceclaim not available on the node")
    assert scene.ask("n1", "n2") == Verdicts((), {}, {"n1": WAITING, "n2": away})
    assert scene.sidecar.decisions.get("uid-p") is None
    scene.releasing.release()
    assert scene.look() == []
    assert scene.api.requests == []
    assert traces(scene.api) == [*HELD, "c: for p"]


def test_a_pod_is_woken_and_bound_once_the_conditions_are_met() -> None:
    scene = Scene("p")
    scene.ask("n1", "n2")
    assert scene.wake_ups() == 0
    scene.condition("attached")
    assert scene.wake_ups() == 1
    assert scene.sidecar.schedule("p") == ""
    assert node_of(scene.api, "p") == "n1"
    scene.sidecar.sync()
    scene.sidecar.later(TIMEOUT + 1)
    scene.condition("broken")
    assert scene.look() == []
    assert traces(scene.api) == [*HELD, "c: for p"]


def test_claims_to_which_others_write_are_looked_at_again_later() -> None:
    scene = Scene("p")
    scene.condition("broken")
    with scene.sidecar.undoing.holding(["ns/c"], waits=True):
        in_time(scene.look)
        assert scene.sidecar.told == []
    assert scene.look() == [f"p: {FAILED}"]


def fails(scene: Scene) -> None:
    scene.condition("broken")


def takes_too_long(scene: Scene) -> None:
    scene.sidecar.later(TIMEOUT + 1)


def is_allocated_at(scene: Scene, time: str) -> None:
    scene.api.change(f"{CLAIMS}/c", {"status": {"allocation": {"allocationTimestamp": time}}})
    scene.sidecar.sync()


def is_allocated_before_all_times(scene: Scene) -> None:
    is_allocated_at(scene, "0000-01-01T00:00:00Z")


IN_VAIN = {
    "failed": (fails, FAILED),
    "late": (takes_too_long, LATE),
    "before all times": (is_allocated_before_all_times, LATE),
}


@pytest.mark.parametrize(("event", "reason"), IN_VAIN.values(), ids=IN_VAIN)
def test_devices_are_taken_back_whether_or_not_kube_scheduler_asks(event: object, reason: str) -> None:
    """The pod is told of, and woken; the next attempt looks for devices anew."""
    scene = Scene("p")
    scene.ask("n1", "n2")
    event(scene)  # type: ignore[operator]
    assert scene.ask("n1").beyond_preemption == {"n1": reason}
    assert scene.look() == [f"p: {reason}"]
    assert traces(scene.api) == []
    assert "devices" not in scene.api.get(f"{CLAIMS}/c").get("status", {})
    assert scene.wake_ups() == 1
    assert scene.look() == []
    assert scene.sidecar.schedule("p") == WAITING


def test_waiting_begins_anew_with_other_devices() -> None:
    scene = Scene("p")
    takes_too_long(scene)
    scene.look()
    assert scene.sidecar.schedule("p") == WAITING
    scene.sidecar.sync()
    assert scene.look() == []


def test_pods_that_share_a_claim_give_up_one_after_the_other() -> None:
    """Devices are taken back with the last reservation; what others use stays."""
    scene = Scene("p", "q")
    takes_too_long(scene)
    scene.api.change(f"{PODS}/q", {"spec": {"schedulerName": "another"}})
    scene.sidecar.sync()
    assert scene.look() == [f"p: {LATE}"]
    assert traces(scene.api) == [*HELD, "c: for q"]
    scene = Scene("p", "q")
    takes_too_long(scene)
    assert len(scene.look()) == 2
    assert traces(scene.api) == []


def test_the_last_of_all_times() -> None:
    """Whoever may write the status of a claim may write it."""
    scene = Scene("p")
    is_allocated_at(scene, "9999-12-31T23:59:59Z")
    assert scene.ask("n1").beyond_preemption == {"n1": WAITING}


LEFT_ALONE = {
    "of another scheduler": {"spec": {"schedulerName": "another"}},
    "on a node": {"spec": {"nodeName": "n1"}},
    "leaving": {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
}


@pytest.mark.parametrize("change", LEFT_ALONE.values(), ids=LEFT_ALONE)
@pytest.mark.parametrize("is_seen", [True, False])
def test_other_pods_keep_their_devices(change: Object, is_seen: bool) -> None:
    """Also if the Binding has arrived, but the event about it has not."""
    scene = Scene("p")
    takes_too_long(scene)
    scene.api.change(f"{PODS}/p", change)
    if is_seen or "nodeName" not in change.get("spec", {}):
        scene.sidecar.sync()
    assert scene.look() == []
    assert traces(scene.api) == [*HELD, "c: for p"]


def test_only_the_leader_gives_up() -> None:
    scene = Scene("p")
    takes_too_long(scene)
    scene.sidecar.leader.leads = False
    assert scene.look() == []
    assert scene.api.requests == []


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.LOST, Fault.TWICE, 409, 500], ids=str)
@pytest.mark.parametrize("nth", range(1, 6))
def test_a_request_fails(nth: int, fault: Fault | int) -> None:
    """It is tried again until nothing is left."""
    scene = Scene("p")
    takes_too_long(scene)
    scene.api.fail(nth, fault)
    scene.look()
    scene.sidecar.undoing.retry()
    scene.look()
    assert traces(scene.api) == []
    assert len(scene.sidecar.undoing) == 0


def test_claims_without_conditions_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a second all pods that wait are looked at: thousands may name a hundred claims each."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c"), pod("q", "c")))
    assert sidecar.schedule("p") == ""
    sidecar.sync()
    read: list[str] = []
    monkeypatch.setattr(sidecar.picture.claims, "get", read.append)
    sidecar.giving_up.look()
    assert not read


def test_nobody_reads_for_whom_a_claim_is_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod may name 128 claims that 256 others use: its filter, and whoever looks after it, only ask whether it is among them."""
    scene = Scene("p")
    read: list[object] = []
    monkeypatch.setattr(records, "Consumer", lambda *values: read.append(values))
    scene.ask("n1", "n2")
    scene.look()
    assert not read
