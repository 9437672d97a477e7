"""Pods that ask for devices by extended resources: where they fit, and the claims that are made for them."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from allocator.pod_claims import ExtendedRequests
from resourceapi.objects import Object
from resourceapi.releases import Profile
from scheduler.claim_writes import FINALIZER
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decisions
from scheduler.extended_resources import MOST_MADE, NAME_CHARACTERS, made_name
from scheduler.extender_api import CandidateNodes, PreemptionRequest, Victims
from scheduler.filtering import Filter
from scheduler.picture_lock import SearchTime
from scheduler.preempting import Preemption
from scheduler.refusal_notes import case_of, note_on
from scheduler.waking import Waking
from tests.scheduler import test_filtering
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault, Killed
from tests.scheduler.fake_places import CORE
from tests.scheduler.small_cluster import (
    CLAIMS,
    GPU,
    PODS,
    Sidecar,
    asking,
    assert_nothing_twice,
    assert_used_claims_hold,
    claim,
    cluster,
    devices_of,
    made_for,
    node_of,
    pod,
    traces,
)

NAMED = "example.com/gpu"


def container(name: str = "main", restart: str = "", **amounts: int) -> Object:
    """A container that asks for GPUs (`gpu` by the name that the class gives itself, `implicit` by that of the class) and NICs."""
    names = {"gpu": NAMED, "implicit": GPU, "nic": "example.com/nic", "cpu": "cpu"}
    asked = {names[key]: str(amount) for key, amount in amounts.items()}
    found: Object = {"name": name, "resources": {"requests": asked, "limits": asked}}
    return {**found, "restartPolicy": restart} if restart else found


def scene(*objects: Object, plugins: dict[str, dict[str, str]] | None = None, count: int = 2) -> FakeApi:
    """Nodes n1 and n2 with GPUs, and what their device plugins have; the class gpu names itself example.com/gpu."""
    api = cluster(*objects, nodes=("n1", "n2"), count=count)
    api.change(
        "/apis/resource.k8s.io/v1/deviceclasses/gpu", {"spec": {"extendedResourceName": "example.com/gpu"}}
    )
    for name, resources in (plugins or {}).items():
        api.change(f"{CORE}/nodes/{name}", {"status": {"allocatable": resources}})
    return api


def asks(*containers: Object, init: tuple[Object, ...] = (), claims: tuple[str, ...] = ()) -> Object:
    return pod("p", *claims, containers=list(containers), initContainers=list(init))


class TestWithoutTheGate:
    """A release, or a configuration, without the feature: no claim is made, and no pod is bound without its devices."""

    REASON = "example.com/gpu stands for DeviceClass gpu, but the DRAExtendedResource feature is disabled"

    def ask(self, asked: Object) -> tuple[list[str], dict[str, str]]:
        picture = ClusterPicture(Profile("1.35", {}))
        for name, amount in (("n1", "0"), ("n2", "2")):
            status = {"allocatable": {NAMED: amount}}
            picture.nodes.put({"metadata": {"name": name}, "status": status})
        spec = {"extendedResourceName": NAMED}
        picture.classes.put({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": spec})  # fmt: skip
        picture.extended.is_on = False
        filtering = Filter(picture, Decisions(clock=lambda: 1e9), seconds=5.0)
        verdicts = filtering.answer(CandidateNodes(asked, ("n1", "n2")))
        return list(verdicts.fitting), dict(verdicts.beyond_preemption)

    def test_pod_is_refused_where_no_device_plugin_has_the_resource(self) -> None:
        assert self.ask(asks(container(gpu=1))) == (["n2"], {"n1": self.REASON})

    @pytest.mark.parametrize("asked", [container(gpu=0), container(cpu=1)])
    def test_other_resources_are_kube_schedulers_business(self, asked: Object) -> None:
        assert self.ask(asks(asked)) == (["n1", "n2"], {})


def test_a_class_that_kube_scheduler_has_seen_first() -> None:
    """The pod is not bound without devices: it is refused, and tried again as soon as the class is known here."""
    made = test_filtering.Cluster()
    waking = Waking(made.picture, wake := Mock())
    waking.look()
    made.filter._refused = waking.refused
    asked = {**asks(container(gpu=1)), "metadata": {"name": "p", "namespace": "ns", "uid": "uid-p"}}
    reason = f"no device plugin of the node has {NAMED}, and no DeviceClass stands for it yet"
    assert made.ask(asked) == ([], {}, {"n1": reason, "n2": reason})
    wake.reset_mock()
    made.picture.classes.put(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"extendedResourceName": NAMED},
        }
    )
    waking._not_before = 0
    for _ in range(2):  # the first time, it is left to kube-scheduler
        waking.look()
    wake.assert_called_once_with()
    assert made.ask(asked)[0] == ["n1", "n2"]


@pytest.mark.parametrize(
    ("asked", "plugins", "fitting"),
    [
        pytest.param(asks(container(gpu=2)), {}, ["n1", "n2"], id="devices"),
        pytest.param(asks(container(gpu=3)), {}, [], id="too-few-devices"),
        pytest.param(asks(container(gpu=40)), {}, [], id="more-than-a-claim-may-have"),
        pytest.param(asks(container(gpu=40)), {"n2": {NAMED: "64"}}, [], id="an-error-on-one-node-ends-the-attempt"),
        pytest.param(asks(container(implicit=2)), {}, ["n1", "n2"], id="implicit-name"),
        pytest.param(asks(container(gpu=0)), {}, ["n1", "n2"], id="none"),
        pytest.param(asks(container("a", gpu=1), container("b", gpu=2)), {}, [], id="containers-together"),
        pytest.param(asks(container("a", gpu=2), init=(container("i", gpu=2),)), {}, ["n1", "n2"], id="one-after-another"),
        pytest.param(asks(container(nic=1)), {"n2": {"example.com/nic": "1"}}, ["n2"], id="no-class-stands-for-it"),
        pytest.param(asks(container(gpu=3)), {"n2": {NAMED: "1"}}, ["n2"], id="kube-scheduler-counts-those-of-plugins"),
        pytest.param(asks(container(gpu=3)), {"n2": {NAMED: "0"}}, [], id="device-plugin-without-devices"),
        pytest.param(asks(container(gpu=1, implicit=2)), {"n2": {NAMED: "1"}}, ["n2"], id="one-of-two-from-a-plugin"),
    ],
)  # fmt: skip
def test_filter(asked: Object, plugins: dict[str, dict[str, str]], fitting: list[str]) -> None:
    """A node has devices for all resources that it has from no device plugin; kube-scheduler counts the others."""
    assert Sidecar(scene(asked, plugins=plugins)).decide("p") == fitting


def test_claims_and_extended_resources_share_devices() -> None:
    sidecar = Sidecar(scene(claim("c", 1), asks(container(gpu=2), claims=("c",))))
    assert sidecar.decide("p") == []
    sidecar = Sidecar(scene(claim("c", 1), asks(container(gpu=1), claims=("c",))))
    assert sidecar.schedule("p") == ""
    (made,) = made_for(sidecar.api, "p")
    devices = [device for name in ("c", made) for device in devices_of(sidecar.api.get(f"{CLAIMS}/{name}"))]
    assert sorted(devices) == ["n1/gpu-0", "n1/gpu-1"]


def test_the_claim_and_the_status_of_the_pod() -> None:
    """As kube-scheduler's plugin makes them, but for the name."""
    sidecar = Sidecar(scene(asks(container("a", cpu=1, gpu=1), container("b", gpu=1))))
    assert sidecar.schedule("p") == ""
    verbs = [f"{each.verb} {each.path.rpartition('/ns/')[2]}" for each in sidecar.api.requests]
    name = made_name("p", "uid-p")
    assert verbs == [
        "POST resourceclaims",
        f"PUT resourceclaims/{name}/status",
        "PATCH pods/p/status",
        "POST pods/p/binding",
    ]
    made = sidecar.api.get(f"{CLAIMS}/{name}")
    assert made["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert made["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    ]
    assert made["metadata"]["finalizers"] == [FINALIZER]
    assert made["metadata"]["generateName"] == "p-extended-resources-"
    details = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    assert made["spec"]["devices"] == {
        "requests": [
            {"name": "container-0-request-1", "exactly": details},
            {"name": "container-1-request-0", "exactly": details},
        ]
    }
    assert made["status"]["reservedFor"] == [{"resource": "pods", "name": "p", "uid": "uid-p"}]
    assert devices_of(made) == ["n1/gpu-0", "n1/gpu-1"]
    assert sidecar.api.get(f"{PODS}/p")["status"] == {
        "extendedResourceClaimStatus": {
            "resourceClaimName": name,
            "requestMappings": [
                {"containerName": "a", "resourceName": NAMED, "requestName": "container-0-request-1"},
                {"containerName": "b", "resourceName": NAMED, "requestName": "container-1-request-0"},
            ],
        }
    }
    assert sidecar.picture.claims.assumed == 0


