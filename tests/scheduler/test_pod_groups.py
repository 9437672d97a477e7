"""Pods of PodGroups, which kube-scheduler filters all before it binds one: their devices, and for whom claims are reserved."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import Any

import pytest

from resourceapi.objects import Object
from resourceapi.records.pods import Pod, read_pod
from scheduler import group_devices
from scheduler.claim_ledger import Assumed
from scheduler.decisions import GROUP_SECONDS
from scheduler.extender_api import CandidateNodes
from scheduler.filtering import Filter
from scheduler.group_devices import HALF_BOUND_SECONDS, GroupDevices
from scheduler.picture_lock import PictureLock, SearchTime
from scheduler.refusal_notes import Case, note_on
from tests.scheduler.fake_faults import Request
from tests.scheduler.small_cluster import (
    CLAIMS,
    PODS,
    Sidecar,
    asking,
    assert_nothing_twice,
    assert_used_claims_hold,
    claim,
    cluster,
    devices_of,
    node_of,
    pod,
    traces,
)
from tests.scheduler.test_prescheduled import Looking

GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/ns/podgroups"
GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}


def group(name: str = "g", *claims: str) -> Object:
    """A gang of two that shares claims."""
    entries = [{"name": each, "resourceClaimName": each} for each in claims]
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "resourceClaims": entries},
    }


def member(name: str, *claims: str) -> Object:
    """A pod of the group."""
    return pod(name, *claims, schedulingGroup={"podGroupName": "g"})


def sidecar_with(*objects: Object, **more: Any) -> Sidecar:
    """A sidecar of a cluster where the gates are on."""
    return Sidecar(cluster(*objects, **more), GATES)


def users(sidecar: Sidecar, name: str) -> list[tuple[str, str]]:
    """For whom a claim is reserved."""
    status = sidecar.api.get(f"{CLAIMS}/{name}")["status"]
    return [(each["resource"], each["name"]) for each in status["reservedFor"]]


def test_the_pods_get_different_devices() -> None:
    """What one pod of a group is going to get counts as taken for the next, before anything is bound."""
    sidecar = sidecar_with(group(), claim("c"), claim("d"), member("p", "c"), member("q", "d"))
    assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], ["n1"])
    assert [sidecar.bind(each) for each in "qp"] == ["", ""]
    assert {node_of(sidecar.api, each) for each in "pq"} == {"n1"}
    assert_nothing_twice(sidecar.api)


@pytest.mark.parametrize(("count", "fitting"), [(2, [["n1"], ["n1"]]), (1, [["n1"], []])])
def test_claims_are_made_for_a_gang(count: int, fitting: list[list[str]]) -> None:
    """What is found for the extended resources of one pod counts as taken for the next, although its claim does not exist."""
    members = [asking(name, main=1) for name in ("p", "q")]
    for each in members:
        each["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    sidecar = sidecar_with(group(), *members, count=count)
    assert [sidecar.decide(each) for each in "pq"] == fitting
    if count == 2:
        assert [sidecar.bind(each) for each in "qp"] == ["", ""]
        assert_nothing_twice(sidecar.api)
        assert_used_claims_hold(sidecar.api)


def test_no_half_gang_is_bound() -> None:
    """With devices for one pod, the other does not fit, so that kube-scheduler binds none; then another pod may have them."""
    objects = (claim("c"), claim("d"), claim("e"), member("p", "c"), member("q", "d"), pod("other", "e"))
    sidecar = sidecar_with(group(), *objects, count=1)
    assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], [])
    assert sidecar.schedule("other") == ""
    assert (sidecar.decide("p"), sidecar.decide("q")) == ([], [])


class Late:
    """A gang that has the only device and is never bound, as there is none for its other pod; and a pod on the node."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        gang = (group(), claim("c"), claim("d"), member("p", "c"), member("q", "d"))
        self.api = cluster(*gang, claim("e"), pod("victim", "e", nodeName="n1"), count=1)
        self.looking = Looking(self.api, GATES)
        self.sidecar = self.looking.sidecar
        monkeypatch.setattr(group_devices, "monotonic", lambda: self.looking.now)
        assert (self.sidecar.decide("p"), self.sidecar.decide("q")) == (["n1"], [])
        self.looking.look()
        assert not self.has_device()

    def has_device(self) -> bool:
        """Whether the pod on the node has it."""
        return bool(devices_of(self.api.get(f"{CLAIMS}/e")))


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Late:
    return Late(monkeypatch)


