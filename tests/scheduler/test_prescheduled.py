"""Pods that are created on a node get devices there, as soon as that can be."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.limits import RESERVED_FOR
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from scheduler import prescheduled
from scheduler.claim_ledger import ClaimLedger
from scheduler.claim_writes import FINALIZER
from scheduler.pod_claims import claims_for
from scheduler.prescheduled import (
    LOOK_SECONDS,
    QUIET_SECONDS,
    REPEAT_SECONDS,
    TURN_SECONDS,
    PreScheduledPods,
)
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault, Request
from tests.scheduler.small_cluster import (
    CLAIMS,
    GATES,
    PODS,
    Sidecar,
    assert_nothing_twice,
    assert_used_claims_hold,
    claim,
    cluster,
    devices_of,
    in_time,
    node,
    pod,
    traces,
)


class Looking:
    """A sidecar that looks after pods on nodes, and what it says."""

    def __init__(self, api: FakeApi, gates: dict[str, bool] = GATES) -> None:
        self.sidecar = Sidecar(api, gates)
        self.told: list[str] = []
        self.now = 0.0
        self.pods = PreScheduledPods(
            self.sidecar.picture,
            self.sidecar.writes,
            self.sidecar.undoing,
            self.sidecar.leader,
            scheduler_name="claimcheck",
            seconds=60.0,
            tell=self._tell,
            clock=lambda: self.now,
        )

    def _tell(self, pod: Pod, words: str) -> None:
        self.told.append(f"{pod.name}: {words}")

    def look(self) -> None:
        self.sidecar.sync()
        self.pods.look()

    def said(self, seconds: float = QUIET_SECONDS) -> list[str]:
        """What is said of pods after so many seconds."""
        del self.told[:]
        self.now += seconds
        self.look()
        return self.told


def test_claims_get_devices_on_the_node() -> None:
    """Written as bind writes them, without a Binding."""
    api = cluster(claim("c"), pod("p", "c", nodeName="n2"), nodes=("n1", "n2"))
    looking = Looking(api)
    looking.look()
    assert [each.verb for each in api.requests] == ["PATCH", "PUT"]
    assert devices_of(api.get(f"{CLAIMS}/c")) == ["n2/gpu-0"]
    assert_used_claims_hold(api)
    looking.look()
    assert len(api.requests) == 2
    assert (len(looking.pods), looking.told) == (0, [])


@pytest.mark.parametrize(
    "left_alone",
    [
        pod("p", "c"),
        pod("p", "c", nodeName="n1", schedulerName="default-scheduler"),
        {**pod("p", "c", nodeName="n1"), "status": {"phase": "Succeeded"}},
        pod("p", nodeName="n1"),
    ],
)
def test_other_pods_are_left_alone(left_alone: Object) -> None:
    """Those of other schedulers, those that are over, those that kube-scheduler places."""
    api = cluster(claim("c"), left_alone)
    Looking(api).look()
    assert api.requests == []


def test_reservations_of_claims_with_devices_are_for_others_to_write() -> None:
    """kube-controller-manager does that."""
    api = cluster(claim("c"), pod("o", "c"), pod("p", "c", nodeName="n1"))
    looking = Looking(api)
    assert looking.sidecar.schedule("o") == ""
    del api.requests[:]
    looking.look()
    assert (api.requests, len(looking.pods)) == ([], 0)


def test_claims_to_which_others_write_are_not_waited_for() -> None:
    """Other pods have theirs meanwhile; the pod's turn comes again."""
    api = cluster(claim("c"), claim("d"), pod("first", "c", nodeName="n1"), pod("second", "d", nodeName="n1"))
    looking = Looking(api)
    with looking.sidecar.undoing.holding(["ns/c"], waits=True):
        in_time(looking.look)
        assert devices_of(api.get(f"{CLAIMS}/d")) == ["n1/gpu-0"]
    assert devices_of(api.get(f"{CLAIMS}/c")) == []
    looking.look()
    assert devices_of(api.get(f"{CLAIMS}/c")) == ["n1/gpu-1"]


def test_namespaces_take_turns() -> None:
    """Each pod of one of them takes as long as a namespace may in a look: one a look, in their order, and another's pod in each."""
    mine = pod("mine", "c", nodeName="n1")
    mine["metadata"]["namespace"] = "other"
    own = claim("c")
    own["metadata"]["namespace"] = "other"
    names = ["p0", "p1", "p2"]
    api = cluster(
        *(claim(name) for name in names), *(pod(name, name, nodeName="n1") for name in names), count=4
    )
    looking = Looking(api)
    served: list[str] = []

    def takes_time(request: Request) -> None:
        if request.verb == "PUT":
            served.append(request.path.split("/")[-2])
            looking.now += TURN_SECONDS

    api.hooks.append(takes_time)
    looking.look()
    assert served == ["p0"]
    api.add(own)
    api.add(mine)
    looking.look()
    assert served == ["p0", "p1", "c"]
    looking.look()
    assert served == ["p0", "p1", "c", "p2"]