@pytest.mark.parametrize(
    ("node", "requests"),
    [("n1", ["container-0-request-0", "container-0-request-1"]), ("n2", ["container-0-request-0"])],
)
def test_the_claim_is_that_of_the_node(node: str, requests: list[str]) -> None:
    """What a device plugin of the node has is not claimed."""
    api = scene(asks(container(implicit=1, gpu=1)), plugins={"n2": {NAMED: "1"}})
    sidecar = Sidecar(api)
    assert sidecar.decide("p") == ["n1", "n2"]
    assert sidecar.bind("p", node) == ""
    (made,) = made_for(api, "p")
    asked = api.get(f"{CLAIMS}/{made}")["spec"]["devices"]["requests"]
    assert [each["name"] for each in asked] == requests


def test_a_node_whose_device_plugins_have_all_gets_no_claim() -> None:
    sidecar = Sidecar(scene(asks(container(gpu=1)), plugins={"n2": {NAMED: "1"}}))
    assert sidecar.decide("p") == ["n1", "n2"]
    assert sidecar.bind("p", "n2") == ""
    assert made_for(sidecar.api, "p") == []
    assert "status" not in sidecar.api.get(f"{PODS}/p")


def test_devices_are_taken_before_the_claim_exists() -> None:
    """So the next pod does not get them while the API server makes it."""
    api = scene(asking("p", main=2), asking("q", main=2))
    sidecar = Sidecar(api)
    assert sidecar.decide("p") == ["n1", "n2"]
    seen: list[list[str]] = []

    def ask(request: Any) -> None:
        if request.verb == "POST" and not seen:
            seen.append([])
            seen[0] = sidecar.decide("q")

    api.hooks.append(ask)
    assert sidecar.bind("p") == ""
    assert seen == [["n2"]]