def test_a_pod_on_a_node_gets_what_a_filter_drops(late: Late) -> None:
    """It was not tried again: that a gang lets go of devices wakes nobody."""
    late.api.add(claim("f"))
    late.api.add(pod("other", "f"))
    late.sidecar.sync()
    late.sidecar.picture.group_devices.begin(read_pod(late.api.get(f"{PODS}/other")))
    late.looking.look()
    assert late.has_device()


@pytest.mark.parametrize("deleted", [f"{PODS}/p", f"{PODS}/q", f"{GROUPS}/g"])
def test_nothing_is_held_for_a_gang_that_is_deleted(late: Late, deleted: str) -> None:
    """Nor for one of which a pod is."""
    late.api.remove(deleted)
    late.looking.look()
    assert late.has_device()


def test_nothing_is_held_for_long(late: Late) -> None:
    """After as long as binds of a gang are waited for, a pod on a node may have it; the gang is refused then."""
    late.looking.now = GROUP_SECONDS - 0.1
    late.looking.look()
    assert not late.has_device()
    late.looking.now = GROUP_SECONDS
    late.looking.look()
    assert late.has_device()
    assert late.sidecar.bind("p") != ""
    assert_nothing_twice(late.api)


def test_a_gang_pays_for_what_is_dropped_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a gang with tens of thousands of claims made the namespace of the next pod pause."""
    sidecar = sidecar_with(group(), claim("c"), member("p", "c"))
    picture, search_time, now = sidecar.picture, SearchTime(lambda: 0.0), 0.0
    picture.lock = PictureLock(lambda: now)
    deciding = Filter(picture, sidecar.decisions, seconds=60.0, search_time=search_time)
    withdraw = picture.claims.withdraw

    def slow(key: str, assumed: Assumed) -> None:
        nonlocal now
        now += 1
        withdraw(key, assumed)

    monkeypatch.setattr(picture.claims, "withdraw", slow)
    assert deciding.answer(CandidateNodes(member("p", "c"), ("n1",))).fitting == ("n1",)
    sidecar.decisions.clear()
    other = pod("other", "missing")
    other["metadata"]["namespace"] = "other"
    deciding.answer(CandidateNodes(other, ("n1",)))
    assert search_time._paused_until.keys() == {"ns"}


def test_a_claim_shared_with_a_gang_that_is_never_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held for it does not count as what the pod on the node was to get: that pod was not looked at any more."""
    gang = (group(), claim("c"), claim("d"), member("p", "c"), member("q", "d"))
    api = cluster(*gang, pod("sharing", "c", nodeName="n1"), count=1)
    looking = Looking(api, GATES)
    monkeypatch.setattr(group_devices, "monotonic", lambda: looking.now)
    assert (looking.sidecar.decide("p"), looking.sidecar.decide("q")) == (["n1"], [])
    looking.look()
    assert not devices_of(api.get(f"{CLAIMS}/c"))
    looking.now = GROUP_SECONDS
    looking.look()
    assert devices_of(api.get(f"{CLAIMS}/c"))


