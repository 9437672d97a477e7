"""When refused pods are woken, and when that is left to kube-scheduler."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from resourceapi.api_client import Unavailable
from resourceapi.objects import Object
from scheduler import waking
from scheduler.claim_ledger import Assumed
from scheduler.extender_api import CandidateNodes
from scheduler.filtering import Filter
from scheduler.picture_lock import SearchTime
from scheduler.waking import MOST_PODS, PAUSE_SECONDS, Waking
from tests.scheduler.test_filtering import DRIVER, NODES, Cluster, allocation, claim, node, pod, slice_of


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Sleepers:
    """A cluster whose refused pods are woken; `assumed`: an allocation that is being written."""

    assumed: Assumed

    def __init__(self, gpus: int = 0) -> None:
        self.cluster = Cluster(gpus)
        self.picture = self.cluster.picture
        self.time = Time()
        self.leads = True
        self.api_works = True
        self.waking = Waking(self.picture, self._wake, lambda: self.leads, self.time)
        self.term = 1
        self.filter = self._filter(5.0)
        self.look(10)  # a new leader wakes whoever was refused before

    def _filter(self, seconds: float) -> Filter:
        return Filter(
            self.picture,
            self.cluster.decisions,
            seconds=seconds,
            term=lambda: self.term,
            search_time=SearchTime(self.time),
            refused=self.waking.refused,
        )

    def have_no_time(self) -> None:
        """From now on, no search has an outcome."""
        self.filter = self._filter(0.0)

    def lead_again(self) -> None:
        """Lose the Lease, and get it back before anybody else has led."""
        self.leads = False
        self.look(1)
        self.leads, self.term = True, self.term + 1

    def _wake(self) -> None:
        if not self.api_works:
            raise Unavailable("no answer")

    def ask(self, asked: Object, nodes: tuple[str, ...] = NODES) -> bool:
        """Whether the pod fits somewhere."""
        self.cluster.decisions.clear()
        return bool(self.filter.answer(CandidateNodes(asked, nodes)).fitting)

    def look(self, ticks: int = 2) -> int:
        """How many times pods are woken in so many ticks."""
        before = self.waking.wake_ups
        for _ in range(ticks):
            self.time.now += 0.1
            self.waking.look()
        return self.waking.wake_ups - before


def more_devices(sleepers: Sleepers) -> None:
    """Publish a device."""
    sleepers.picture.slices.put(slice_of("n1", 2))


def allocated(name: str, *devices: str, version: int = 2) -> Object:
    """A claim with devices."""
    return {**claim(name, version=version), "status": {"allocation": allocation("n1", *devices)}}


def rule(sleepers: Sleepers) -> None:
    """Create a DeviceTaintRule."""
    taint = {"key": "k", "effect": "NoSchedule"}
    sleepers.picture.rules.put(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "r"},
            "spec": {"deviceSelector": {"driver": DRIVER}, "taint": taint},
        }
    )


def patch(sleepers: Sleepers, driver: str = DRIVER) -> None:
    filter = {"driver": driver}
    devices = {"filter": filter, "attributes": {"example.com/tier": {"string": "gold"}}}
    sleepers.picture.patches.put(
        {
            "apiVersion": "claimcheck.example.com/v1alpha3",
            "kind": "ResourceSlicePatch",
            "metadata": {"name": "p"},
            "spec": {"devices": devices},
        }
    )


CHANGES: dict[str, Callable[[Sleepers], None]] = {
    "slice": more_devices,
    "slice removed": lambda sleepers: sleepers.picture.slices.remove(slice_of("n1", 0)),
    "taint rule": rule,
    "patch": patch,
    "class": lambda sleepers: sleepers.picture.classes.remove({"metadata": {"name": "gpu"}}),
    "node": lambda sleepers: sleepers.picture.nodes.put(node("n3")),
    "devices of another claim": lambda sleepers: sleepers.picture.claim_objects.remove(
        allocated("other", "gpu-0")
    ),
    "own claim": lambda sleepers: sleepers.picture.claim_objects.remove(claim("c")),
    "allocation that was not written": lambda sleepers: sleepers.picture.claims.forget(
        "ns/assumed", sleepers.assumed
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_that_may_help_wakes_within_a_second(change: Callable[[Sleepers], None]) -> None:
    sleepers = Sleepers(gpus=1)
    for each in (claim("c", count=5), allocated("other", "gpu-0"), claim("assumed")):
        sleepers.picture.claim_objects.put(each)
    sleepers.assumed = sleepers.picture.claims.assume("ns/assumed", "uid-assumed", allocation("n2", "gpu-0"))
    assert not sleepers.ask(pod("p", "c"))
    assert sleepers.look(10) == 0, "nothing has changed"
    change(sleepers)
    assert sleepers.look(9) == 1
    assert sleepers.look(30) == 0, "one wake-up is enough"


def test_patch_of_other_devices_is_no_help() -> None:
    sleepers = Sleepers(gpus=1)
    sleepers.picture.claim_objects.put(claim("c", count=5))
    assert not sleepers.ask(pod("p", "c"))
    patch(sleepers, driver="other.example.com")
    assert sleepers.look(10) == 0
    patch(sleepers)
    assert sleepers.look(10) == 1


def test_pod_that_was_asked_about_again_is_not_woken() -> None:
    """kube-scheduler has seen the change as well, and asked when it was here already."""
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c", count=5))
    assert not sleepers.ask(pod("p", "c"))
    more_devices(sleepers)
    assert not sleepers.ask(pod("p", "c"))
    assert sleepers.look(10) == 0


def test_kube_scheduler_is_given_a_moment_to_ask_by_itself() -> None:
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c", count=5))
    sleepers.ask(pod("p", "c"))
    more_devices(sleepers)
    assert sleepers.look(1) == 0
    sleepers.ask(pod("p", "c"))
    assert sleepers.look(10) == 0


def test_claim_that_has_come_while_the_pod_was_refused_wakes() -> None:
    """Between the refusal and its being remembered."""
    sleepers = Sleepers(gpus=1)
    remember = sleepers.waking.refused

    def late(refused: object) -> None:
        sleepers.picture.claim_objects.put(claim("c"))
        remember(refused)  # type: ignore[arg-type]

    sleepers.filter = Filter(sleepers.picture, sleepers.cluster.decisions, seconds=5.0, refused=late)
    assert not sleepers.ask(pod("p", "c"))
    assert sleepers.look() == 1


def test_claim_that_is_made_wakes_pods_that_wait_for_it() -> None:
    sleepers = Sleepers(gpus=1)
    assert not sleepers.ask(pod("p", "c"))
    sleepers.picture.claim_objects.put(claim("other"))
    assert sleepers.look(10) == 0, "another claim"
    sleepers.picture.claim_objects.put(claim("c"))
    assert sleepers.look() == 1


def test_pods_are_not_looked_at_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be ten thousand, twenty times a second."""
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c", count=5))
    assert not sleepers.ask(pod("p", "c"))
    assert sleepers.look(2) == 0
    with monkeypatch.context() as patched:
        patched.setattr(waking, "_is_due", None)
        assert sleepers.look(10) == 0
    more_devices(sleepers)
    assert sleepers.look(10) == 1