def test_two_pods_that_were_promised_the_same_devices() -> None:
    """The second one is told at its bind, and nothing is left of it."""
    api = scene(asking("p", main=2), asking("q", main=2))
    sidecar = Sidecar(api)
    for name in ("p", "q"):
        assert "n1" in sidecar.decide(name)
    assert sidecar.bind("p") == ""
    assert sidecar.bind("q") == "devices that were found for it are in use by now, or no longer match"
    assert made_for(api, "q") == []


def test_a_pod_is_not_bound_without_the_devices_that_a_leader_before_found() -> None:
    sidecar = Sidecar(scene(asking("p", main=1)))
    assert sidecar.bind("p") == "its devices have to be found again"
    assert node_of(sidecar.api, "p") == ""


def test_a_pod_is_bound_where_device_plugins_have_all() -> None:
    sidecar = Sidecar(scene(asks(container(gpu=1)), plugins={"n2": {NAMED: "1"}}))
    assert sidecar.bind("p", "n2") == ""


# --- what is left of earlier attempts


def left_over(api: FakeApi, nth: int, fault: Fault = Fault.KILLED_AFTER) -> Sidecar:
    """What the next leader finds when the process was killed at a request of its bind."""
    api.fail(nth, fault)
    with pytest.raises(Killed):
        Sidecar(api).schedule("p")
    sidecar = Sidecar(api)
    sidecar.take_over()
    return sidecar