def test_pods_on_nodes_do_not_pay_for_the_claims_of_a_gang(
    late: Late, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack: for each pod on a node that waits, all claims of gangs were gone through, at the expense of its namespace."""
    asked: list[Pod] = []

    def kept_from(_: GroupDevices, pod: Pod) -> Collection[str]:
        asked.append(pod)
        return ()

    monkeypatch.setattr(GroupDevices, "kept_from", kept_from)
    late.looking.look()
    assert not asked
    assert not late.has_device()


def test_what_is_held_is_no_reason_for_others(late: Late) -> None:
    """No event says that a pod would fit without a claim that has no devices, of whatever namespace; a pod of the group is told so."""
    stranger, own = pod("stranger", "e"), claim("e")
    for each in (stranger, own):
        each["metadata"]["namespace"] = "others"
    late.sidecar.picture.claim_objects.put(own)
    notes = [
        note_on(Case(read_pod(each), ("n1",), 1), late.sidecar.picture)
        for each in (late.api.get(f"{PODS}/victim"), stranger, late.api.get(f"{PODS}/q"))
    ]
    assert notes[:2] == ["", ""]
    assert "it would fit if claim ns/c were deleted" in notes[2]


def test_pods_on_nodes_are_counted_as_they_come_and_go() -> None:
    """Those of others may be tens of thousands: to look through them failed while they changed, and was charged to the gang."""
    sidecar = sidecar_with(group(), claim("c"), member("p", "c"), pod("other", "c"))
    assert not sidecar.picture.placed
    for name in ("p", "other"):
        sidecar.api.change(f"{PODS}/{name}", {"spec": {"nodeName": "n1"}})
    sidecar.sync()
    assert sidecar.picture.placed == {"ns/g": 1}
    sidecar.api.remove(f"{PODS}/p")
    sidecar.sync()
    assert not sidecar.picture.placed


def test_nothing_is_remembered_of_pods_without_a_group() -> None:
    """There are ever new ones."""
    sidecar = sidecar_with(claim("c"), claim("d"), pod("p", "c"), pod("q", "d"))
    for name in "pq":
        sidecar.decide(name)
    assert not sidecar.picture.group_devices._pods


def test_the_group_is_tried_again() -> None:
    """What an attempt has found counts no longer in the next one of the same group."""
    sidecar = sidecar_with(group(), claim("c"), claim("d"), member("p", "c"), member("q", "d"), count=1)
    for _ in range(2):
        assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], [])
    assert (sidecar.decide("q"), sidecar.decide("p")) == (["n1"], [])


def test_a_pod_gets_one_node() -> None:
    """kube-scheduler does not say which node it takes, so it gets one to choose from."""
    sidecar = sidecar_with(
        group(), claim("c"), member("p", "c"), claim("d"), pod("other", "d"), nodes=("n1", "n2")
    )
    assert sidecar.decide("p") == ["n1"]
    assert sidecar.decide("other") == ["n1", "n2"]


@pytest.mark.parametrize("order", list(itertools.permutations("pqr")), ids="".join)
def test_a_claim_of_the_group(order: tuple[str, ...]) -> None:
    """It is allocated once, and reserved for the group, in whatever order the binds come."""
    sidecar = sidecar_with(group("g", "c"), claim("c"), *(member(each, "c") for each in "pqr"), count=1)
    assert [sidecar.decide(each) for each in "pqr"] == [["n1"]] * 3
    assert [sidecar.bind(each) for each in order] == ["", "", ""]
    assert devices_of(sidecar.api.get(f"{CLAIMS}/c")) == ["n1/gpu-0"]
    assert users(sidecar, "c") == [("podgroups", "g")]


def test_a_claim_that_the_pods_name_themselves() -> None:
    """It is reserved for each of them, as the group does not have it."""
    sidecar = sidecar_with(group(), claim("c"), member("p", "c"), member("q", "c"), count=1)
    assert [sidecar.decide(each) for each in "pq"] == [["n1"]] * 2
    assert [sidecar.bind(each) for each in "qp"] == ["", ""]
    assert sorted(users(sidecar, "c")) == [("pods", "p"), ("pods", "q")]


@pytest.mark.parametrize(("owner", "fitting"), [("g", ["n1"]), ("other", [])])
def test_a_claim_made_for_the_group(owner: str, fitting: list[str]) -> None:
    """A claim from a template that has been made for the pod's group is the pod's."""
    made_by = {"kind": "PodGroup", "name": owner, "uid": f"uid-{owner}", "controller": True}
    asking = member("p")
    asking["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    asking["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
    sidecar = sidecar_with(group(), claim("c", metadata={"ownerReferences": [made_by]}), asking)
    assert sidecar.decide("p") == fitting


def test_a_failed_bind_leaves_the_group_its_claim() -> None:
    """Other pods of the group may use it, as kube-scheduler's own plugin leaves it to them."""
    sidecar = sidecar_with(group("g", "c"), claim("c"), member("p", "c"), member("q", "c"))
    assert [sidecar.decide(each) for each in "pq"] == [["n1"]] * 2
    sidecar.api.request("DELETE", f"{PODS}/p")
    assert sidecar.bind("p") != ""
    assert sidecar.bind("q") == ""
    assert traces(sidecar.api)[1:] == ["c: n1/gpu-0", "c: for g"]


def test_a_claim_that_is_made_anew_while_devices_are_held_for_it() -> None:
    """The attack: dropping what was held for the gang let those devices count as free that were being written for a pod on a node."""
    gang = (group(), claim("c"), claim("d"), member("p", "c"), member("q", "d"))
    api = cluster(*gang, claim("e"), pod("victim", "e"), count=1)
    looking = Looking(api, GATES)
    sidecar = looking.sidecar
    assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], [])
    api.remove(f"{CLAIMS}/c")
    api.add(claim("c"))
    api.add(pod("own", "c", nodeName="n1"))
    placed: list[str] = []

    def meanwhile(request: Request) -> None:
        if request.path.endswith("/c/status") and not placed:
            placed.append("is tried")
            placed.append(sidecar.schedule("victim"))

    api.hooks.append(meanwhile)
    looking.look()
    assert devices_of(api.get(f"{CLAIMS}/c")) == ["n1/gpu-0"]
    assert_nothing_twice(api)
    assert placed == ["is tried", "does not fit"]


