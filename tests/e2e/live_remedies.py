"""Carries out what `claimcheck explain` suggests, at a real server with kube-scheduler and the owners of pods.

python -m tests.e2e.live_remedies --seed 7 --count 50 [--sidecar]

Each cluster is random, and has a pod `w` that waits. Every remedy is carried out by itself: in other objects, or in a pod that is
made anew; then kube-scheduler has to place it on a node that the remedy names. With the sidecar, pods wait for what only that knows: devices
as patches have them, and compatibility groups, the gate for which is off there at first.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allocator.features import GATES
from commandline.errors import INTERRUPTED
from commandline.main import main as claimcheck
from resourceapi.gates import UNRELEASED_GATES
from resourceapi.objects import Object
from tests.commandline.explain.carried_out import APPLIED, Objects
from tests.e2e.live_objects import OWNERS, LiveObjects, refusal, with_patches
from tests.e2e.random_waiting import NAMESPACE, WAITING, objects_of
from tests.e2e.scheduling_cluster import SchedulingCluster, scheduling_cluster, until

_GATES = "--feature-gates=" + ",".join(
    f"{gate}=true" for gate in sorted(GATES - {"DRAPrioritizedList"} - UNRELEASED_GATES.keys())
)
_OWNERS = "--controllers=deployment,replicaset,job,statefulset,daemonset"


class Trial(NamedTuple):
    """A remedy that was carried out.

    :param node: where the pod was placed then, empty if it was not in time.
    :param taken_by: other pods that waited, too, and were placed then.
    :param message: what kube-scheduler says of the pod if it is not placed.
    """

    remedy: Object
    node: str
    taken_by: list[str]
    message: str

    @property
    def result(self) -> str:
        if self.node in self.remedy["names"]:
            return "helped"
        if self.node:
            return "placed on a node that is not named"
        return "did not help, other pods waited, too" if self.taken_by else "did not help"

    @property
    def kind(self) -> str:
        return " + ".join(each["kind"] for each in self.remedy.get("changes", [self.remedy]))


@contextlib.contextmanager
def cluster_with_owners(sidecars: int = 0) -> Iterator[SchedulingCluster]:
    """A control plane with kube-scheduler, as it is or with sidecars, and controllers for all that makes pods."""
    flags = [_GATES, "--runtime-config=api/all=true"]
    with scheduling_cluster(
        replicas=sidecars,
        server_flags=flags,
        controller_flags=[_OWNERS, _GATES],
        scheduler_flags=[_GATES],
        beside=with_patches,
    ) as cluster:
        cluster.client.ask("DELETE", "/api/v1/nodes/node-a")
        yield cluster


class Live:
    """A random cluster at a server, and the pod that waits in it."""

    def __init__(self, cluster: SchedulingCluster, seconds: float) -> None:
        """`seconds`: how long a pod is waited for that a remedy should have helped."""
        self.there = LiveObjects(cluster.client, [NAMESPACE])
        self._sidecars = cluster.sidecars
        self.kubeconfig = str(cluster.server.kubeconfig)
        self._seconds = seconds
        self._renewed = 0

    def trials(self, seed: int) -> Iterator[Trial]:
        """All remedies, each carried out; releases end pods, so that each needs the cluster anew."""
        objects = objects_of(seed, for_sidecar=bool(self._sidecars))
        if not self._set_up(objects):
            return
        place = 0
        # names of pods and claims change each time, so that they are suggested anew
        while (waiting := self._unplaced()) and place < len(found := self.remedies()):
            remedy, before = found[place], self._objects().cluster
            yield self._tried(remedy, {*waiting})
            place += 1
            if place == len(found):
                return
            if not _releases(remedy):
                self._change(self._objects().cluster, before)
                self._replace([each for each in objects if _is_own(each)])
                until(self._is_refused, f"the pod does not wait after {remedy['text']}")
            elif not self._set_up(objects):
                return

    def remedies(self) -> list[Object]:
        """What is suggested for the pod."""
        with contextlib.redirect_stdout(io.StringIO()) as output:
            code = claimcheck(
                ["explain", f"pod/{WAITING}", "-n", NAMESPACE, "--kubeconfig", self.kubeconfig, "-o", "json"]
            )
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        found: list[Object] = json.loads(output.getvalue())["objects"][0].get("remedies", [])
        return found

    def _tried(self, remedy: Object, waiting: set[str]) -> Trial:
        before = self._objects()
        after = copy.deepcopy(before)
        for each in remedy.get("changes", [remedy]):
            if each["kind"] == "release":
                self._release(each["text"])
            else:
                APPLIED[each["kind"]](after, each)
        self._change(before.cluster, after.cluster)
        with self._switched_on(after.options):
            self._replace(after.workloads)
            with contextlib.suppress(AssertionError):
                until(lambda: bool(self.there.node(WAITING)), "", self._seconds)
        taken_by = sorted(each for each in waiting - {WAITING} if self.there.node(each))
        condition = refusal(self.there.get("Pod", WAITING)) or {}
        return Trial(remedy, self.there.node(WAITING), taken_by, condition.get("message", ""))

    @contextlib.contextmanager
    def _switched_on(self, options: Sequence[str]) -> Iterator[None]:
        """The gates that options of the command name are on in sidecars meanwhile."""
        gates = {each.partition("=")[0] for option in options[1:] for each in option.split(",")}
        for is_on in (True, False):
            for sidecar in self._sidecars if gates else ():
                sidecar.restart(apiServer={"featureGates": dict.fromkeys(gates, is_on)})
                until(sidecar.leads, "the sidecar does not lead")
            if is_on:
                yield

    # --- what there is

    def _set_up(self, objects: Sequence[Object]) -> bool:
        """Make all of it; whether the pod waits then."""
        self.there.clear()
        for each in objects:
            if not _is_own(each):
                self.there.make(each)
        until(self._is_settled, lambda: f"pods wait that should not: {self._unplaced()}")
        for each in objects:
            if _is_own(each):
                self.there.make(each)
        until(lambda: bool(self.there.node(WAITING)) or self._is_refused(), "nobody looks at the pod")
        return not self.there.node(WAITING)

    def _unplaced(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.there.of("Pod") if not each["spec"].get("nodeName")]

    def _is_settled(self) -> bool:
        """Whether each owner has as many pods as it wants, and all that can be are on nodes."""
        pods = self.there.of("Pod")
        wanted = sum(_copies(each) for kind in (*OWNERS[:-2], "Job") for each in self.there.of(kind))
        made = [each for each in pods if each["metadata"].get("ownerReferences")]
        return len(made) >= wanted and all(
            each["spec"].get("nodeName") or refusal(each) is not None for each in pods
        )

    def _is_refused(self) -> bool:
        return refusal(self.there.get("Pod", WAITING)) is not None

    def _objects(self) -> Objects:
        """Pods that wait, with what they ask for, and the rest."""
        listed = self.there.all()
        own = [each for each in listed if _is_own(each)]
        return Objects(own, [each for each in listed if not _is_own(each)])

    # --- changes

    def _change(self, before: Sequence[Object], after: Sequence[Object]) -> None:
        """What differs among others' objects."""
        old = {(each["kind"], each["metadata"]["name"]): each for each in before}
        new = {(each["kind"], each["metadata"]["name"]): each for each in after}
        for key, obj in new.items():
            if key not in old:
                self.there.make(obj)
            elif obj != old[key]:
                there = self.there.get(*key)
                answer = self.there.client.ask("PUT", self.there.path(*key), {**there, "spec": obj["spec"]})
                assert answer.code == 200, answer.body
        for kind, name in old.keys() - new.keys():
            self.there.delete(kind, name)

    def _replace(self, objects: Sequence[Object]) -> None:
        """Make the pod anew, with its claims and templates.

        These get other names: controllers and kube-scheduler may know for a while only what had the old ones.
        """
        self.there.delete("Pod", WAITING)
        for kind in ("ResourceClaim", "ResourceClaimTemplate"):
            for each in self.there.of(kind):
                if _is_own({**each, "kind": kind}) and not each["metadata"].get("ownerReferences"):
                    self.there.delete(kind, each["metadata"]["name"])
        self._renewed += 1
        for each in sorted(copy.deepcopy(list(objects)), key=lambda each: each["kind"] == "Pod"):
            if each["metadata"].get("ownerReferences"):
                continue
            if each["kind"] == "Pod":
                for claim in each["spec"]["resourceClaims"]:
                    for key in claim.keys() & {"resourceClaimName", "resourceClaimTemplateName"}:
                        claim[key] = self._renamed(claim[key])
            else:
                each["metadata"]["name"] = self._renamed(each["metadata"]["name"])
            self.there.make(each)

    def _renamed(self, name: str) -> str:
        return re.sub(r"(-\d+)?$", f"-{self._renewed}", name, count=1)

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
            self.there.patch("Pod", pod, cost)
        self.there.patch(kind, name, {"spec": {"replicas": int(left)}})

    def _keep_off(self, text: str) -> None:
        name, pods = re.search(r"DaemonSet [^/ ]+/(\S+) were kept off the nodes? of (.*)", text).groups()  # type: ignore[union-attr]
        nodes = [self.there.node(each) for each in re.findall(r"[^/ ]+/([^, ]+)", pods)]
        elsewhere = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": nodes}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [elsewhere]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        self.there.patch("DaemonSet", name, {"spec": {"template": {"spec": {"affinity": affinity}}}})

    def _end_owner(self, text: str) -> None:
        kind, name = re.search(r"(\w+) [^/ ]+/(\S+) ended", text).groups()  # type: ignore[union-attr]
        self.there.delete(kind, name)

    def _end_pods(self, text: str) -> None:
        for name in re.findall(r"[^/ ]+/([^, ]+)", text.partition(" ended")[0]):
            self.there.delete("Pod", name)


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