def test_pods_of_many_namespaces_do_not_wait_for_all_of_another() -> None:
    """The attack: pods on a node in dozens of namespaces, each of which had a second before others did."""
    names = [f"p{number}" for number in range(5)]
    made = [each for name in names for each in (claim(name), pod(name, name, nodeName="n1"))]
    evil = [
        {**each, "metadata": {**each["metadata"], "namespace": f"evil{number}", "uid": f"{number}"}}
        for number in range(15)
        for each in made
    ]
    looking = Looking(cluster(*evil, claim("c"), pod("mine", "c", nodeName="n1"), count=100))
    served: list[str] = []

    def takes_time(request: Request) -> None:
        if request.verb == "PUT":
            served.append(request.path.split("/")[-2])
            looking.now += 0.1

    looking.sidecar.api.hooks.append(takes_time)
    looking.look()
    assert "c" in served
    assert len(served) == pytest.approx(LOOK_SECONDS / 0.1, abs=1)
    while len(looking.pods):
        looking.look()
    assert len(served) == len(evil) / 2 + 1


def test_a_pod_waits_for_claims_that_do_not_exist() -> None:
    """The reason is said after some seconds, and again before the event about it is forgotten."""
    api = cluster(pod("p", "c", nodeName="n1"))
    looking = Looking(api)
    assert looking.said() == [], "it may have been made just now"
    assert looking.said() == ["p: waiting for ResourceClaim 'c', which does not exist"]
    assert looking.said() == []
    assert len(looking.said(REPEAT_SECONDS)) == 1
    assert looking.said() == []
    api.add(claim("c"))
    looking.look()
    assert_used_claims_hold(api)


def test_a_pod_waits_for_devices() -> None:
    """It is looked for again when something has changed that could help."""
    api = cluster(claim("c", 2), claim("d"), pod("p", "c", nodeName="n1"), pod("q", "d"))
    looking = Looking(api)
    assert looking.sidecar.schedule("q") == ""
    looking.look()
    (said,) = looking.said()
    assert said.startswith("p: does not fit on n1; ")
    assert "it would fit with a count of 1 instead of 2 in request g of claim ns/c (on n1)" in said
    assert len(looking.said(REPEAT_SECONDS)) == 1
    api.remove(f"{PODS}/q")
    api.remove(f"{CLAIMS}/d")
    looking.look()
    assert devices_of(api.get(f"{CLAIMS}/c")) == ["n1/gpu-0", "n1/gpu-1"]
    assert_nothing_twice(api)


