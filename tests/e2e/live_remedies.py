"""Carries out what `claimcheck explain` suggests, at a real server with kube-scheduler and the owners of pods.

python -m tests.e2e.live_remedies --seed 7 --count 50

Each cluster is random, and has a pod `w` that waits. Every remedy is carried out by itself: in other objects, or in a pod that is
made anew; then kube-scheduler has to place it on a node that the remedy names.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allocator.features import GATES
from commandline.main import main as claimcheck
from resourceapi.gates import UNRELEASED_GATES
from resourceapi.objects import Object
from tests.commandline.explain.carried_out import APPLIED, Objects
from tests.e2e.client import Client
from tests.e2e.random_waiting import NAMESPACE, WAITING, objects_of
from tests.e2e.scheduling_cluster import SchedulingCluster, scheduling_cluster, until

_GATES = "--feature-gates=" + ",".join(
    f"{gate}=true" for gate in sorted(GATES - {"DRAPrioritizedList"} - UNRELEASED_GATES.keys())
)
_OWNERS = "--controllers=deployment,replicaset,job,statefulset,daemonset"
#: Where the objects of a kind are.
PATHS = {
    "Node": "/api/v1/nodes",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "DeviceTaintRule": "/apis/resource.k8s.io/v1/devicetaintrules",
    "ResourceClaimTemplate": f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaimtemplates",
    "ResourceClaim": f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims",
    "Deployment": f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments",
    "StatefulSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets",
    "DaemonSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets",
    "ReplicaSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets",
    "Job": f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs",
    "Pod": f"/api/v1/namespaces/{NAMESPACE}/pods",
}
_OWNING = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
_MERGE = "application/merge-patch+json"


class Trial(NamedTuple):
    """A remedy that was carried out; `node`: where the pod was placed then, empty if it was not in time."""

    seed: int
    remedy: Object
    node: str

    @property
    def helped(self) -> bool:
        return self.node in self.remedy["names"]


@contextlib.contextmanager
def cluster_with_owners() -> Iterator[SchedulingCluster]:
    """A control plane with kube-scheduler as it is, and controllers for all that makes pods."""
    flags = [_GATES, "--runtime-config=api/all=true"]
    with scheduling_cluster(
        replicas=0, server_flags=flags, controller_flags=[_OWNERS, _GATES], scheduler_flags=[_GATES]
    ) as cluster:
        cluster.client.ask("DELETE", "/api/v1/nodes/node-a")
        yield cluster


class Live:
    """A random cluster at a server, and the pod that waits in it."""

    def __init__(self, cluster: SchedulingCluster, seconds: float) -> None:
        """`seconds`: how long a pod is waited for that a remedy should have helped."""
        self.client: Client = cluster.client
        self.kubeconfig = str(cluster.server.kubeconfig)
        self._seconds = seconds

    def trials(self, seed: int) -> Iterator[Trial]:
        """All remedies, each carried out; releases end pods, so that each needs the cluster anew."""
        objects = objects_of(seed)
        if not self._set_up(objects):
            return
        found = self.remedies()
        for remedy in found:
            if not _releases(remedy):
                yield self._tried(seed, remedy, restore=objects)
        count = sum(map(_releases, found))
        for place in range(count):
            if place and not self._set_up(objects):
                return
            releases = [each for each in self.remedies() if _releases(each)]
            if place < len(releases):
                yield self._tried(seed, releases[place])

    def remedies(self) -> list[Object]:
        """What is suggested for the pod."""
        with contextlib.redirect_stdout(io.StringIO()) as output:
            claimcheck(
                ["explain", f"pod/{WAITING}", "-n", NAMESPACE, "--kubeconfig", self.kubeconfig, "-o", "json"]
            )
        found: list[Object] = json.loads(output.getvalue())["objects"][0].get("remedies", [])
        return found

    def _tried(self, seed: int, remedy: Object, restore: Sequence[Object] = ()) -> Trial:
        before = self._objects()
        after = copy.deepcopy(before)
        for each in remedy.get("changes", [remedy]):
            if each["kind"] == "release":
                self._release(each["text"])
            else:
                APPLIED[each["kind"]](after, each)
        self._change(before.cluster, after.cluster)
        self._replace(after.workloads)
        node = ""
        with contextlib.suppress(AssertionError):
            until(lambda: bool(self.node(WAITING)), "", self._seconds)
            node = self.node(WAITING)
        if restore:
            self._change(after.cluster, before.cluster)
            self._replace([each for each in restore if _is_own(each)])
            until(self._is_refused, f"seed {seed}: the pod does not wait after {remedy['text']}")
        return Trial(seed, remedy, node)

    # --- what there is

    def _set_up(self, objects: Sequence[Object]) -> bool:
        """Make all of it; whether the pod waits then."""
        self.clear()
        self.client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        for each in objects:
            if not _is_own(each):
                self._make(each)
        until(self._is_settled, lambda: f"pods wait that should not: {self._unplaced()}")
        for each in objects:
            if _is_own(each):
                self._make(each)
        until(lambda: bool(self.node(WAITING)) or self._is_refused(), "nobody looks at the pod")
        return not self.node(WAITING)

    def clear(self) -> None:
        """Delete all that tests have made."""
        background = {"propagationPolicy": "Background"}
        for kind in (*_OWNING, "Pod", "ResourceClaim", "ResourceClaimTemplate", *PATHS):
            self.client.ask("DELETE", PATHS[kind], query=background)

        def is_clear() -> bool:
            left = [kind for kind in PATHS if kind != "Node" and self._list(kind)]
            for kind in left:
                self.client.ask("DELETE", PATHS[kind], query=background)
            return not left

        until(is_clear, "objects are not deleted")

    def _unplaced(self) -> list[str]:
        return [each["metadata"]["name"] for each in self._list("Pod") if not each["spec"].get("nodeName")]

    def _is_settled(self) -> bool:
        """Whether each owner has as many pods as it wants, and all that can be are on nodes."""
        pods = self._list("Pod")
        wanted = sum(_copies(each) for kind in (*_OWNING[:-2], "Job") for each in self._list(kind))
        made = [each for each in pods if each["metadata"].get("ownerReferences")]
        return len(made) >= wanted and all(each["spec"].get("nodeName") or _refused(each) for each in pods)

    def _is_refused(self) -> bool:
        return _refused(self.client.ask("GET", f"{PATHS['Pod']}/{WAITING}").body)

    def node(self, pod: str) -> str:
        """Where a pod is; empty if it is nowhere."""
        return str(self.client.ask("GET", f"{PATHS['Pod']}/{pod}").body.get("spec", {}).get("nodeName", ""))

    def _objects(self) -> Objects:
        """Pods that wait, with what they ask for, and the rest."""
        listed = [{**each, "kind": kind} for kind in PATHS for each in self._list(kind)]
        own = [each for each in listed if _is_own(each)]
        return Objects(own, [each for each in listed if not _is_own(each)])

    def _list(self, kind: str) -> list[Object]:
        return list(self.client.ask("GET", PATHS[kind]).body["items"])

    # --- changes

    def _make(self, obj: Object) -> None:
        kind = obj["kind"]
        known = {
            key: obj["metadata"][key] for key in ("name", "labels", "annotations") if key in obj["metadata"]
        }
        body = {**obj, "metadata": known}
        if kind == "Pod":
            body.pop("status", None)
        answer = self.client.ask("POST", PATHS[kind], body)
        assert answer.code == 201, answer.body
        if kind == "Node":  # admission taints what nobody reports on
            spec = {key: obj.get("spec", {}).get(key) for key in ("taints", "unschedulable")}
            path = f"{PATHS[kind]}/{obj['metadata']['name']}"
            assert self.client.ask("PATCH", path, {"spec": spec}, content_type=_MERGE).code == 200

    def _change(self, before: Sequence[Object], after: Sequence[Object]) -> None:
        """What differs among others' objects."""
        old = {(each["kind"], each["metadata"]["name"]): each for each in before}
        new = {(each["kind"], each["metadata"]["name"]): each for each in after}
        for key, obj in new.items():
            if key not in old:
                self._make(obj)
            elif obj != old[key]:
                path = f"{PATHS[key[0]]}/{key[1]}"
                there = self.client.ask("GET", path).body
                answer = self.client.ask("PUT", path, {**there, "spec": obj["spec"]})
                assert answer.code == 200, answer.body
        for kind, name in old.keys() - new.keys():
            self._gone(kind, name)

    def _replace(self, objects: Sequence[Object]) -> None:
        """Make the pod anew, with its claims and templates."""
        self._gone("Pod", WAITING)
        for each in objects:
            if each["kind"] != "Pod":
                self._gone(each["kind"], each["metadata"]["name"])
        for each in sorted(objects, key=lambda each: each["kind"] == "Pod"):
            if not each["metadata"].get("ownerReferences"):
                self._make(each)

    def _gone(self, kind: str, name: str) -> None:
        path = f"{PATHS[kind]}/{name}"
        self.client.ask("DELETE", path)
        until(lambda: self.client.ask("GET", path).code == 404, f"{kind} {name} is not deleted")

    def _release(self, text: str) -> None:
        """Do what a text says about others' pods."""
        for part in text.removeprefix("if ").split(", and if "):
            (act,) = [act for pattern, act in _ACTS if re.search(pattern, part)]
            act(self, part)

    def _scale(self, text: str) -> None:
        kind, name, left = re.search(r"(\w+) [^/ ]+/([^, ]+) were scaled down to (\d+)", text).groups()  # type: ignore[union-attr]
        first = re.search(r"to \d+, (.*) first", text)
        for pod in re.findall(r"[^/ ]+/([^, ]+)", first[1]) if first else ():
            cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}}
            self._patch("Pod", pod, cost)
        self._patch(kind, name, {"spec": {"replicas": int(left)}})

    def _keep_off(self, text: str) -> None:
        name, pods = re.search(r"DaemonSet [^/ ]+/(\S+) were kept off the nodes? of (.*)", text).groups()  # type: ignore[union-attr]
        nodes = [self.node(each) for each in re.findall(r"[^/ ]+/([^, ]+)", pods)]
        elsewhere = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": nodes}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [elsewhere]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        self._patch("DaemonSet", name, {"spec": {"template": {"spec": {"affinity": affinity}}}})

    def _end_owner(self, text: str) -> None:
        kind, name = re.search(r"(\w+) [^/ ]+/(\S+) ended", text).groups()  # type: ignore[union-attr]
        self.client.ask("DELETE", f"{PATHS[kind]}/{name}", query={"propagationPolicy": "Background"})

    def _end_pods(self, text: str) -> None:
        for name in re.findall(r"[^/ ]+/([^, ]+)", text.partition(" ended")[0]):
            self._gone("Pod", name)

    def _patch(self, kind: str, name: str, body: Object) -> None:
        answer = self.client.ask("PATCH", f"{PATHS[kind]}/{name}", body, content_type=_MERGE)
        assert answer.code == 200, answer.body


