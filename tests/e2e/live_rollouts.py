"""Asks `impact` about random changes of pod templates, makes them, and compares how far the rollouts come.

python -m tests.e2e.live_rollouts --seed 7 --count 20

kube-scheduler and kube-controller-manager are real; in place of kubelet, each pod that has a node is said to be ready.
"""

from __future__ import annotations

import contextlib
import io
import json
import operator
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from commandline.main import main as claimcheck
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from tests.e2e.control_plane import ApiServer
from tests.e2e.live_hunt import hunt
from tests.e2e.live_impact import DRIVER, NODES, cluster
from tests.e2e.live_objects import MERGE, LiveObjects
from tests.e2e.scheduling_cluster import until

_KINDS = (
    *("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod"),
    *("ResourceClaim", "ResourceClaimTemplate", "Node", "ResourceSlice", "DeviceClass"),
)
_SECONDS = 30.0
#: What is said has to stay so for so many looks.
_LOOKS = 20
_FORMER, _NEW = "former", "new"
#: The workload that changes, and one beside it.
_CHANGED, _OTHER = "web", "other"


class Outcome(NamedTuple):
    """How far a rollout comes: how many pods there are of the former and of the new template, and how many are on no node."""

    former: int
    new: int
    waiting: int


class LiveRollouts:
    """A random cluster at a server, a workload of which is changed."""

    def __init__(self, server: ApiServer) -> None:
        self.there = LiveObjects(server.client, ["default"], _KINDS)
        self._kubeconfig = str(server.kubeconfig)
        self.counted: Counter[str] = Counter()
        self._ready = 0

    def differences(self, seed: int) -> Iterator[tuple[str, Outcome, Outcome]]:
        """The kind of workload, how far it comes, and what `impact` says, unless that is the same."""
        random = Random(seed)
        workload = self._set_up(random)
        changed = _changed(random, workload)
        said = self._said(changed)
        is_same = _waits_alike if workload["kind"] == "DaemonSet" else operator.eq
        body = {"spec": {"template": {**changed["spec"]["template"], "$patch": "replace"}}}
        path = self.there.path(workload["kind"], _CHANGED)
        answer = self.there.client.ask(
            "PATCH", path, body, content_type="application/strategic-merge-patch+json"
        )
        assert answer.code == 200, answer.body
        with contextlib.suppress(AssertionError):
            until(lambda: self._comes_to(lambda found: is_same(found, said)), "", _SECONDS)
        found = self._outcome()
        self.counted[workload["kind"]] += 1
        self.counted["that end"] += not (found.former or found.waiting)
        self.counted["that make no step"] += not found.new - found.waiting
        if not is_same(found, said):
            yield json.dumps([workload["spec"], changed["spec"]["template"]["spec"]]), found, said

    def _comes_to(self, is_said: Callable[[Outcome], bool]) -> bool:
        for _ in range(_LOOKS):
            self._let_run()
            if not is_said(self._outcome()):
                return False
            time.sleep(0.05)
        return True

    def _set_up(self, random: Random) -> Object:
        self.there.clear()
        self._ready = 0
        resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        for node in NODES:
            status = {"capacity": resources, "allocatable": resources}
            self.there.make({"kind": "Node", "metadata": {"name": node}, "status": status})
            devices = [{"name": f"gpu-{number}"} for number in range(random.choice((1, 1, 2, 2, 3)))]
            pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
            spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": devices}
            self.there.make({"kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec})
        selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
        self.there.make(
            {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": selectors}}
        )
        for count in (1, 2):
            request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": count}}
            spec = {"spec": {"devices": {"requests": [request]}}}
            self.there.make(
                {"kind": "ResourceClaimTemplate", "metadata": {"name": f"gpus-{count}"}, "spec": spec}
            )
        workload = _workload(random)
        self.there.make(workload)
        until(lambda: self._is_settled(workload), "pods are neither placed nor refused", _SECONDS)
        if random.random() < 0.5:
            self.there.make(_deployment(_OTHER, random.choice((1, 2)), {}))
            until(lambda: self._is_settled(workload), "pods are neither placed nor refused", _SECONDS)
        return workload

    def _pods(self) -> list[Object]:
        return self.there.of("Pod")

    def _let_run(self) -> None:
        """Do what kubelet does with pods that have a node."""
        for pod in self._pods():
            status = mapping(pod, "status")
            if text(pod["spec"], "nodeName") and text(status, "phase") != "Running":
                # each much longer than the next: of pods of one age, ReplicaSets choose any
                self._ready += 1
                since = datetime.now(UTC) - timedelta(minutes=3 * 4 ** (9 - self._ready % 10))
                ready = {
                    "type": "Ready",
                    "status": "True",
                    "lastTransitionTime": f"{since:%Y-%m-%dT%H:%M:%SZ}",
                }
                conditions = [*entries(status, "conditions"), ready]
                path = f"{self.there.path('Pod', pod['metadata']['name'])}/status"
                body = {"status": {"phase": "Running", "conditions": conditions}}
                self.there.client.ask("PATCH", path, body, content_type=MERGE)

    def _is_settled(self, workload: Object) -> bool:
        """Whether all pods are there that come, and each is ready or refused."""
        self._let_run()
        pods = self._pods()
        numbers = Counter(text(each["metadata"]["labels"], "app") for each in pods)
        refused = {text(each["metadata"]["labels"], "app") for each in pods if _is_refused(each)}
        wanted = {_CHANGED: _wanted(workload)} | {
            each["metadata"]["name"]: each["spec"]["replicas"] for each in self.there.of("Deployment")
        }
        in_order = workload["kind"] == "StatefulSet"
        return all(
            numbers[name] == count or (in_order and name == _CHANGED and name in refused)
            for name, count in wanted.items()
        ) and all(text(each["status"], "phase") == "Running" or _is_refused(each) for each in pods)

    def _outcome(self) -> Outcome:
        pods = [each for each in self._pods() if text(each["metadata"]["labels"], "app") == _CHANGED]
        new = [each for each in pods if each["spec"]["containers"][0]["image"] == _NEW]
        waiting = [each for each in new if not text(each["spec"], "nodeName")]
        return Outcome(len(pods) - len(new), len(new), len(waiting))

    def _said(self, changed: Object) -> Outcome:
        before = self._outcome()
        with TemporaryDirectory() as directory:
            file = Path(directory) / "change.yaml"
            file.write_text(yaml.safe_dump({"apiVersion": "apps/v1", **changed}))
            with contextlib.redirect_stdout(io.StringIO()) as output:
                code = claimcheck(["impact", str(file), "--kubeconfig", self._kubeconfig, "-o", "json"])
        assert code in (0, 1), output.getvalue()
        answer: dict[str, Any] = json.loads(output.getvalue())
        (rollout,) = answer["rollouts"]
        assert code == (0 if rollout["ends"] else 1), output.getvalue()
        return Outcome(before.former - len(rollout["replaced"]), rollout["new"], rollout["waiting"])


def _waits_alike(found: Outcome, said: Outcome) -> bool:
    """Whether as many new pods have no place, and former ones are left or not: their controller comes to any node first."""
    return found.waiting == said.waiting and bool(found.former) == bool(said.former)


def _is_refused(pod: Object) -> bool:
    return any(
        each["type"] == "PodScheduled" and each["status"] == "False"
        for each in entries(mapping(pod, "status"), "conditions")
    )


def _wanted(workload: Object) -> int:
    return len(NODES) if workload["kind"] == "DaemonSet" else int(workload["spec"]["replicas"])


def _template(image: str, template: str) -> Object:
    claims = [{"name": "gpu", "resourceClaimTemplateName": template}] if template else []
    spec = {
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "c", "image": image}],
        **({"resourceClaims": claims} if claims else {}),
    }
    return {"metadata": {"labels": {"app": _CHANGED}}, "spec": spec}


def _deployment(name: str, replicas: int, strategy: Object) -> Object:
    template = _template(_FORMER, "gpus-1")
    template["metadata"]["labels"] = {"app": name}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template,
        **({"strategy": strategy} if strategy else {}),
    }
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def _workload(random: Random) -> Object:
    kind = random.choice(("Deployment", "Deployment", "StatefulSet", "DaemonSet"))
    if kind == "Deployment":
        share = (0, 1, 2, "25%", "50%", "100%")
        rolling = {"maxSurge": random.choice(share), "maxUnavailable": random.choice(share)}
        if rolling["maxSurge"] == rolling["maxUnavailable"] == 0:
            rolling["maxSurge"] = 1
        strategies: list[Object] = [
            {},
            {"type": "Recreate"},
            *[{"type": "RollingUpdate", "rollingUpdate": rolling}] * 3,
        ]
        return _deployment(_CHANGED, random.choice((1, 2, 3, 4, 6)), random.choice(strategies))
    selector = {"matchLabels": {"app": _CHANGED}}
    spec: Object = {
        "selector": selector,
        "template": _template(_FORMER, random.choice(("gpus-1", "gpus-1", "gpus-2"))),
    }
    if kind == "StatefulSet":
        spec |= {
            "replicas": random.choice((1, 2, 3, 4)),
            "serviceName": _CHANGED,
            "podManagementPolicy": random.choice(("OrderedReady", "Parallel")),
            "updateStrategy": {"rollingUpdate": {"partition": random.choice((0, 0, 1, 2))}},
        }
    else:
        other: Object = random.choice(
            ({}, {"maxUnavailable": 2}, {"maxUnavailable": 0, "maxSurge": 1}, {"maxUnavailable": "50%"})
        )
        spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": other}
    return {"kind": kind, "metadata": {"name": _CHANGED}, "spec": spec}


def _changed(random: Random, workload: Object) -> Object:
    template = _template(_NEW, random.choice(("gpus-1", "gpus-1", "gpus-2", "")))
    return {**workload, "spec": {**workload["spec"], "template": template}}


@contextlib.contextmanager
def _live() -> Iterator[LiveRollouts]:
    with cluster() as server:
        yield LiveRollouts(server)


if __name__ == "__main__":
    sys.exit(hunt("tests.e2e.live_rollouts", str(__doc__), "changes", _live()))