def _copies(owner: Object) -> int:
    spec = owner["spec"]
    return int(spec.get("replicas", spec.get("parallelism", 0)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what did not help, and what came of those of each kind, also if it is interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e.live_remedies", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=50, metavar="N", help="clusters")
    parser.add_argument("--sidecar", action="store_true", help="with the scheduling sidecar")
    options = parser.parse_args(arguments)
    tried: Counter[tuple[str, str]] = Counter()
    # ended from outside, it has to stop the control plane and tell what it has found
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt), cluster_with_owners(int(options.sidecar)) as cluster:
        live = Live(cluster, seconds=25)
        for seed in range(options.seed, options.seed + options.count):
            try:
                for trial in live.trials(seed):
                    tried[trial.kind, trial.result] += 1
                    if trial.result != "helped":
                        what = (json.dumps(trial.remedy), trial.node or trial.message, *trial.taken_by)
                        print(seed, trial.result, *what, flush=True)
            except AssertionError as error:
                print(seed, "could not be tried:", error, flush=True)
    for (kind, result), count in sorted(tried.items()):
        print(f"{count:5} {kind}: {result}")
    helped = sum(count for (_, result), count in tried.items() if result == "helped")
    print(f"{tried.total()} tried, {helped} helped")
    return int(helped < tried.total())


if __name__ == "__main__":
    sys.exit(main())