def test_a_claim_without_devices_is_deleted_first() -> None:
    api = scene(asking("p", main=1))
    sidecar = left_over(api, 1)
    (name,) = made_for(api, "p")
    found = api.get(f"{PODS}/p")
    verdicts = sidecar.filter.answer(CandidateNodes(found, ("n1", "n2")))
    reason = f"ResourceClaim {name!r} of an earlier attempt is to be deleted first"
    assert verdicts.beyond_preemption == {"n1": reason, "n2": reason}
    sidecar.releasing.release()
    assert traces(api) == []
    sidecar.sync()
    assert sidecar.schedule("p") == ""
    assert_used_claims_hold(api)


@pytest.mark.parametrize("nth", [2, 3])
def test_a_claim_with_devices_is_used_again(nth: int) -> None:
    """Once it has devices, whether or not the status of the pod names it."""
    api = scene(asking("p", main=1))
    sidecar = left_over(api, nth)
    (name,) = made_for(api, "p")
    uid = api.get(f"{CLAIMS}/{name}")["metadata"]["uid"]
    assert sidecar.schedule("p") == ""
    assert made_for(api, "p") == [name]
    assert api.get(f"{CLAIMS}/{name}")["metadata"]["uid"] == uid
    assert_used_claims_hold(api)


def test_a_claim_with_devices_of_another_node_is_deleted() -> None:
    """kube-scheduler asks about other nodes only: as with kube-scheduler's plugin, the next attempt may look everywhere."""
    api = scene(asking("p", main=1))
    sidecar = left_over(api, 3)
    found = api.get(f"{PODS}/p")
    assert not sidecar.filter.answer(CandidateNodes(found, ("n2",))).fitting
    sidecar.releasing.release()
    assert traces(api) == []
    sidecar.sync()
    assert list(sidecar.filter.answer(CandidateNodes(found, ("n2",))).fitting) == ["n2"]
    assert sidecar.bind("p", "n2") == ""
    assert_used_claims_hold(api)


@pytest.mark.parametrize("resources", [{NAMED: "4"}, {NAMED: "4", GPU: "4"}], ids=["of-two", "of-all"])
def test_a_claim_that_is_not_what_the_pod_needs_is_deleted(resources: dict[str, str]) -> None:
    """A device plugin has come to the node meanwhile."""
    api = scene(asks(container(gpu=1, implicit=1)))
    sidecar = left_over(api, 3)
    for node in ("n1", "n2"):
        api.change(f"{CORE}/nodes/{node}", {"status": {"allocatable": resources}})
    sidecar.sync()
    assert sidecar.decide("p") == []
    sidecar.releasing.release()
    assert traces(api) == []
    sidecar.sync()
    assert sidecar.schedule("p") == ""
    assert len(made_for(api, "p")) == (GPU not in resources)


def test_a_claim_that_a_pod_on_a_node_uses_is_not_deleted() -> None:
    """The Binding has arrived of which no answer came."""
    api = scene(asking("p", main=1))
    found = api.get(f"{PODS}/p")
    sidecar = left_over(api, 4)
    sidecar.filter.answer(CandidateNodes(found, ("n2",)))
    sidecar.releasing.release()
    assert len(made_for(api, "p")) == 1
    assert_used_claims_hold(api)


