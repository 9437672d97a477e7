"""KEP-5027 on a real control plane, with the built-in API and with CRDs: what pods get follows what patches say of devices."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from itertools import count

import pytest

from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.objects import Object
from tests.e2e.client import Answer, Client
from tests.e2e.scheduled_pods import Workloads
from tests.e2e.scheduling_cluster import SchedulingCluster, scheduling_cluster, until
from tests.e2e.scheduling_modes import BUILT_IN, CRDS, cluster_with_crds
from webhook.crds import own_definitions

pytestmark = pytest.mark.e2e
VERSION = "v1alpha3"
DRIVER = "gpu.example.com"
GATE = "DRAAdminControlledDeviceAttributes"
#: What a change is given to wake a pod, in seconds, and how many times that is tried: others use the machine, too.
MAX_SECONDS, TRIES = 1.0, 3
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@contextlib.contextmanager
def cluster_with_patches(mode: str) -> Iterator[SchedulingCluster]:
    """A cluster with one sidecar, which was ready before the kind was there if that has a group of its own."""
    if mode == CRDS:
        with cluster_with_crds() as cluster:
            yield cluster
        return
    with scheduling_cluster(replicas=1) as cluster:
        install(cluster.client)
        yield cluster


def install(client: Client) -> None:
    """Create the CRD of the project's own group, and wait until it is served."""
    (definition,) = own_definitions()
    answer = client.ask("POST", DEFINITIONS, definition)
    assert answer.code == 201, answer.body
    path = RESOURCE_SLICE_PATCH.path_in(OWN_GROUP)
    until(lambda: client.ask("GET", path).code == 200, "the CRD is not served")


class Patched:
    """A cluster with nodes of two devices each, and an administrator."""

    def __init__(self, mode: str, cluster: SchedulingCluster) -> None:
        self.cluster = cluster
        self.client = cluster.client
        self.workloads = Workloads(cluster.client)
        self.workloads.add_class()
        self.api_version = f"{OWN_GROUP if mode == BUILT_IN else GROUP}/{VERSION}"
        self.patches = RESOURCE_SLICE_PATCH.path_in(self.api_version.partition("/")[0])
        self._numbers = count()

    def new_node(self) -> str:
        """A node with devices `d-0` of model a, and `d-1` of model b, in a pool of its name."""
        name = f"node-{next(self._numbers)}"
        devices = [
            {"name": f"d-{number}", "attributes": {"model": {"string": model}}}
            for number, model in enumerate("ab")
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        slice = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}}
        self.workloads.add_node(name, [{**slice, "spec": spec}])
        return name

    def run(self, name: str, node: str, expression: str) -> str:
        """A pod with a claim for one device of a node for which the expression is true."""
        exactly = {"deviceClassName": "any", "selectors": [cel(expression)]}
        self.workloads.run(name, {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}, node=node)
        return name

    def patch(self, name: str, filter: Object, **devices: object) -> Object:
        """Create a ResourceSlicePatch; as the API server has it then."""
        body = {
            "apiVersion": self.api_version,
            "kind": "ResourceSlicePatch",
            "metadata": {"name": name},
            "spec": {"devices": {"filter": filter, **devices}},
        }
        answer = self.client.ask("POST", self.patches, body)
        assert answer.code == 201, answer.body
        made: Object = answer.body
        return made

    def change(self, name: str, **devices: object) -> Answer:
        """Change what a patch says."""
        body = {"spec": {"devices": devices}}
        return self.client.ask(
            "PATCH", f"{self.patches}/{name}", body, content_type="application/merge-patch+json"
        )

    def remove(self, name: str) -> None:
        assert self.client.ask("DELETE", f"{self.patches}/{name}").code == 200

    def events(self, patch: Object) -> list[Object]:
        """Those that `kubectl describe` shows of a patch, which looks in all namespaces."""
        query = {"fieldSelector": f"involvedObject.uid={patch['metadata']['uid']}"}
        found: list[Object] = self.client.ask("GET", "/api/v1/events", query=query).body["items"]
        return found


def cel(expression: str) -> Object:
    return {"cel": {"expression": expression}}


def text(value: str) -> Object:
    return {"string": value}


def is_of(tier: str) -> str:
    return f'device.attributes["example.com"].?tier.orValue("") == "{tier}"'


@pytest.fixture(scope="module", params=[BUILT_IN, CRDS])
def patched(request: pytest.FixtureRequest) -> Iterator[Patched]:
    with cluster_with_patches(request.param) as cluster:
        yield Patched(request.param, cluster)


def test_pods_select_by_patched_attributes(patched: Patched) -> None:
    """The e2e test of the KEP: unmodified devices do not match; and what is removed matches no more, but stays allocated."""
    workloads, node = patched.workloads, patched.new_node()
    first = patched.run("tier-first", node, is_of("gold"))
    workloads.refused(first, "no device matches")
    patched.patch("tier", {"driver": DRIVER, "pool": node, "device": "d-1"}, attributes={"example.com/tier": text("gold")})  # fmt: skip
    assert workloads.bound(first) == node
    assert workloads.devices(first) == ["r=d-1"]
    second = patched.run("tier-second", node, is_of("gold"))
    workloads.refused(second, "too few devices left")
    before = workloads.claim(first)["status"]
    patched.remove("tier")
    third = patched.run("tier-third", node, is_of("gold"))
    workloads.refused(third, "no device matches")
    workloads.delete_pod(first)
    until(lambda: "allocation" not in claim_status(patched, "tier-first"), "the device is not free")
    workloads.refused(second, "no device matches")
    assert before["allocation"]["devices"]["results"][0]["device"] == "d-1"