class Complete:
    """A gang that fits, with three devices on the node; of a third pod it needs none."""

    objects = (
        *(group(), claim("c"), claim("d"), claim("e")),
        *(member("p", "c"), member("q", "d"), pod("other", "e")),
    )

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sidecar = sidecar_with(*self.objects)
        self.now = 100.0
        monkeypatch.setattr(group_devices, "monotonic", lambda: self.now)
        assert [self.sidecar.decide(each) for each in "pq"] == [["n1"], ["n1"]]


@pytest.fixture
def complete(monkeypatch: pytest.MonkeyPatch) -> Complete:
    return Complete(monkeypatch)


@pytest.mark.parametrize("first", ["", "p", "q"])
def test_a_gang_that_fits_is_bound_whoever_comes_between(complete: Complete, first: str) -> None:
    """Other binds of its namespace may be late, so that the next pod is filtered before it is bound; half of it was."""
    sidecar = complete.sidecar
    if first:
        assert sidecar.bind(first) == ""
    assert sidecar.decide("other") == []
    assert [sidecar.bind(each) for each in "pq" if each != first] == [""] * (1 if first else 2)
    assert_nothing_twice(sidecar.api)
    assert not sidecar.picture.group_devices._binding


@pytest.mark.parametrize(
    ("bound", "seconds", "fitting"),
    [
        ("", GROUP_SECONDS - 0.1, []),
        ("", GROUP_SECONDS, ["n1"]),
        ("p", GROUP_SECONDS, []),
        ("p", HALF_BOUND_SECONDS - 0.1, []),
        ("p", HALF_BOUND_SECONDS, ["n1"]),
    ],
)
@pytest.mark.parametrize("between", [True, False])
def test_how_long_a_gang_is_waited_for(
    complete: Complete, bound: str, seconds: float, fitting: list[str], between: bool
) -> None:
    """Longer if a pod of it is bound: kube-scheduler may have ended. Who was refused meanwhile is woken then."""
    sidecar = complete.sidecar
    for name in bound:
        assert sidecar.bind(name) == ""
    gains = sidecar.picture.gains
    if between:
        assert sidecar.decide("other") == []
    complete.now += seconds
    assert sidecar.decide("other") == fitting
    if between and fitting:
        assert sidecar.picture.gains > gains
    assert_nothing_twice(sidecar.api)