def test_devices_wake_nobody_whom_they_do_not_help() -> None:
    """Every pod that was refused is asked about again each time."""
    sleepers = Sleepers()
    gpu = sleepers.picture.classes.objects["gpu"]
    sleepers.picture.classes.set("gpu", None)
    sleepers.look(10)
    sleepers.picture.claim_objects.put(claim("c"))
    assert not sleepers.ask(pod("without-class", "c"))
    assert not sleepers.ask(pod("without-claim", "d"))
    more_devices(sleepers)
    assert sleepers.look(10) == 0
    sleepers.picture.classes.set("gpu", gpu)
    assert sleepers.look(10) == 1


def test_change_of_metadata_of_the_own_claim_is_no_help() -> None:
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c"))
    sleepers.ask(pod("p", "c"))
    sleepers.picture.claim_objects.put(claim("c", version=2, annotations={"a": "b"}))
    assert sleepers.look(10) == 0


def test_many_changes_wake_twice_a_second_at_most() -> None:
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c", count=1000))
    sleepers.ask(pod("p", "c"))
    wake_ups = 0
    for count in range(100):
        sleepers.picture.slices.put(slice_of("n1", count + 1))
        sleepers.ask(pod("q", "c"))  # so that something waits on an old picture each time
        sleepers.picture.slices.put(slice_of("n2", count + 1))
        wake_ups += sleepers.look(1)
    assert 10 <= wake_ups <= 10 / PAUSE_SECONDS + 1