def test_a_claim_that_is_being_made_is_not_deleted() -> None:
    """kube-scheduler has given up on the bind, and asks again, while the API server takes its time."""
    api = scene(asking("p", main=1))
    sidecar = Sidecar(api)
    assert sidecar.decide("p") == ["n1", "n2"]

    def ask(request: Any) -> None:
        if request.verb == "PUT" and len(api.requests) == 2:
            sidecar.sync()
            sidecar.decide("p")
            sidecar.releasing.release()

    api.hooks.append(ask)
    assert sidecar.bind("p") == ""
    api.hooks.clear()
    sidecar.sync()
    sidecar.releasing.release()
    assert_used_claims_hold(api)


def test_a_pod_that_is_deleted_before_its_bind_leaves_nothing() -> None:
    api = scene(asking("p", main=1))
    sidecar = Sidecar(api)
    assert sidecar.decide("p") == ["n1", "n2"]
    api.remove(f"{PODS}/p")
    assert sidecar.bind("p") == "the pod has been deleted"
    assert traces(api) == []
    assert sidecar.picture.claims.assumed == 0


def test_a_claim_of_the_same_name_that_was_not_made_for_the_pod_stays() -> None:
    """A user has created it: the pod waits, and the claim is not touched."""
    name = made_name("p", "uid-p")
    api = scene(asking("p", main=1))
    sidecar = Sidecar(api)
    assert sidecar.decide("p") == ["n1", "n2"]
    api.add(claim(name))
    assert sidecar.bind("p") == f"ResourceClaim {name!r} was not created for this pod"
    assert api.get(f"{CLAIMS}/{name}")["metadata"].keys().isdisjoint(("finalizers", "deletionTimestamp"))
    assert sidecar.picture.claims.assumed == 0


def test_two_leaders_never_make_two_claims() -> None:
    """One is stopped before it makes the claim; the next one has bound the pod when it goes on."""
    api = scene(asking("p", main=1))
    old, new = Sidecar(api), Sidecar(api)
    assert old.decide("p") == ["n1", "n2"]

    def overtake(request: Any) -> None:
        if len(api.requests) == 1:
            new.take_over()
            assert new.schedule("p") == ""
            old.leader.leads = False

    api.hooks.append(overtake)
    assert old.bind("p") != ""
    assert len(made_for(api, "p")) == 1
    assert_nothing_twice(api)
    assert_used_claims_hold(api)


def test_names_differ_for_pods_with_long_names() -> None:
    """They are no longer than those that an API server generates."""
    names = [made_name("p" * 200, f"uid-{number}") for number in range(100)]
    assert len(set(names)) == 100
    assert {len(each) for each in names} == {NAME_CHARACTERS}


# --- what tenants may ask for


class Counted(dict[str, Any]):
    """A container that counts how often something of it is looked for."""

    looks = 0

    def get(self, *arguments: Any) -> Any:
        Counted.looks += 1
        return super().get(*arguments)


def test_containers_are_read_once_for_all_kinds_of_nodes() -> None:
    """The attack: 1,200 containers that ask for twenty resources, on nodes with 32 different sets of device plugins, took 11 s."""

    def looks(plugins: dict[str, dict[str, str]]) -> int:
        picture = Sidecar(scene(plugins=plugins)).picture
        spec = {"extendedResourceName": "example.com/nic"}
        picture.classes.put({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "nic"}, "spec": spec})  # fmt: skip
        asked = asks(*(Counted(container(f"c{number}", gpu=1, implicit=1, nic=1)) for number in range(300)))
        Counted.looks = 0
        filtering = Filter(picture, Decisions(clock=lambda: 1e9), seconds=60.0)
        assert filtering.answer(CandidateNodes(asked, ("n1", "n2"))).fitting == ()
        return Counted.looks

    assert looks({"n1": {NAMED: "1"}, "n2": {"example.com/nic": "1"}}) == looks({})


