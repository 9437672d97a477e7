"""Many pods with drivers that fail, hang, die and start again at random: in the end, all is as it should be."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from classic.gpu.ledger import allocation_of
from resourceapi.objects import Object
from tests.e2e.classic_cluster import classic_cluster, node, until
from tests.e2e.classic_gpu import DRIVER, SECOND_DRIVER, GPUCluster, pod, requirements, template, used
from tests.e2e.faulty_gpu_driver import USUAL
from tests.e2e.programs import Program, running

NODES, PODS = 50, 200
KILLS = 25
#: When no more pods than that wait, it is looked at why.
FEW = 20
PATIENCE_SECONDS = 900.0
#: Sources of the claims of pods.
KINDS = (
    ("template/small",),
    ("template/small",),
    ("template/large",),
    ("template/wide",),
    ("template/small", "template/large"),
    ("template/small", "template/second"),
)


def test_all_pods_are_bound_and_nothing_is_given_twice_or_left(tmp_path: Path) -> None:
    """200 pods, 50 nodes, two drivers."""
    config = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 5}
    with (
        classic_cluster(
            [node(f"node-{number}") for number in range(NODES)], scheduler_config=config, scheduler_flags=()
        ) as cluster,
        ExitStack() as stack,
    ):
        gpus = GPUCluster(cluster)
        drivers = [
            stack.enter_context(running(faulty(gpus, name), tmp_path / f"{name}.log"))
            for name in (DRIVER, SECOND_DRIVER)
        ]
        make_templates(gpus)
        names = [f"pod-{number}" for number in range(PODS)]
        gpus.create(*(pod(name, *KINDS[number % len(KINDS)]) for number, name in enumerate(names)))
        kills = Kills(drivers)
        kills.go_on_until(lambda: are_all_bound(gpus), lambda: not_bound(gpus))
        assert_every_claim_is_where_its_pod_is(gpus)
        for name in names:
            gpus.delete("Pod", name)
        kills.go_on_until(lambda: not gpus.all("ResourceClaim"), lambda: str(gpus.all("ResourceClaim")[:3]))
        until(lambda: not gpus.all("PodSchedulingContext"), "contexts are left")
        assert_never_given_twice(gpus)


def faulty(gpus: GPUCluster, name: str) -> list[str]:
    """The command that runs a driver with faults."""
    return [sys.executable, "-m", "tests.e2e.faulty_gpu_driver", str(gpus.cluster.kubeconfig), name]


def make_templates(gpus: GPUCluster) -> None:
    second = {"kind": "ResourceClass", "metadata": {"name": SECOND_DRIVER}, "driverName": SECOND_DRIVER}
    gpus.create(second)
    gpus.create(requirements("small", memory="1Gi"), requirements("large", memory="3Gi"))
    gpus.create(requirements("wide", memory="1Gi", count=2))
    gpus.create(*(template(name, name) for name in ("small", "large", "wide")))
    gpus.create(template("second", "large", of=SECOND_DRIVER))


class Kills:
    """Drivers that are killed from time to time, and started again whenever they do not run."""

    def __init__(self, drivers: list[Program]) -> None:
        self._drivers = drivers
        self._left = KILLS

    def go_on_until(self, done: Callable[[], bool], otherwise: Callable[[], str]) -> None:
        """Go on until something is so; then, and when that has taken long enough, all drivers run."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not done():
            assert time.monotonic() < deadline, otherwise()
            victim = random.choice(self._drivers)
            if self._left and random.random() < 0.2:
                self._left -= 1
                victim.kill()
            for driver in self._drivers:
                driver.start()
            time.sleep(1)


def are_all_bound(gpus: GPUCluster) -> bool:
    """Whether all pods have nodes; those that kube-controller-manager keeps from one get all names of their claims."""
    waiting = [pod for pod in gpus.all("Pod") if not pod["spec"].get("nodeName")]
    if 0 < len(waiting) <= FEW:
        for pod in waiting:
            name_all_claims(gpus, pod)
    return not waiting


def name_all_claims(gpus: GPUCluster, pod: Object) -> None:
    """End a fault of kube-controller-manager 1.30, as an administrator would.

    If it reads a pod before its own last write, it names only some of its claims, and then in turns these and the others, for
    good: it applies the names that were missing, and so removes those that were there. What somebody else has written stays.
    """
    claims = {
        each["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"]: each["metadata"]["name"]
        for each in gpus.all("ResourceClaim")
        if each["metadata"]["ownerReferences"][0]["uid"] == pod["metadata"]["uid"]
    }
    named = len(pod["status"].get("resourceClaimStatuses", ()))
    if named < len(claims) == len(pod["spec"]["resourceClaims"]):
        statuses = [{"name": name, "resourceClaimName": claim} for name, claim in claims.items()]
        body = {"status": {"resourceClaimStatuses": statuses}}
        path = gpus.path("Pod", pod["metadata"]["name"]) + "/status"
        assert gpus.client.ask("PATCH", path, body, content_type="application/merge-patch+json").code == 200


def nodes_of(gpus: GPUCluster) -> dict[str, str]:
    """The nodes of all pods."""
    return {each["metadata"]["name"]: each["spec"].get("nodeName", "") for each in gpus.all("Pod")}


def not_bound(gpus: GPUCluster) -> str:
    """What to tell of pods that are not bound."""
    waiting = [name for name, where in nodes_of(gpus).items() if not where]
    return f"{len(waiting)}: {waiting[:5]} {gpus.get('PodSchedulingContext', waiting[0])}"


def assert_every_claim_is_where_its_pod_is(gpus: GPUCluster) -> None:
    where = nodes_of(gpus)
    claims = gpus.all("ResourceClaim")
    assert len(claims) == sum(len(KINDS[number % len(KINDS)]) for number in range(PODS))
    for each in claims:
        allocation = allocation_of(each["status"]["driverName"], each["status"]["allocation"])
        (owner,) = each["metadata"]["ownerReferences"]
        assert allocation is not None
        assert allocation.node == where[owner["name"]]
        assert [user["name"] for user in each["status"]["reservedFor"]] == [owner["name"]]


def assert_never_given_twice(gpus: GPUCluster) -> None:
    """At no moment of the whole history."""
    current: dict[str, Object] = {}
    for written in in_order(gpus):
        current[written["metadata"]["uid"]] = written
        for driver in (DRIVER, SECOND_DRIVER):
            total: Counter[tuple[str, str]] = used(list(current.values()), driver)
            over = {gpu: memory for gpu, memory in total.items() if memory > USUAL.memory}
            assert not over, f"{over} after {written['metadata']['name']} got {written['status']}"


def in_order(gpus: GPUCluster) -> Iterator[Object]:
    """The claims as they were written, in the order of their versions; what was deleted without an allocation."""
    stored = [
        event["responseObject"]
        for event in gpus.cluster.writes()
        if event["objectRef"]["resource"] == "resourceclaims"
        and event.get("responseObject", {}).get("kind") == "ResourceClaim"
    ]
    yield from sorted(stored, key=lambda claim: int(claim["metadata"]["resourceVersion"]))