_ACTS = (
    (r"scaled down", Live._scale),
    (r"kept off", Live._keep_off),
    (r"^(?!pods? )\w+ \S+ ended", Live._end_owner),
    (r"^pods? .* ended", Live._end_pods),
)


def _releases(remedy: Object) -> bool:
    return any(each["kind"] == "release" for each in remedy.get("changes", [remedy]))


def _is_own(obj: Object) -> bool:
    name = str(obj["metadata"]["name"])
    return obj["kind"] in ("Pod", "ResourceClaim", "ResourceClaimTemplate") and (
        name == WAITING or name.startswith(f"{WAITING}-")
    )


def _refused(pod: Object) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "PodScheduled" and each["status"] == "False" for each in conditions)


def _copies(owner: Object) -> int:
    spec = owner["spec"]
    return int(spec.get("replicas", spec.get("parallelism", 0)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what did not help, and how many of each kind were tried."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e.live_remedies", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=50, metavar="N", help="clusters")
    options = parser.parse_args(arguments)
    tried: Counter[str] = Counter()
    failed = 0
    with cluster_with_owners() as cluster:
        live = Live(cluster, seconds=25)
        for seed in range(options.seed, options.seed + options.count):
            for trial in live.trials(seed):
                tried[trial.remedy["kind"]] += 1
                if not trial.helped:
                    failed += 1
                    print(seed, json.dumps(trial.remedy), trial.node or "waits", flush=True)
        print(f"{sum(tried.values())} tried, {failed} did not help: {dict(tried)}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
