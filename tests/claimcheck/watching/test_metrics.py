"""What `watch` tells Prometheus."""

from __future__ import annotations

from typing import Any

import pytest

from allocator.time_limit import TimeLimit
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.watching import device_counts
from claimcheck.watching.causes import (
    CAUSES,
    DEVICES,
    FITTING,
    IMPOSSIBLE,
    IN_USE,
    MISSING,
    NODES,
    NOT_EXPLAINED,
)
from claimcheck.watching.device_counts import (
    FREE,
    HELD,
    MOST_NAMES,
    NONE,
    OTHERS,
    SEVERAL,
    STRANDED,
    UNUSABLE,
    count_devices,
)
from claimcheck.watching.metrics import Metrics
from claimcheck.watching.pace import SECONDS
from claimcheck.watching.waiting_pods import QUIET_SECONDS
from resourceapi.objects import Object
from tests.claimcheck.watching.test_waiting_pods import DRIVER, Watched, pod

_ALLOCATABLE = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "2000"}}


class Counted(Watched):
    """A cluster whose first node has one GPU, which is held."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.metrics = Metrics(
            self.cluster, self.pods.causes, lambda: {"written": 2}, clock=lambda: self.now, **options
        )

    def node(
        self, name: str, devices: int, spec: Object | None = None, labels: Object | None = None, **pool: Any
    ) -> None:
        """Another one with so many GPUs."""
        metadata = {"name": name, "labels": labels or {}}
        self.put("Node", {"metadata": metadata, "spec": spec or {}, "status": _ALLOCATABLE})
        whole = {"name": name, "generation": 1, "resourceSliceCount": 1, **pool}
        listed = [{"name": f"gpu-{number}"} for number in range(devices)]
        self.put(
            "ResourceSlice",
            {
                "metadata": {"name": name},
                "spec": {"driver": DRIVER, "nodeName": name, "pool": whole, "devices": listed},
            },
        )

    def values(self) -> dict[str, float]:
        """The samples by name and labels."""
        lines = self.metrics.exposition()[0].decode().splitlines()
        samples = [line.removeprefix("claimcheck_watch_").rpartition(" ") for line in lines if line[0] != "#"]
        return {name: float(value) for name, _, value in samples}


def test_devices_are_counted_by_driver_and_class() -> None:
    counted = Counted()
    counted.node("node-2", 3)
    counted.node("node-3", 4, {"unschedulable": True})
    counted.node("node-4", 2, {"taints": [{"key": "a", "effect": "NoExecute"}]})
    counted.node("node-5", 1, resourceSliceCount=2)
    counted.node("node-6", 2)
    counted.metrics.refresh()
    values = counted.values()
    for name, of in (("devices", f'driver="{DRIVER}"'), ("class_devices", 'device_class="gpu"')):
        states = {
            state: values[f'{name}{{{of},state="{state}"}}'] for state in (FREE, HELD, STRANDED, UNUSABLE)
        }
        assert states == {FREE: 5, HELD: 1, STRANDED: 6, UNUSABLE: 1}
    assert values['class_largest_free_set{device_class="gpu"}'] == 3
    assert values["classes_not_counted"] == 0
    assert values["devices_timestamp_seconds"] > 0
    assert values['events_total{result="written"}'] == 2


def test_devices_are_counted_by_node_pool() -> None:
    counted = Counted(pool_label="pool")
    counted.node("node-2", 3, labels={"pool": "a"})
    counted.node("node-3", 2, labels={"pool": "a"})
    counted.node("node-4", 1, labels={"other": "b"})
    shared = {"name": "fabric", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "net.acme.example", "allNodes": True, "pool": shared, "devices": [{"name": "nic"}]}
    counted.put("ResourceSlice", {"metadata": {"name": "fabric"}, "spec": spec})
    counted.metrics.refresh()
    values = counted.values()
    found = {
        (pool, driver): (
            values[f'node_pool_devices{{driver="{driver}",node_pool="{pool}",state="{FREE}"}}'],
            values[f'node_pool_largest_free_set{{driver="{driver}",node_pool="{pool}"}}'],
        )
        for pool, driver in (("a", DRIVER), (NONE, DRIVER), (SEVERAL, "net.acme.example"))
    }
    assert list(found.values()) == [(5, 3), (1, 1), (1, 1)]
    assert values[f'node_pool_devices{{driver="{DRIVER}",node_pool="{NONE}",state="{HELD}"}}'] == 1


def test_without_a_label_nodes_have_no_pools() -> None:
    counted = Counted()
    counted.metrics.refresh()
    assert not any(name.startswith("node_pool") for name in counted.values())


def test_node_pools_are_bounded() -> None:
    """Each node may have another value."""
    counted = Counted(pool_label="pool")
    for number in range(MOST_NAMES + 5):
        counted.node(f"n-{number:03}", 1, labels={"pool": f"p-{number:03}"})
    counted.metrics.refresh()
    pools = [name for name in counted.values() if name.startswith("node_pool_largest_free_set")]
    assert len(pools) == MOST_NAMES + 1
    assert (
        counted.values()[f'node_pool_devices{{driver="{OTHERS}",node_pool="{OTHERS}",state="{FREE}"}}'] == 6
    )


def test_devices_with_taints_are_stranded() -> None:
    counted = Counted()
    counted.node("node-2", 3)
    rule = {"deviceSelector": {"pool": "node-2"}, "taint": {"key": "a", "effect": "NoSchedule"}}
    counted.put("DeviceTaintRule", {"metadata": {"name": "a"}, "spec": rule})
    counted.metrics.refresh()
    assert counted.values()[f'devices{{driver="{DRIVER}",state="{STRANDED}"}}'] == 3


def test_devices_are_counted_now_and_then_if_something_has_changed() -> None:
    counted = Counted()
    free = f'devices{{driver="{DRIVER}",state="{FREE}"}}'
    counted.metrics.refresh()
    counted.node("node-2", 3)
    counted.now += SECONDS / 2
    counted.metrics.refresh()
    assert counted.values()[free] == 0
    counted.now += SECONDS / 2
    counted.metrics.refresh()
    assert counted.values()[free] == 3


def test_there_are_no_more_names_than_a_bound() -> None:
    counted = Counted()
    for number in range(MOST_NAMES + 1):
        counted.put("DeviceClass", {"metadata": {"name": f"class-{number:03}"}, "spec": {}})
    state, _ = counted.cluster.state()
    found = count_devices(ClusterDevices(state, TimeLimit(60)), TimeLimit(60)).classes
    assert len(found) == MOST_NAMES + 1
    assert found[OTHERS].states[HELD] == 2  # the one device, of the last of them and of the class gpu


def test_classes_whose_selectors_take_too_long_are_left_out() -> None:
    counted = Counted()
    state, _ = counted.cluster.state()
    found = count_devices(ClusterDevices(state, TimeLimit(60)), TimeLimit(0))
    assert (dict(found.classes), found.unknown) == ({}, 1)
    assert found.drivers[DRIVER].states[HELD] == 1


def test_classes_are_asked_of_some_devices_after_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they are asked of is let go of then: it took 40 MB of 5,000 nodes whose devices all have a serial number."""
    monkeypatch.setattr(device_counts, "AT_ONCE", 2)
    counted = Counted()
    pool = {"name": "node-2", "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"gpu-{each}", "attributes": {"serial": {"int": each}}} for each in range(7)]
    spec = {"driver": DRIVER, "nodeName": "node-2", "pool": pool, "devices": listed}
    counted.put("ResourceSlice", {"metadata": {"name": "node-2"}, "spec": spec})
    expression = f'device.attributes["{DRIVER}"].?serial.orValue(0) > 2'
    odd = {"selectors": [{"cel": {"expression": expression}}]}
    counted.put("DeviceClass", {"metadata": {"name": "late"}, "spec": odd})
    state, _ = counted.cluster.state()
    devices = ClusterDevices(state, TimeLimit(60))
    found = count_devices(devices, TimeLimit(60)).classes
    assert {name: sum(each.states.values()) for name, each in found.items()} == {"gpu": 8, "late": 4}
    assert not any("prepared" in vars(each.shape.properties) for each in devices)


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a\nb"])
def test_names_are_escaped(text: str) -> None:
    """API servers refuse such names; a proxy may not."""
    counted = Counted()
    counted.put("DeviceClass", {"metadata": {"name": text}, "spec": {}})
    counted.metrics.refresh()
    shown = text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    assert f'class_largest_free_set{{device_class="{shown}"}}' in counted.values()


def test_pods_are_counted_by_cause() -> None:
    counted = Counted()
    counted.node("node-2", 1, {"unschedulable": True})
    counted.waits("in-use")
    counted.waits("impossible", count=3)
    counted.waits("no-node", spec={"nodeSelector": {"a": "b"}})
    counted.put("Pod", pod("missing"))
    counted.pods.look()
    assert counted.values()[f'waiting_pods{{cause="{NOT_EXPLAINED}"}}'] == 4
    counted.after(QUIET_SECONDS)
    found = {cause: counted.values()[f'waiting_pods{{cause="{cause}"}}'] for cause in CAUSES}
    assert {cause: count for cause, count in found.items() if count} == {
        IN_USE: 1,
        IMPOSSIBLE: 1,
        NODES: 1,
        MISSING: 1,
    }
    counted.claim("train")
    counted.after(60.0)
    assert counted.values()[f'waiting_pods{{cause="{FITTING}"}}'] == 1
    assert counted.values()[f'waiting_pods{{cause="{DEVICES}"}}'] == 1  # nothing is in use that could be