@pytest.mark.parametrize("gains", [False, True], ids=["nothing-has-changed", "a-node-has-changed"])
def test_a_namespace_that_pauses_has_nothing_read(gains: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: what such pods need on each node was found out each time that kube-scheduler asked, though the namespace had to pause."""
    picture, search_time = Sidecar(scene()).picture, SearchTime()
    filtering = Filter(picture, Decisions(clock=lambda: 1e9), seconds=60.0, search_time=search_time)
    asked = CandidateNodes(asks(container(gpu=40)), ("n1", "n2"))
    first = filtering.answer(asked)
    search_time._charge("ns", 100.0)
    monkeypatch.setattr(picture.extended, "needs", Mock(side_effect=AssertionError))
    if gains:
        picture.nodes.put({"metadata": {"name": "n3"}})
    assert {*filtering.answer(asked).failed.values()} <= {*first.failed.values()}
    request = PreemptionRequest(asked.pod, {"n1": Victims(["uid-low"], 0)})
    assert Preemption(picture, seconds=60.0, search_time=search_time).victims(request) == {}


def test_who_uses_what_is_found_out_when_the_pod_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are as many uses as the square of the containers; the time is charged to the namespace."""
    api = scene(asks(container(gpu=1)))
    sidecar = Sidecar(api)
    found = Mock(return_value=[])
    monkeypatch.setattr(ExtendedRequests, "uses", found)
    assert sidecar.decide("p") == ["n1", "n2"]
    found.assert_not_called()
    assert sidecar.bind("p") == ""
    found.assert_called_once_with(frozenset())


def test_a_pod_is_kept_waiting_by_its_own_namespace_only() -> None:
    """Claims of other namespaces that say that they were made for it are not looked at; of many one with devices counts."""
    marks: Object = {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
        ],
    }
    api = scene(asking("p", main=1))
    api.add({**claim("x"), "metadata": {"name": "x", "namespace": "other", **marks}})
    assert Sidecar(api).decide("p") == ["n1", "n2"]
    for number in range(2 * MOST_MADE):
        api.add(claim(f"x{number}", metadata=marks))
    sidecar = Sidecar(api)
    assert sidecar.decide("p") == []
    sidecar.releasing.release()
    assert len(made_for(api, "p")) == 2 * MOST_MADE - 1 + 1  # and that of the other namespace


# --- what else knows of them


def test_a_pod_that_waits_is_forgotten_when_it_is_gone() -> None:
    """What it asked for is, too."""
    api = scene(asks(container(gpu=3)))
    sidecar = Sidecar(api)
    assert sidecar.decide("p") == []
    contents = sidecar.picture.state._contents
    assert list(contents._claims) == [f"ns/{made_name('p', 'uid-p')}"]
    api.remove(f"{PODS}/p")
    sidecar.sync()
    assert list(contents._claims) == []


def test_events_say_what_is_in_the_way() -> None:
    """In the words of `claimcheck explain`."""
    made = test_filtering.Cluster()
    made.ask({**asks(container(implicit=3)), "metadata": {"name": "p", "namespace": "ns", "uid": "uid-p"}})
    (refused,) = made.refused
    note = note_on(case_of(refused), made.picture)
    assert "p-extended-resources" in note
    assert "container-0-request-0" in note


def test_claims_of_victims_are_freed() -> None:
    """A pod may replace one of lower priority whose claim was made for it, and so may one for which a claim is made."""
    api = scene(asking("low", main=2), asking("high", main=2))
    api.change(f"{PODS}/high", {"spec": {"priority": 10}})
    sidecar = Sidecar(api)
    assert sidecar.schedule("low") == ""
    sidecar.sync()
    request = PreemptionRequest(api.get(f"{PODS}/high"), {"n1": Victims(("uid-low",), 0)})
    found = Preemption(sidecar.picture, seconds=60.0).victims(request)
    assert found == request.victims
    none = PreemptionRequest(api.get(f"{PODS}/high"), {"n1": Victims((), 0)})
    assert Preemption(sidecar.picture, seconds=60.0).victims(none)["n1"].uids == ["uid-low"]