@pytest.mark.parametrize("gone", [True, False], ids=["deleted", "bound"])
def test_pod_that_waits_no_longer_is_forgotten(gone: bool) -> None:
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c"))
    asked = pod("p", "c")
    sleepers.picture.pods.put(asked)
    sleepers.ask(asked)
    assert len(sleepers.waking) == 1
    if gone:
        sleepers.picture.pods.remove(asked)
    else:
        sleepers.picture.pods.put({**asked, "spec": {**asked["spec"], "nodeName": "n1"}})
    assert len(sleepers.waking) == 0
    more_devices(sleepers)
    assert sleepers.look(10) == 0


def test_wake_up_that_failed_is_tried_again() -> None:
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c"))
    sleepers.ask(pod("p", "c"))
    more_devices(sleepers)
    sleepers.api_works = False
    assert sleepers.look(10) == 0
    sleepers.api_works = True
    assert sleepers.look(6) == 1


def test_new_leader_wakes_whoever_was_refused_by_the_one_before() -> None:
    sleepers = Sleepers()
    sleepers.leads = False
    assert sleepers.look(10) == 0
    sleepers.leads = True
    assert sleepers.look(10) == 1


def test_replica_that_does_not_lead_forgets_and_wakes_nobody() -> None:
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c"))
    sleepers.ask(pod("p", "c"))
    sleepers.leads = False
    more_devices(sleepers)
    assert sleepers.look(10) == 0
    assert len(sleepers.waking) == 0


@pytest.mark.parametrize("is_decided", [True, False], ids=["refused", "undecided"])
def test_replica_that_leads_again_wakes_pods_that_it_had_refused(is_decided: bool) -> None:
    """It has forgotten that they wait, so it must not answer from what it remembers of them."""
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c"))
    if not is_decided:
        sleepers.have_no_time()
    assert not sleepers.ask(pod("p", "c"))
    sleepers.lead_again()
    assert sleepers.look(1) == 1, "whoever was refused before"
    assert not sleepers.ask(pod("p", "c"))
    more_devices(sleepers)
    assert sleepers.look(20) >= 1


def test_undecided_pod_is_tried_again_after_ever_longer_pauses() -> None:
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c", count=3))
    sleepers.have_no_time()
    pauses = []
    for _ in range(8):
        assert not sleepers.ask(pod("p", "c"))
        start = sleepers.time.now
        while not sleepers.look(1):
            pass
        pauses.append(round(sleepers.time.now - start))
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_pods_beyond_the_limit_are_woken_by_any_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scheduler.waking.MOST_PODS", 2)
    assert MOST_PODS > 1000
    sleepers = Sleepers()
    sleepers.picture.claim_objects.put(claim("c"))
    for name in ("p", "q", "r"):
        sleepers.ask(pod(name, "c"))
    assert len(sleepers.waking) == 2
    for name in ("q", "r"):
        more_devices(sleepers)
        sleepers.ask(pod(name, "c"))
    assert sleepers.look(10) == 1


def test_what_keeps_pods_from_being_woken_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is tried again, until it works; where the namespace is missing, with what to do."""
    sleepers = Sleepers()
    reason = 'namespaces "claimcheck-system" not found'

    def fail() -> None:
        raise Unavailable(f"POST /x: 404, {reason}", reason=reason)

    for _ in range(2):
        caplog.clear()
        monkeypatch.setattr(sleepers.waking, "_wake", fail)
        sleepers.lead_again()
        sleepers.look(100)
        (record,) = caplog.records
        assert record.message == "pods not woken"
        assert record.__dict__["fields"] == {
            "reason": reason,
            "hint": "kubectl create namespace claimcheck-system, or name another one in leaderElection.namespace",
        }
        monkeypatch.setattr(sleepers.waking, "_wake", lambda: None)
        assert sleepers.look(10) == 1
