"""Whatever fails at whichever request of a bind: no device is given twice, nothing is left behind, the next attempt succeeds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import pytest

from scheduler.claim_writes import FINALIZER
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault, Gate, Killed
from tests.scheduler.small_cluster import (
    CLAIMS,
    Sidecar,
    asking,
    assert_nothing_twice,
    assert_used_claims_hold,
    claim,
    cluster,
    node_of,
    pod,
    traces,
)
from tests.webhook.running import PATIENCE_SECONDS

Scene = Callable[[], FakeApi]


def one_claim() -> FakeApi:
    return cluster(claim("a"), pod("p", "a"), count=1)


def two_claims() -> FakeApi:
    return cluster(claim("a"), claim("b", metadata={"finalizers": ["x"]}), pod("p", "a", "b"))


def shared_claim() -> FakeApi:
    """One of the claims is in use by a pod on the node."""
    api = cluster(claim("a"), claim("s"), pod("p", "a", "s"), pod("o", "s"))
    assert Sidecar(api).schedule("o") == ""
    del api.requests[:]
    return api


def extended_resource() -> FakeApi:
    """A claim is made for the pod."""
    return cluster(asking("p", main=1), count=1)


def extended_resource_and_claim() -> FakeApi:
    return cluster(claim("a"), asking("p", "a", main=1))


SCENES = {
    scene.__name__: scene
    for scene in (one_claim, two_claims, shared_claim, extended_resource, extended_resource_and_claim)
}
#: For each scene, the requests of a bind that succeeds.
REQUESTS = {
    "one_claim": 3,
    "two_claims": 5,
    "shared_claim": 4,
    "extended_resource": 4,
    "extended_resource_and_claim": 6,
}
FAULTS: list[Fault | int] = [Fault.REFUSED, Fault.LOST, Fault.TWICE, 403, 409, 429, 500, 503]
#: As many requests as an undo makes at most, and some more.
UNDO = 12
CASES = [(name, nth) for name, count in REQUESTS.items() for nth in range(1, count + 1)]


def test_requests() -> None:
    """What these tests take for the requests of a bind."""
    for name, scene in SCENES.items():
        api = scene()
        assert Sidecar(api).schedule("p") == ""
        assert len(api.requests) == REQUESTS[name]


def assert_bound(sidecar: Sidecar) -> None:
    """The pod is bound, or is so at the next attempt, and all is in order."""
    sidecar.sync()
    if not node_of(sidecar.api, "p"):
        assert sidecar.schedule_at_last("p") == ""
    assert sidecar.bind("p") == ""
    assert node_of(sidecar.api, "p") == "n1"
    assert_nothing_twice(sidecar.api)
    assert_used_claims_hold(sidecar.api)
    assert sidecar.picture.claims.assumed == 0
    assert len(sidecar.undoing) == 0


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize(("scene", "nth"), CASES)
def test_a_request_fails(scene: str, nth: int, fault: Fault | int) -> None:
    """What the attempt wrote is taken back at once, unless the pod may be bound nevertheless."""
    api = SCENES[scene]()
    before = traces(api)
    sidecar = Sidecar(api)
    api.fail(nth, fault)
    error = sidecar.schedule("p")
    sidecar.undoing.retry()
    if not error:
        assert_used_claims_hold(api)
        assert node_of(api, "p") == "n1"
    elif error.startswith("the Binding was not answered"):
        assert nth == REQUESTS[scene]
        assert len(traces(api)) > len(before)
    else:
        assert traces(api) == before
        assert node_of(api, "p") == ""
    assert sidecar.picture.claims.assumed == 0
    assert_bound(sidecar)


@pytest.mark.parametrize("fault", [Fault.REFUSED, 403, 409], ids=str)
def test_nothing_is_to_be_taken_back_from_a_pod_that_needs_no_claim(fault: Fault | int) -> None:
    """kube-controller-manager has found that its template asks for nothing."""
    asked = pod("p")
    asked["spec"]["resourceClaims"] = [{"name": "t", "resourceClaimTemplateName": "t"}]
    api = cluster({**asked, "status": {"resourceClaimStatuses": [{"name": "t"}]}})
    sidecar = Sidecar(api)
    api.fail(1, fault)
    assert sidecar.schedule("p") != ""
    assert len(sidecar.undoing) == 0
    assert sidecar.schedule("p") == ""
    assert node_of(api, "p") == "n1"


@pytest.mark.parametrize("then", [Fault.REFUSED, Fault.LOST, Fault.TWICE, 409, 500], ids=str)
@pytest.mark.parametrize(("scene", "nth"), CASES)
def test_undoing_fails(scene: str, nth: int, then: Fault | int) -> None:
    """The devices stay taken until they are taken back."""
    for later in range(1, UNDO):
        api = SCENES[scene]()
        before = traces(api)
        sidecar = Sidecar(api)
        api.fail(nth, 403)
        api.fail(nth + later, then)
        error = sidecar.schedule("p")
        assert error
        for _ in range(2):
            sidecar.undoing.retry()
        if api.heal():
            break
        if not error.startswith("the Binding was not answered"):
            assert traces(api) == before, later
        assert_bound(sidecar)


@pytest.mark.parametrize(("scene", "nth"), CASES)
def test_nobody_gets_what_is_still_to_be_taken_back(scene: str, nth: int) -> None:
    """While the API server is down, devices count as taken, and claims are not written to."""
    api = SCENES[scene]()
    before = traces(api)
    sidecar = Sidecar(api)
    api.fail(nth, Fault.LOST)

    def go_down(request: object) -> None:
        api.down = len(api.requests) > nth

    api.hooks.append(go_down)
    assert sidecar.schedule("p") != ""
    if nth < REQUESTS[scene]:
        assert len(sidecar.undoing) == 1
        assert sidecar.decide("p") in ([], ["n1"])
        assert sidecar.bind("p") != ""
        sidecar.undoing.retry()
        assert len(sidecar.undoing) == 1
    api.hooks.clear()
    api.down = False
    sidecar.undoing.retry()
    if nth < REQUESTS[scene]:
        assert traces(api) == before
    assert_bound(sidecar)


@pytest.mark.parametrize("fault", [Fault.KILLED_BEFORE, Fault.KILLED_AFTER], ids=str)
@pytest.mark.parametrize(("scene", "nth"), CASES)
def test_the_process_is_killed(scene: str, nth: int, fault: Fault) -> None:
    """Another one takes over and binds the pod."""
    api = SCENES[scene]()
    api.fail(nth, fault)
    with pytest.raises(Killed):
        Sidecar(api).schedule("p")
    sidecar = Sidecar(api)
    sidecar.take_over()
    assert_bound(sidecar)


@pytest.mark.parametrize("fault", [Fault.KILLED_BEFORE, Fault.KILLED_AFTER], ids=str)
@pytest.mark.parametrize(("scene", "nth"), CASES)
def test_the_process_is_killed_while_it_undoes(scene: str, nth: int, fault: Fault) -> None:
    """Another one takes over and binds the pod."""
    for later in range(1, UNDO):
        api = SCENES[scene]()
        api.fail(nth, 403)
        api.fail(nth + later, fault)
        with suppress(Killed):
            Sidecar(api).schedule("p")
        if api.heal():
            break
        sidecar = Sidecar(api)
        sidecar.take_over()
        assert_bound(sidecar)


def reserve_for_pods_on_nodes(api: FakeApi) -> None:
    """What kube-controller-manager does when a pod on a node has a claim with devices that is not reserved for it."""
    for each in api.all("pods", "/api/v1"):
        for entry in each["spec"]["resourceClaims"] if each["spec"].get("nodeName") else ():
            path = f"{CLAIMS}/{entry['resourceClaimName']}"
            status = api.get(path).get("status", {})
            users = status.get("reservedFor", [])
            user = {"resource": "pods", "name": each["metadata"]["name"], "uid": each["metadata"]["uid"]}
            if "allocation" in status and user not in users:
                api.change(path, {"status": {"reservedFor": [*users, user]}})


def stopped(sidecar: Sidecar, nth: int) -> tuple[Gate, Thread]:
    """Let a sidecar bind the pod until its nth request, or to the end if it makes fewer."""
    gate = sidecar.api.pause(nth)

    def bind() -> None:
        sidecar.schedule("p")
        gate.reached.set()

    binding = Thread(target=bind, daemon=True)
    binding.start()
    assert gate.reached.wait(PATIENCE_SECONDS)
    sidecar.api.heal()
    return gate, binding


@pytest.mark.parametrize("annotates", [True, False])
@pytest.mark.parametrize("later", [0, *range(1, UNDO)])
@pytest.mark.parametrize(("scene", "nth"), CASES)
def test_a_leader_is_stopped_and_goes_on_later(scene: str, nth: int, later: int, annotates: bool) -> None:
    """Before any request, of the bind (``later`` 0) or of its undo: what it sends then changes nothing that matters."""
    if scene.startswith("extended") and not annotates:
        pytest.skip("kube-controller-manager does not reserve claims that were made for extended resources")
    api = SCENES[scene]()
    old = Sidecar(api)
    if later:
        api.fail(nth, 403)
    gate, binding = stopped(old, nth + later)
    old.leader.leads = False
    new = Sidecar(api)
    if annotates:
        new.take_over()
    else:  # the finalizers alone have to be enough
        for each in api.all("resourceclaims"):
            path = f"{CLAIMS}/{each['metadata']['name']}"
            finalizers = [name for name in each["metadata"].get("finalizers", ()) if name != FINALIZER]
            if "allocation" not in each.get("status", {}):
                api.change(path, {"metadata": {"finalizers": finalizers or None}})
        new.sync()
    if not node_of(api, "p"):
        assert new.schedule_at_last("p") == ""
    gate.resume.set()
    binding.join(PATIENCE_SECONDS)
    assert_nothing_twice(api)
    reserve_for_pods_on_nodes(api)
    assert_used_claims_hold(api)
    old.undoing.retry()
    assert len(old.undoing) == old.picture.claims.assumed == 0
    assert_used_claims_hold(api)


@pytest.mark.parametrize("later", [0, *range(1, UNDO)])
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_stopped_leader_does_not_give_what_the_next_one_gave(nth: int, later: int) -> None:
    """The next leader gives the only device to another pod, if it is free."""
    api = one_claim()
    api.add(claim("b"))
    api.add(pod("q", "b"))
    old = Sidecar(api)
    if later:
        api.fail(nth, 403)
    gate, binding = stopped(old, nth + later)
    old.leader.leads = False
    new = Sidecar(api)
    new.take_over()
    new.schedule("q")
    gate.resume.set()
    binding.join(PATIENCE_SECONDS)
    assert_nothing_twice(api)
    assert_used_claims_hold(api)


@pytest.mark.parametrize("answers", range(1, 8))
@pytest.mark.parametrize("scene", SCENES)
def test_the_lease_is_lost_on_the_way(scene: str, answers: int) -> None:
    """Whenever that is noticed, no more is written, and the next leader goes on."""
    api = SCENES[scene]()
    old = Sidecar(api)
    old.decide("p")
    old.leader.answers = answers
    error = old.bind("p")
    if error:
        assert error == "another replica leads"
    assert old.picture.claims.assumed == 0
    assert len(old.undoing) == 0
    new = Sidecar(api)
    new.take_over()
    assert_bound(new)


def test_several_who_wait_take_back() -> None:
    """Each for another claim of the attempt; what one of them has begun the others do not do as well."""
    api = cluster(claim("a"), claim("b"), pod("p", "a", "b"))
    sidecar = Sidecar(api)
    sidecar.decide("p")
    api.hooks.append(lambda request: setattr(api, "down", api.down or request.path.endswith("/status")))
    sidecar.bind("p")
    api.hooks.clear()
    assert len(sidecar.undoing) == 1
    api.down = False
    gate = api.pause(1)
    failed: list[Exception] = []

    def wait_for(key: str) -> None:
        try:
            with sidecar.undoing.holding([key], waits=True):
                pass
        except Exception as error:  # noqa: BLE001 - the test shows it
            failed.append(error)

    first, second = (Thread(target=wait_for, args=[key], daemon=True) for key in ("ns/a", "ns/b"))
    first.start()
    assert gate.reached.wait(30)
    second.start()
    second.join(0.1)  # it ends only if it does what the first one has begun
    gate.resume.set()
    for each in (first, second):
        each.join(30)
    assert (failed, len(sidecar.undoing), traces(api)) == ([], 0, [])