@pytest.mark.parametrize("between", [True, False])
@pytest.mark.parametrize(("bound", "seconds"), [("", GROUP_SECONDS), ("p", HALF_BOUND_SECONDS)])
def test_nobody_has_to_come_by_for_a_gang_that_is_late(
    monkeypatch: pytest.MonkeyPatch, bound: str, seconds: float, between: bool
) -> None:
    """The attack: a pod that was refused for a gang that fits and is never bound was not woken, as no other one was filtered."""
    looking = Looking(cluster(*Complete.objects), GATES)
    sidecar = looking.sidecar
    monkeypatch.setattr(group_devices, "monotonic", lambda: looking.now)
    assert [sidecar.decide(each) for each in "pq"] == [["n1"], ["n1"]]
    if between:
        assert sidecar.decide("other") == []
    for name in bound:
        assert sidecar.bind(name) == ""
    looking.look()
    gains = sidecar.picture.gains
    looking.now = seconds - 0.1
    looking.look()
    assert sidecar.picture.gains == gains
    looking.now = seconds
    looking.look()
    assert sidecar.picture.gains > gains
    assert sidecar.decide("other") == ["n1"]


def test_a_gang_that_is_still_looked_at_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause between two of its filters lets no later one have the devices of an earlier one."""
    looking = Looking(cluster(*Complete.objects, count=1), GATES)
    monkeypatch.setattr(group_devices, "monotonic", lambda: looking.now)
    assert looking.sidecar.decide("p") == ["n1"]
    looking.now = GROUP_SECONDS
    looking.look()
    assert looking.sidecar.decide("q") == []


def test_the_rest_of_a_gang_is_tried_again(complete: Complete) -> None:
    """Whoever comes first after a new start of kube-scheduler: what was found for a pod is for that pod."""
    sidecar = complete.sidecar
    assert sidecar.bind("p") == ""
    sidecar.api.change(f"{PODS}/p", {"spec": {"nodeName": "n1"}})
    sidecar.sync()
    assert (sidecar.decide("other"), sidecar.decide("q")) == ([], ["n1"])
    assert (sidecar.decide("other"), sidecar.bind("q")) == ([], "")
    assert_nothing_twice(sidecar.api)


@pytest.mark.parametrize("deleted", [f"{PODS}/q", f"{GROUPS}/g"])
def test_nothing_is_held_for_the_rest_of_a_gang_that_is_deleted(complete: Complete, deleted: str) -> None:
    """Another pod has the device at once, and is woken for it."""
    sidecar = complete.sidecar
    assert sidecar.bind("p") == ""
    assert sidecar.decide("other") == []
    gains = sidecar.picture.gains
    sidecar.api.remove(deleted)
    sidecar.sync()
    assert sidecar.picture.gains > gains
    assert sidecar.decide("other") == ["n1"]


def test_a_gang_pays_for_what_is_dropped_when_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the namespace whose pod comes next."""
    complete = Complete(monkeypatch)
    picture, search_time, now = complete.sidecar.picture, SearchTime(lambda: 0.0), 0.0
    picture.lock = PictureLock(lambda: now)
    deciding = Filter(picture, complete.sidecar.decisions, seconds=60.0, search_time=search_time)
    other = pod("other", "missing")
    other["metadata"]["namespace"] = "other"
    complete.sidecar.decisions.clear()
    deciding.answer(CandidateNodes(other, ("n1",)))
    complete.now += GROUP_SECONDS
    forget = picture.claims.forget

    def slow(key: str, assumed: Assumed) -> None:
        nonlocal now
        now += 0.5
        forget(key, assumed)

    monkeypatch.setattr(picture.claims, "forget", slow)
    deciding.answer(CandidateNodes(other, ("n1",)))
    assert search_time._paused_until.keys() == {"ns"}
