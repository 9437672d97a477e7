"""KEP-5963 on a real control plane, with the built-in API and with CRDs: the examples, and what snapshots are for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from resourceapi.objects import Object
from tests.e2e.scheduled_pods import Workloads
from tests.e2e.scheduling_cluster import SERVER_FLAGS, SchedulingCluster, scheduling_cluster
from tests.e2e.scheduling_modes import BUILT_IN, CRDS, cluster_with_crds
from tests.scheduler.group_scenes import COUNTERS, MIG, SCENES, VGPU, Part, Scene, slices, spec_asking

pytestmark = pytest.mark.e2e
GATE = "DRADeviceCompatibilityGroups"
ON = f"--feature-gates={GATE}=true"
REFUSAL = "request gpu: too few devices left after compatibility groups"
PARTS = (*MIG, *VGPU)


@contextlib.contextmanager
def cluster_with_groups(mode: str) -> Iterator[SchedulingCluster]:
    """A cluster in which slices may have compatibility groups, with one sidecar."""
    if mode == BUILT_IN:
        flags, config = [*SERVER_FLAGS, ON], {"apiServer": {"featureGates": {GATE: True}}}
        with scheduling_cluster(replicas=1, server_flags=flags, config=config) as cluster:
            yield cluster
        return
    with cluster_with_crds() as cluster:
        yield cluster


class Groups:
    """A cluster, and names for the objects of each test."""

    def __init__(self, mode: str, cluster: SchedulingCluster) -> None:
        self.mode = mode
        self.cluster = cluster
        self.workloads = Workloads(cluster.client)
        self.workloads.add_class()
        self._asked = 0

    def ask(self, type: str, *nodes: str) -> str:
        """The name of a pod that asks for a part of a type on these nodes."""
        self._asked += 1
        name = f"{type}-{self._asked}"
        self.workloads.run(name, spec_asking(type), nodes=nodes)
        return name

    def expect(self, pod: str, device: str | None) -> None:
        """Wait until a pod has got a device; None: until it is refused for what is in use."""
        if device is None:
            self.workloads.refused(pod, REFUSAL)
        else:
            self.workloads.bound(pod)
            assert self.workloads.devices(pod) == [f"gpu={device}"]

    def expect_new(self, type: str, node: str, device: str | None) -> None:
        """The same for a new pod on a node."""
        self.expect(self.ask(type, node), device)

    def snapshot(self, pod: str) -> object:
        """The groups that the claim of a pod remembers, as the API server has them."""
        devices = self.workloads.allocation(pod)["devices"]
        if self.mode == CRDS:
            assert "config" not in devices
            return devices["results"][0].get("compatibilityGroups")
        assert "compatibilityGroups" not in devices["results"][0]
        if "config" not in devices:
            return None
        [entry] = devices["config"]
        [result] = entry["opaque"]["parameters"]["results"]
        return result["compatibilityGroups"]


@pytest.fixture(scope="module", params=[BUILT_IN, CRDS])
def groups(request: pytest.FixtureRequest) -> Iterator[Groups]:
    with cluster_with_groups(request.param) as cluster:
        yield Groups(request.param, cluster)


@pytest.mark.parametrize("name", SCENES)
def test_examples(groups: Groups, name: str) -> None:
    """Each pod gets the device that KEP-5963 says, or waits; claims remember the groups of their devices, and no others."""
    scene: Scene = SCENES[name]
    groups.workloads.add_node(name, slices(scene.parts, name))
    declared = {part.name: part.groups for part in scene.parts}
    for type, expected in scene.asked:
        pod = groups.ask(type, name)
        groups.expect(pod, expected)
        if expected is not None:
            remembered = {COUNTERS: sorted(declared[expected])} if declared[expected] else None
            assert groups.snapshot(pod) == remembered


def test_another_node_admits(groups: Groups) -> None:
    """A pod that one node refuses is bound to another one that has what goes together."""
    for node in ("one", "other"):
        groups.workloads.add_node(node, slices(PARTS, node))
    groups.expect_new("mig", "one", "mig-0")
    pod = groups.ask("vgpu", "one", "other")
    assert groups.workloads.bound(pod) == "other"


def _devices_slice(parts: tuple[Part, ...], node: str) -> Object:
    return next(each for each in slices(parts, node) if "devices" in each["spec"])


@pytest.mark.parametrize("now", [(), ("vgpu",)], ids=["removed", "changed"])
def test_mutated_slice(groups: Groups, now: tuple[str, ...]) -> None:
    """A sidecar that has just started judges by what the claim remembers, not by what the slice says by now."""
    node = f"mutated-{len(now)}"
    groups.workloads.add_node(node, slices(PARTS, node))
    groups.expect_new("mig", node, "mig-0")
    changed = tuple(part._replace(groups=now) if part.name == "mig-0" else part for part in PARTS)
    groups.workloads.replace_slice(_devices_slice(changed, node))
    groups.cluster.sidecars[0].restart()
    groups.cluster.leader()
    groups.expect_new("vgpu", node, None)
    groups.expect_new("mig", node, "mig-1")


def test_released(groups: Groups) -> None:
    """A pod that waits for the groups of another one's device gets its own when the other one is gone."""
    groups.workloads.add_node("freed", slices(PARTS, "freed"))
    groups.workloads.add_template("mig", spec_asking("mig"))
    groups.workloads.add_pod("holder", template="mig", node="freed")
    groups.workloads.bound("holder")
    waiting = groups.ask("vgpu", "freed")
    groups.expect(waiting, None)
    groups.workloads.delete_pod("holder")
    assert groups.workloads.bound(waiting) == "freed"


def test_upgrade_downgrade_upgrade(groups: Groups) -> None:
    """Without the gate nothing is given out that cannot be judged, and what is allocated stays; with it, all is as before."""
    node, [sidecar] = "upgraded", groups.cluster.sidecars
    groups.workloads.add_node(node, slices((*PARTS, Part("plain-0", 20)), node))
    groups.workloads.add_node("without", slices((Part("plain-0", 20),), "without"))
    running = groups.ask("mig", node)
    groups.expect(running, "mig-0")
    before = groups.workloads.claim(running)
    sidecar.restart(apiServer={"featureGates": {GATE: False}})
    groups.cluster.leader()
    waiting = [groups.ask(type, node) for type in ("mig", "plain")]
    for each in waiting:
        groups.workloads.refused(each)
    groups.expect_new("plain", "without", "plain-0")
    sidecar.restart(apiServer={"featureGates": {GATE: True}})
    groups.cluster.leader()
    assert groups.workloads.bound(waiting[0]) == node
    groups.expect_new("vgpu", node, None)
    assert groups.workloads.claim(running)["status"] == before["status"]
