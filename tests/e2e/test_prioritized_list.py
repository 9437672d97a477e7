"""KEP-4816 on a real control plane: its stories, and its gate off and on at scheduler and API server while a workload runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from resourceapi.objects import Object
from tests.allocator.objects import DRIVER
from tests.e2e.control_plane import ApiServer
from tests.e2e.scheduled_pods import Workloads
from tests.e2e.scheduling_cluster import SchedulingCluster, scheduling_cluster, until

pytestmark = pytest.mark.e2e
EMULATED = "--emulated-version=1.36"
GATE = "DRAPrioritizedList"
OFF_AT_SERVER = f"--feature-gates={GATE}=false"
DISABLED = "request gpu: has subrequests, but the DRAPrioritizedList feature is disabled"


@contextlib.contextmanager
def _emulated(server: ApiServer) -> Iterator[None]:
    server.restart(EMULATED)
    yield


@pytest.fixture(scope="module")
def older() -> Iterator[SchedulingCluster]:
    """A cluster of release 1.36, the last in which the gate can be off."""
    # A kube-scheduler that is newer than the API server waits for kinds that this does not serve.
    with scheduling_cluster(
        replicas=1,
        config={"apiServer": {"release": "1.36"}},
        beside=_emulated,
        controller_flags=[EMULATED],
        scheduler_flags=[EMULATED],
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def workloads(older: SchedulingCluster) -> Workloads:
    found = Workloads(older.client)
    found.add_class()
    return found


def gpus(node: str, *models: str) -> list[Object]:
    """A slice of a node with a GPU of each model."""
    devices = [
        {"name": f"{model}-{place}", "attributes": {"model": {"string": model}}}
        for place, model in enumerate(models)
    ]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    return [{**kind, "metadata": {"name": node}, "spec": spec}]


def first_of(*wanted: tuple[str, int]) -> Object:
    """A spec that asks for some devices of a model, or else of the next."""
    alternatives = [
        {
            "name": model,
            "deviceClassName": "any",
            "count": count,
            "selectors": [{"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{model}'"}}],
        }
        for model, count in wanted
    ]
    return {"devices": {"requests": [{"name": "gpu", "firstAvailable": alternatives}]}}


def test_story_1(workloads: Workloads) -> None:
    """The latest model if there is one, else the one before, else two of an even older one, else the pod waits."""
    nodes = {"latest": ["c"], "before": ["b"], "older": ["a", "a"]}
    for node, models in nodes.items():
        workloads.add_node(node, gpus(node, *models))
    got = []
    for number in range(3):
        workloads.run(f"story-1-{number}", first_of(("c", 1), ("b", 1), ("a", 2)), nodes=nodes)
        workloads.bound(f"story-1-{number}")
        got.append(workloads.devices(f"story-1-{number}"))
    assert got == [["gpu/c=c-0"], ["gpu/b=b-0"], ["gpu/a=a-0", "gpu/a=a-1"]]
    workloads.run("story-1-3", first_of(("c", 1), ("b", 1), ("a", 2)), nodes=nodes)
    workloads.refused("story-1-3")


def test_story_2(workloads: Workloads) -> None:
    """One manifest for any cluster: here none has what is preferred, and there all have."""
    workloads.add_template("anywhere", first_of(("preferred", 1), ("acceptable", 1)))
    for node, models in {"modest": ["acceptable"], "rich": ["acceptable", "preferred"]}.items():
        workloads.add_node(node, gpus(node, *models))
        workloads.add_pod(f"story-2-{node}", template="anywhere", node=node)
        workloads.bound(f"story-2-{node}")
    assert workloads.devices("story-2-modest") == ["gpu/acceptable=acceptable-0"]
    assert workloads.devices("story-2-rich") == ["gpu/preferred=preferred-1"]


def test_better_node(workloads: Workloads) -> None:
    """A node that serves the first alternative is preferred, whatever its name and place."""
    for node, model in {"a-worse": "second", "b-better": "first", "c-worse": "second"}.items():
        workloads.add_node(node, gpus(node, model))
    workloads.run("ranked", first_of(("first", 1), ("second", 1)), nodes=("a-worse", "b-better", "c-worse"))
    assert workloads.bound("ranked") == "b-better"


def test_upgrade_downgrade_upgrade(older: SchedulingCluster, workloads: Workloads) -> None:
    """The sequence of the KEP, with pods whose claims come from a template, and one that runs all the time."""
    [sidecar] = older.sidecars
    workloads.add_node("gated", gpus("gated", *"xxxxxx"))
    workloads.add_template("list", first_of(("y", 1), ("x", 1)))

    def start(name: str) -> None:
        workloads.add_pod(name, template="list", node="gated")

    def gate_of_scheduler(is_on: bool) -> None:
        sidecar.restart(apiServer={"featureGates": {GATE: is_on}})
        older.leader()

    start("running")
    workloads.bound("running")
    before = workloads.claim("running")["status"]

    gate_of_scheduler(False)
    start("scheduler-off")
    workloads.refused("scheduler-off", DISABLED)

    # No claim with the field can be created any more; those that there are keep it.
    older.server.restart(EMULATED, OFF_AT_SERVER)
    older.leader()
    refused = workloads.create_claim("dropped", first_of(("x", 1)))
    assert refused.code == 422, refused.body
    start("both-off")
    until(
        lambda: bool(workloads.events("both-off", "FailedResourceClaimCreation")),
        "kube-controller-manager does not say why there is no claim",
    )
    workloads.refused("scheduler-off", DISABLED)

    gate_of_scheduler(True)
    assert workloads.bound("scheduler-off") == "gated"
    assert not workloads.pod("both-off")["spec"].get("nodeName")

    older.server.restart(EMULATED)
    older.leader()
    assert workloads.bound("both-off") == "gated"
    start("on-again")
    assert workloads.bound("on-again") == "gated"
    assert workloads.claim("running")["status"] == before
    assert workloads.bound("running") == "gated"


def test_server_becomes_newer(older: SchedulingCluster, workloads: Workloads) -> None:
    """The API server first, then the sidecar: each pair gives out devices, and knows what the one before has given."""
    [sidecar] = older.sidecars
    workloads.add_node("newer", gpus("newer", *"zzz"))
    for name in ("before", "server-newer", "both-newer"):
        if name == "server-newer":
            older.server.restart()
        elif name == "both-newer":
            sidecar.restart(apiServer={"release": "1.37"})
        older.leader()
        workloads.run(name, first_of(("z", 1)), node="newer")
        workloads.bound(name)
    got = [workloads.devices(name) for name in ("before", "server-newer", "both-newer")]
    assert got == [["gpu/z=z-0"], ["gpu/z=z-1"], ["gpu/z=z-2"]]