def test_a_selector_that_fails() -> None:
    """On which device is not for those who read events."""
    wanted = claim("c")
    failing = {"cel": {"expression": "device.attributes['gpu.example.com'].model == 'a'"}}
    wanted["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [failing]
    looking = Looking(cluster(wanted, pod("p", "c", nodeName="n1")))
    looking.look()
    (said,) = looking.said()
    assert said.startswith(
        "p: cannot be scheduled because of an error on n1: claim ns/c: selector #0: CEL runtime error: no such key: model"
    )


def test_an_unknown_node() -> None:
    """There are no devices on it."""
    looking = Looking(cluster(claim("c"), pod("p", "c", nodeName="n9")))
    looking.look()
    assert looking.said() == ["p: node n9 is not known to the scheduling sidecar yet"]


def test_a_claim_with_devices_of_another_node() -> None:
    """It is said, until it is over."""
    api = cluster(claim("c"), pod("o", "c"), pod("p", "c", nodeName="n2"), nodes=("n1", "n2"))
    looking = Looking(api)
    assert looking.sidecar.decide("o") == ["n1", "n2"]
    assert looking.sidecar.bind("o", "n1") == ""
    looking.look()
    assert looking.said() == ["p: does not fit on n2; claim ns/c is allocated on n1 (used by pod ns/o)"]
    api.remove(f"{PODS}/o")
    api.change(f"{CLAIMS}/c", {"status": {"reservedFor": None, "allocation": None}})
    assert looking.said() == []
    assert devices_of(api.get(f"{CLAIMS}/c")) == ["n2/gpu-0"]


def test_nothing_is_said_of_a_pod_that_runs() -> None:
    """Its node may have lost the label by which the devices can be reached there."""
    api = cluster(claim("c"), pod("o", "c"), nodes=("n1", "n2"))
    looking = Looking(api)
    assert looking.sidecar.decide("o") == ["n1", "n2"]
    assert looking.sidecar.bind("o", "n1") == ""
    api.add({**pod("p", "c", nodeName="n2"), "status": {"phase": "Running"}})
    looking.look()
    assert looking.said() == []
    assert len(looking.pods) == 0


def test_a_pod_that_changes_while_devices_are_looked_for_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was found out is about the pod as it was."""
    api = cluster(claim("c", 3), pod("p", "c", nodeName="n1"))
    looking = Looking(api)
    picture, searches = looking.sidecar.picture, 0
    search = picture.state.filter

    def changing(*asked: Any, **more: Any) -> Any:
        nonlocal searches
        searches += 1
        picture.pods.put(pod("p", "c", nodeName="n1", priority=1))
        return search(*asked, **more)

    monkeypatch.setattr(picture.state, "filter", changing)
    for _ in range(3):
        looking.pods.look()
    assert searches == 2


def full(name: str, **more: Any) -> Object:
    """A claim that as many pods use as there may be."""
    users = [{"resource": "pods", "name": f"o{each}", "uid": f"o{each}"} for each in range(RESERVED_FOR)]
    return claim(name, status={"reservedFor": users}, **more)


def generated(name: str, claim_name: str | None) -> Object:
    """A pod whose claim is made from a template, and has that name once it is made."""
    made = {**pod(name, nodeName="n1"), "status": {"resourceClaimStatuses": []}}
    made["spec"]["resourceClaims"] = [{"name": "t", "resourceClaimTemplateName": "t"}]
    if claim_name:
        made["status"]["resourceClaimStatuses"] = [{"name": "t", "resourceClaimName": claim_name}]
    return made


@pytest.mark.parametrize(
    ("before", "waiting", "after"),
    [
        ([], pod("p", "c", nodeName="n1"), [claim("c")]),
        ([full("c")], pod("p", "c", nodeName="n1"), [claim("c")]),
        ([full("c")], pod("p", "d", "c", nodeName="n1"), [claim("c"), claim("d")]),
        (
            [],
            generated("p", None),
            [
                claim("c", metadata={"ownerReferences": [{"uid": "uid-p", "controller": True}]}),
                generated("p", "c"),
            ],
        ),
    ],
    ids=["missing", "in use", "the second", "not made yet"],
)
def test_a_pod_whose_claim_is_refused_waits_for_that_claim(
    before: list[Object], waiting: Object, after: list[Object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its claims are gone through again when the claim or the pod has changed, not each second."""
    read: list[str] = []

    def counting(of: Pod, ledger: ClaimLedger) -> list[Claim]:
        read.append(of.name)
        return claims_for(of, ledger)

    monkeypatch.setattr(prescheduled, "claims_for", counting)
    looking = Looking(cluster())
    looking.sidecar.sync()
    picture = looking.sidecar.picture
    for each in [*before, *([claim("d")] if len(waiting["spec"]["resourceClaims"]) > 1 else [])]:
        picture.claim_objects.put(each)
    picture.pods.put(waiting)
    for _ in range(5):
        looking.pods.look()
        looking.now += QUIET_SECONDS
    assert (len(read), len(looking.told)) == (1, 1)
    picture.claim_objects.put(claim("other"))
    picture.nodes.put(node("n7"))
    looking.pods.look()
    assert len(read) == 1
    for each in after:
        (picture.pods if each["kind"] == "Pod" else picture.claim_objects).put(each)
    looking.pods.look()
    assert len(read) == 2


def test_nothing_is_said_of_a_pod_that_waits_for_a_moment() -> None:
    """Its claim is made, or becomes known, at once."""
    api = cluster(pod("p", "c", nodeName="n1"))
    looking = Looking(api)
    looking.look()
    api.add(claim("c"))
    assert looking.said() == looking.said() == []


def test_only_the_leader_looks() -> None:
    """And what it began before it lost the lead is left to the next one."""
    api = cluster(claim("c"), pod("p", "c", nodeName="n1"))
    looking = Looking(api)
    looking.sidecar.leader.answers = 1
    looking.look()
    assert traces(api) == [f"c: {FINALIZER}"]
    assert looking.sidecar.picture.claims.assumed == 0
    looking.look()
    assert len(api.requests) == 2
    looking = Looking(api)
    looking.sidecar.take_over()
    looking.look()
    assert_used_claims_hold(api)


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.LOST, Fault.TWICE, 403, 409, 500], ids=str)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_request_fails(nth: int, fault: Fault | int) -> None:
    """It is undone, and tried again."""
    api = cluster(claim("c"), pod("p", "c", nodeName="n1"))
    looking = Looking(api)
    api.fail(nth, fault)
    looking.look()
    looking.look()
    assert_used_claims_hold(api)
    assert looking.sidecar.picture.claims.assumed == len(looking.sidecar.undoing) == 0