def claim_status(patched: Patched, name: str) -> Object:
    path = f"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/{name}"
    status: Object = patched.client.ask("GET", path).body.get("status") or {}
    return status


def test_allocated_devices_stay(patched: Patched) -> None:
    """A patch takes nothing away: the claim keeps its device, and the pod its node, though it would not match now."""
    node = patched.new_node()
    pod = patched.run("stays", node, f'device.attributes["{DRIVER}"].model == "a"')
    patched.workloads.bound(pod)
    before = patched.workloads.claim(pod)
    patched.patch("stays", {"pool": node}, attributes={f"{DRIVER}/model": {"null": {}}})
    late = patched.run("stays-late", node, f'device.attributes["{DRIVER}"].?model.orValue("") == "b"')
    patched.workloads.refused(late, "no device matches")
    assert patched.workloads.claim(pod)["status"] == before["status"]
    patched.remove("stays")
    assert patched.workloads.bound(late) == node


def test_priority_decides(patched: Patched) -> None:
    """A value of a driver is overridden, by the patch of the highest priority; also after that has changed."""
    node = patched.new_node()
    model = f"{DRIVER}/model"
    patched.patch("low", {"pool": node}, priority=-1, attributes={model: text("low")})
    patched.patch("high", {"pool": node, "selectors": [cel("true")]}, priority=1, attributes={model: text("high")})  # fmt: skip
    one = patched.run("high", node, f'device.attributes["{DRIVER}"].model == "high"')
    assert patched.workloads.bound(one) == node
    other = patched.run("low", node, f'device.attributes["{DRIVER}"].model == "low"')
    patched.workloads.refused(other, "no device matches")
    answer = patched.change("low", priority=2)
    assert answer.code == 200, answer.body
    assert patched.workloads.bound(other) == node


def test_woken_within_a_second(patched: Patched) -> None:
    """A pod that a patch lets fit is bound soon after, though kube-scheduler does not know the kind."""

    def seconds(name: str) -> float:
        node = patched.new_node()
        pod = patched.run(name, node, is_of(name))
        patched.workloads.refused(pod, "no device matches")
        quiet = time.monotonic() + 2.5  # longer than any back-off
        until(lambda: time.monotonic() > quiet, "")
        patched.patch(name, {"pool": node}, attributes={"example.com/tier": text(name)})
        start = time.monotonic()
        patched.workloads.bound(pod)
        return time.monotonic() - start

    found = [MAX_SECONDS]
    for number in range(TRIES):
        found.append(seconds(f"woken-{number}"))
        print(f"bound after {found[-1]:.3f} s")
        if found[-1] < MAX_SECONDS:
            break
    assert found[-1] < MAX_SECONDS


def test_faulty_selector_is_told_on_the_patch(patched: Patched) -> None:
    """One event, which names the first device and why; to the others the patch applies."""
    node = patched.new_node()
    faulty = cel(f'device.attributes["{DRIVER}"].model == "a" || device.attributes["{DRIVER}"].absent == 1')
    made = patched.patch("faulty", {"pool": node, "selectors": [faulty]}, attributes={"example.com/tier": text("odd")})  # fmt: skip
    pod = patched.run("faulty", node, is_of("odd"))
    patched.workloads.bound(pod)
    assert patched.workloads.devices(pod) == ["r=d-0"]
    until(lambda: bool(patched.events(made)), "there is no event")
    (event,) = patched.events(made)
    assert event["reason"] == "FailedPatching"
    assert event["type"] == "Warning"
    assert event["message"].startswith(f"does not apply to {DRIVER}/{node}/d-1: ")
    assert "absent" in event["message"]


def test_class_that_does_not_exist(patched: Patched) -> None:
    """The patch applies to no device until there is one of that name."""
    node = patched.new_node()
    made = patched.patch("classy", {"pool": node, "deviceClassName": "later"}, attributes={"example.com/tier": text("classy")})  # fmt: skip
    pod = patched.run("classy", node, is_of("classy"))
    patched.workloads.refused(pod, "no device matches")
    until(lambda: bool(patched.events(made)), "there is no event")
    assert "later" in patched.events(made)[0]["message"]
    patched.workloads.add_class("later")
    assert patched.workloads.bound(pod) == node


def test_gate_is_off_in_the_sidecar(patched: Patched) -> None:
    """API server on, scheduler off: there are patches, without effect and without errors; they count again afterwards."""
    node, [sidecar] = patched.new_node(), patched.cluster.sidecars
    patched.patch("gate", {"pool": node}, attributes={"example.com/tier": text("gate")})
    sidecar.restart(apiServer={"featureGates": {GATE: False}})
    patched.cluster.leader()
    pod = patched.run("gate", node, is_of("gate"))
    patched.workloads.refused(pod, "no device matches")
    since = len(sidecar.logged())
    sidecar.restart(apiServer={"featureGates": {GATE: True}})
    patched.cluster.leader()
    assert patched.workloads.bound(pod) == node
    assert not [each for each in sidecar.logged()[:since] if each.get("level") == "error"]
