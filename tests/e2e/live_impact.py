"""Asks `impact` about random changes of random clusters, makes the changes, and compares what comes of them.

python -m tests.e2e.live_impact --seed 7 --count 20

kube-scheduler and kube-controller-manager are real; there is no kubelet, so that pods never run, and end at once.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from commandline.main import main as claimcheck
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from tests.e2e.control_plane import ApiServer, component, control_plane
from tests.e2e.live_hunt import hunt
from tests.e2e.live_objects import LiveObjects
from tests.e2e.programs import Program
from tests.e2e.scheduling_cluster import until

DRIVER = "gpu.example.com"
MODELS = ("a100", "h100")
NODES = ("node-1", "node-2", "node-3")
_CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "resourceclaim-controller",
    "device-taint-eviction-controller",
    "taint-eviction-controller",
    "garbage-collector-controller",
    "resourcequota-controller",
)
_KINDS = (
    "Deployment",
    "ReplicaSet",
    "Pod",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "Node",
    "ResourceSlice",
    "DeviceClass",
    "DeviceTaintRule",
    "ResourceQuota",
)
#: What kube-scheduler is started without by a change, and what that change is called.
PARTITIONS, _GATE_OFF = "DRAPartitionableDevices", "a gate off and a drain"
#: The name of a Deployment that a change adds.
NEW = "new"
_RATE = ["--kube-api-qps=500", "--kube-api-burst=1000"]
_SECONDS = 30.0


class Change(NamedTuple):
    """A change: the arguments of `impact`, with the objects of a file, and what makes it."""

    arguments: Sequence[str]
    objects: Sequence[Object]
    make: Callable[[LiveObjects], None]


class Outcome(NamedTuple):
    """What comes of a change.

    :param leaving: the pods that leave their nodes.
    :param pending: how many pods of each owner, or which pods without one, are on no node.
    """

    leaving: frozenset[str]
    pending: Counter[str]


@contextlib.contextmanager
def cluster(flags: Sequence[str] | None = None) -> Iterator[ApiServer]:
    """A control plane with a scheduler and the controllers that make, evict and clean up after pods.

    :param flags: other ones of kube-apiserver than the profile's.
    """
    with cluster_and_scheduler(flags) as (server, _):
        yield server


@contextlib.contextmanager
def cluster_and_scheduler(flags: Sequence[str] | None = None) -> Iterator[tuple[ApiServer, Program]]:
    """The same with kube-scheduler as a program."""
    with (
        control_plane("1.37", flags=flags) as server,
        component(server, "kube-controller-manager", [f"--controllers={','.join(_CONTROLLERS)}", *_RATE]),
        component(server, "kube-scheduler", _RATE) as scheduler,
    ):
        server.client.ask("DELETE", "/api/v1/nodes/node-a")
        yield server, scheduler


def _slice(random: Random, node: str, generation: int = 1) -> Object:
    model = random.choice(MODELS)
    devices = [
        {"name": f"gpu-{number}", "attributes": {"model": {"string": model}}}
        for number in range(random.choice((1, 2, 3)))
    ]
    pool = {"name": node, "generation": generation, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
    return {"kind": "ResourceSlice", "metadata": {"name": f"{node}-gpus"}, "spec": spec}


def _partitioned(slice: Object) -> list[Object]:
    """The same devices as parts of one that has enough for all of them; kube-scheduler needs a gate for that."""
    devices = slice["spec"]["devices"]
    pool = {**slice["spec"]["pool"], "resourceSliceCount": 2}
    used = [{"counterSet": "whole", "counters": {"parts": {"value": "1"}}}]
    counters = [{"name": "whole", "counters": {"parts": {"value": str(len(devices))}}}]
    common = {"driver": DRIVER, "nodeName": slice["spec"]["nodeName"], "pool": pool}
    name = f"{slice['metadata']['name']}-counters"
    return [
        {**slice, "spec": {**common, "devices": [{**each, "consumesCounters": used} for each in devices]}},
        {**slice, "metadata": {"name": name}, "spec": {**common, "sharedCounters": counters}},
    ]


def _class(name: str, expression: str) -> Object:
    selectors = [{"cel": {"expression": expression}}]
    return {"kind": "DeviceClass", "metadata": {"name": name}, "spec": {"selectors": selectors}}


def _of_model(model: str) -> str:
    return f'device.attributes["{DRIVER}"].model == "{model}"'


def _template(random: Random, name: str) -> Object:
    exactly: Object = {"deviceClassName": random.choice(("any", *MODELS))}
    if random.random() < 0.3:
        toleration = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}
        exactly["tolerations"] = [toleration]
    spec = {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}}
    return {"kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}


def _pod_spec(template: str) -> Object:
    return {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": "x"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
    }


def _deployment(random: Random, name: str) -> Iterator[Object]:
    yield _template(random, name)
    labels = {"app": name}
    spec = {
        "replicas": random.choice((1, 2)),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": _pod_spec(name)},
    }
    yield {"kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def _workloads(random: Random) -> Iterator[Object]:
    for number in range(random.choice((2, 3))):
        yield from _deployment(random, f"web-{number}")
    for number in range(random.choice((1, 2))):
        name = f"single-{number}"
        yield _template(random, name)
        yield {"kind": "Pod", "metadata": {"name": name}, "spec": _pod_spec(name)}


class LiveCluster:
    """A random cluster at a server, to which one change is made."""

    def __init__(self, server: ApiServer, scheduler: Program | None = None) -> None:
        """Make it.

        :param scheduler: kube-scheduler, if it may be started again with other gates.
        """
        self._scheduler, self._has_flags = scheduler, False
        self.there = LiveObjects(server.client, ["default"], _KINDS)
        self._kubeconfig = str(server.kubeconfig)
        self.counted: Counter[str] = Counter()

    def differences(self, seed: int) -> Iterator[tuple[str, Outcome, Outcome]]:
        """The change, what comes of it, and what `impact` says, unless that is the same but for which of waiting pods are first."""
        random = Random(seed)
        self.set_up(random)
        kind = random.choice([*_CHANGES, *([_GATE_OFF] if self._scheduler is not None else [])])
        change = self._gate_off(random) if kind == _GATE_OFF else _CHANGES[kind](random, self.there)
        before = self._on_nodes()
        waiting = self.waiting()
        said = self._said(change, waiting)
        change.make(self.there)

        def outcome() -> Outcome:
            return Outcome(frozenset(before - self._on_nodes()), self.waiting())

        with contextlib.suppress(AssertionError):
            until(lambda: outcome() == said and self._is_settled(), "", _SECONDS)
        found = outcome()
        self.counted[kind] += 1
        self.counted["pods leave"] += len(found.leaving)
        self.counted["pods pend or start"] += abs(found.pending.total() - waiting.total())
        if found.leaving == said.leaving and found.pending.total() == said.pending.total():
            # of pods that could have the same devices, kube-scheduler comes to any first
            self.counted["in another order"] += found != said
        else:
            yield kind, found, said

    def _gate_off(self, random: Random) -> Change:
        """Together with a drain: whose pods come again, and do not get the same devices."""
        gate, drain = f"{PARTITIONS}=false", _drain(random, self.there)

        def make(there: LiveObjects) -> None:
            self._start_scheduler(f"--feature-gates={gate}")
            drain.make(there)

        return Change(["--to-feature-gates", gate, *drain.arguments], [], make)

    def _start_scheduler(self, *flags: str) -> None:
        if self._scheduler is not None:
            self._scheduler.stop()
            self._scheduler.start(*flags)
            self._has_flags = bool(flags)

    def set_up(self, random: Random) -> None:
        """Make a random cluster, the pods of which are placed, or cannot be."""
        if self._has_flags:
            self._start_scheduler()
        self.there.clear()
        resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        for node in NODES:
            status = {"capacity": resources, "allocatable": resources}
            self.there.make({"kind": "Node", "metadata": {"name": node}, "status": status})
            slice = _slice(random, node)
            for each in _partitioned(slice) if random.random() < 0.3 else [slice]:
                self.there.make(each)
        self.there.make(_class("any", f'device.driver == "{DRIVER}"'))
        for model in MODELS:
            self.there.make(_class(model, _of_model(model)))
        for each in _workloads(random):
            self.there.make(each)
        until(self._is_settled, "pods are neither placed nor refused", _SECONDS)

    def _pods(self) -> list[Object]:
        return self.there.of("Pod")

    def _is_settled(self) -> bool:
        """Whether all pods are there that are wanted, and kube-scheduler has placed or refused each that gets its claims."""
        pods, has_quota = self._pods(), bool(self.there.of("ResourceQuota"))
        templates = {each["metadata"]["name"] for each in self.there.of("ResourceClaimTemplate")}
        owners = Counter(_owner(each) for each in pods)
        wanted = {each["metadata"]["name"]: each["spec"]["replicas"] for each in self.there.of("Deployment")}
        return all(owners[name] == count for name, count in wanted.items()) and all(
            text(each["spec"], "nodeName")
            or any(one["type"] == "PodScheduled" for one in entries(mapping(each, "status"), "conditions"))
            or ((has_quota or _owner(each) not in templates) and _has_no_claim(each))
            for each in pods
        )

    def _on_nodes(self) -> set[str]:
        return {each["metadata"]["name"] for each in self._pods() if text(each["spec"], "nodeName")}

    def waiting(self) -> Counter[str]:
        """How many pods of each owner are on no node."""
        return Counter(_owner(each) for each in self._pods() if not text(each["spec"], "nodeName"))

    def _said(self, change: Change, waiting: Counter[str]) -> Outcome:
        with TemporaryDirectory() as directory:
            files = []
            if change.objects:
                file = Path(directory) / "change.yaml"
                file.write_text(yaml.safe_dump_all(change.objects))
                files.append(str(file))
            with contextlib.redirect_stdout(io.StringIO()) as output:
                code = claimcheck(
                    ["impact", *files, *change.arguments, "--kubeconfig", self._kubeconfig, "-o", "json"]
                )
        assert code in (0, 1), output.getvalue()
        answer: dict[str, Any] = json.loads(output.getvalue())
        owners = {f"Pod default/{each['metadata']['name']}": _owner(each) for each in self._pods()}
        leaving = frozenset(each["pod"].partition("/")[2] for each in answer["leaving"])
        owners |= {f"Deployment default/{NEW}{number}": NEW for number in ("", "-0", "-1")}
        pending = Counter(owners[pod] for group in answer["pending"] for pod in group["pods"])
        starting = Counter(owner for each in answer["starting"] if (owner := owners[each["pod"]]) != NEW)
        unmade = Counter(owners[each["pod"]] for each in answer["waiting"])
        return Outcome(leaving, waiting + pending + unmade - starting)


def _has_no_claim(pod: Object) -> bool:
    """Whether its claim is not made, so that kube-scheduler says nothing of it."""
    return not entries(mapping(pod, "status"), "resourceClaimStatuses")


def _owner(pod: Object) -> str:
    """Its Deployment, or itself."""
    return text(mapping(pod, "metadata", "labels"), "app") or str(pod["metadata"]["name"])


# --- changes


def _taint(random: Random, there: LiveObjects) -> Change:
    spec: Object = {"taint": {"key": "maintenance", "effect": random.choice(("NoExecute", "NoSchedule"))}}
    spec["deviceSelector"] = random.choice(
        (
            {"driver": DRIVER},
            {"pool": random.choice(NODES)},
            {"pool": random.choice(NODES), "device": "gpu-0"},
        )
    )
    rule = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "maintenance"},
        "spec": spec,
    }
    return Change([], [rule], lambda there: there.make(rule))


def _drain(random: Random, there: LiveObjects) -> Change:
    node = random.choice(NODES)

    def make(there: LiveObjects) -> None:
        there.patch("Node", node, {"spec": {"unschedulable": True}})
        for pod in there.of("Pod"):
            if text(pod["spec"], "nodeName") == node:
                there.delete("Pod", pod["metadata"]["name"])

    return Change(["--drain", node], [], make)


def _template_deleted(random: Random, there: LiveObjects) -> Change:
    """Together with a drain: whose pods come again, and find none."""
    name = random.choice(there.of("ResourceClaimTemplate"))["metadata"]["name"]
    drain = _drain(random, there)

    def make(there: LiveObjects) -> None:
        there.delete("ResourceClaimTemplate", name)
        drain.make(there)

    return Change([f"--delete=resourceclaimtemplate/{name}", *drain.arguments], [], make)


def _node_taint(random: Random, there: LiveObjects) -> Change:
    node = there.get("Node", random.choice(NODES))
    name, effect = node["metadata"]["name"], random.choice(("NoExecute", "NoSchedule"))
    tainted = {"spec": {"taints": [{"key": "maintenance", "effect": effect}]}}
    known = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": node["status"]}
    return Change([], [{**known, **tainted}], lambda there: there.patch("Node", name, tainted))


def _cordon(random: Random, there: LiveObjects) -> Change:
    node = random.choice(NODES)
    return Change(
        ["--cordon", node], [], lambda there: there.patch("Node", node, {"spec": {"unschedulable": True}})
    )


def _pod_deleted(random: Random, there: LiveObjects) -> Change:
    placed = [each for each in there.of("Pod") if text(each["spec"], "nodeName")]
    if not placed:
        return _cordon(random, there)
    name = random.choice(placed)["metadata"]["name"]
    return Change(["--delete", f"pod/{name}"], [], lambda there: there.delete("Pod", name))


def _class_changed(random: Random, there: LiveObjects) -> Change:
    name = random.choice(("any", *MODELS))
    changed = {"apiVersion": "resource.k8s.io/v1", **_class(name, _of_model(random.choice(MODELS)))}
    return Change([], [changed], lambda there: there.patch("DeviceClass", name, {"spec": changed["spec"]}))


def _class_deleted(random: Random, there: LiveObjects) -> Change:
    name = random.choice(("any", *MODELS))
    return Change(["--delete", f"deviceclass/{name}"], [], lambda there: there.delete("DeviceClass", name))


def _slice_changed(random: Random, there: LiveObjects) -> Change:
    changed = {"apiVersion": "resource.k8s.io/v1", **_slice(random, random.choice(NODES), generation=2)}
    name = changed["metadata"]["name"]
    return Change([], [changed], lambda there: there.patch("ResourceSlice", name, {"spec": changed["spec"]}))


def _deployment_added(random: Random, there: LiveObjects) -> Change:
    template, deployment = _deployment(random, NEW)
    objects = [{"apiVersion": "resource.k8s.io/v1", **template}, {"apiVersion": "apps/v1", **deployment}]

    def make(there: LiveObjects) -> None:
        for each in objects:
            there.make(each)

    return Change([], objects, make)


def _quota(random: Random, there: LiveObjects) -> Change:
    """All that was used may be used again, or nothing: of some quota it is not known which pod gets it first."""
    used = len(there.of("ResourceClaim"))
    limit = {"count/resourceclaims.resource.k8s.io": str(random.choice((0, used)))}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "claims"},
        "spec": {"hard": limit},
    }
    drain = _drain(random, there)

    def make(there: LiveObjects) -> None:
        there.make(quota)
        until(lambda: "used" in mapping(there.of("ResourceQuota")[0], "status"), "is not counted", _SECONDS)
        drain.make(there)

    return Change(drain.arguments, [quota], make)


_CHANGES: dict[str, Callable[[Random, LiveObjects], Change]] = {
    "a taint rule": _taint,
    "a drain": _drain,
    "a cordon": _cordon,
    "a template deleted and a drain": _template_deleted,
    "a taint of a node": _node_taint,
    "a pod deleted": _pod_deleted,
    "a class changed": _class_changed,
    "a class deleted": _class_deleted,
    "a slice changed": _slice_changed,
    "a quota and a drain": _quota,
    "a deployment added": _deployment_added,
}


@contextlib.contextmanager
def _live() -> Iterator[LiveCluster]:
    with cluster_and_scheduler() as (server, scheduler):
        yield LiveCluster(server, scheduler)


if __name__ == "__main__":
    sys.exit(hunt("tests.e2e.live_impact", str(__doc__), "changes", _live()))
