"""A classic driver's controller that dies at each step of a negotiation: the end is the same, and nothing is given out twice."""

from __future__ import annotations

import contextlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from resourceapi.objects import Object
from tests.e2e.classic_cluster import GROUP, ClassicCluster, classic_cluster, until
from tests.e2e.file_driver import DRIVER
from tests.e2e.programs import Program

PODS, CLAIMS = "/api/v1/namespaces/default/pods", f"{GROUP}/namespaces/default/resourceclaims"
CONTEXTS = f"{GROUP}/namespaces/default/podschedulingcontexts"
TEMPLATES = f"{GROUP}/namespaces/default/resourceclaimtemplates"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
NODES = 3
#: How often the driver dies at most while pods compete for its devices.
DEATHS = 10
FINALIZER, CLAIM_STATUS, CONTEXT_STATUS = (
    "PUT resourceclaims",
    "PUT resourceclaims/status",
    "PUT podschedulingcontexts/status",
)
ALLOCATING = [
    f"allocating, {when} {name}"
    for name in ("unsuitable_nodes", FINALIZER, "allocate", CLAIM_STATUS, CONTEXT_STATUS)
    for when in ("before", "after")
]
DEALLOCATING = [
    f"deallocating, {when} {name}"
    for name in ("deallocate", CLAIM_STATUS, FINALIZER)
    for when in ("before", "after")
]
#: A claim that is made for the pod and goes with it; one of its own, allocated at once; one of its own, allocated for the pod,
#: which the controller of claims has deallocated when the pod is gone.
FROM_TEMPLATE, IMMEDIATE, SHARED = "from-template", "immediate", "shared"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ClassicCluster]:
    # Pods are tried again often.
    with classic_cluster(NODES, scheduler_config={"podMaxBackoffSeconds": 1}) as cluster:
        cluster.make(f"{GROUP}/resourceclasses", {"metadata": {"name": DRIVER}, "driverName": DRIVER})
        cluster.make(
            TEMPLATES, {"metadata": {"name": "file"}, "spec": {"spec": {"resourceClassName": DRIVER}}}
        )
        yield cluster


class Step(NamedTuple):
    """A step that a process has taken."""

    process: int
    name: str


class Site(NamedTuple):
    """A driver with its devices, which outlive its processes."""

    cluster: ClassicCluster
    directory: Path

    def program(self, *options: str) -> Program:
        module = [sys.executable, "-m", "tests.e2e.file_driver"]
        command = [*module, str(self.cluster.kubeconfig), str(self.directory), *options]
        return Program(command, self.directory / "log")

    @contextlib.contextmanager
    def running(self, *options: str) -> Iterator[Program]:
        program = self.program(*options)
        program.start()
        try:
            yield program
        finally:
            program.resume()
            program.kill()

    def steps(self) -> list[Step]:
        file = self.directory / "steps"
        lines = file.read_text().splitlines() if file.exists() else []
        parts = [line.split(maxsplit=1) for line in lines]
        return [Step(int(process), name) for process, name in parts]

    def held(self) -> dict[str, Object]:
        file = self.directory / "devices.json"
        found: dict[str, Object] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def last_words(self) -> str:
        log = (self.directory / "log").read_text()[-3000:]
        return log + "\n".join(f"{step.process} {step.name}" for step in self.steps())

    def until(self, condition: Callable[[], bool], otherwise: str) -> None:
        """Wait until something is so."""
        try:
            until(condition, otherwise)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.last_words()}") from None

    def check(self) -> None:
        """Nothing that must never happen has happened."""
        assert not (self.directory / "faults").exists(), (self.directory / "faults").read_text()
        devices = [(each["node"], each["device"]) for each in self.held().values()]
        assert len(set(devices)) == len(devices)

    def items(self, path: str) -> list[Object]:
        found: list[Object] = self.cluster.client.ask("GET", path).body["items"]
        return found

    def is_as_new(self, name: str) -> bool:
        """Whether a claim has neither an allocation nor a finalizer of the driver."""
        claim = self.cluster.client.ask("GET", f"{CLAIMS}/{name}").body
        return not claim.get("status") and not claim["metadata"].get("finalizers")

    def leader(self) -> str:
        found: str = self.cluster.client.ask("GET", f"{LEASES}/{DRIVER}").body["spec"]["holderIdentity"]
        return found

    def is_bound(self, name: str) -> bool:
        answer = self.cluster.client.ask("GET", f"{PODS}/{name}")
        return answer.code == 200 and bool(answer.body["spec"].get("nodeName"))


def pod(name: str, source: Object) -> Object:
    container = {"name": "c", "image": "x", "resources": {"claims": [{"name": "file"}]}}
    return {
        "metadata": {"name": name},
        "spec": {
            "containers": [container],
            "resourceClaims": [{"name": "file", "source": source}],
            "terminationGracePeriodSeconds": 0,
        },
    }


def claim_spec(mode: str) -> Object:
    when = "Immediate" if mode == IMMEDIATE else "WaitForFirstConsumer"
    return {"resourceClassName": DRIVER, "allocationMode": when}


class Life:
    """A driver that dies at a step, and is started again then."""

    def __init__(self, site: Site, kill_at: str) -> None:
        self.has_died = False
        self._site = site
        self._program = site.program("--kill-at", kill_at)
        self._program.start()

    def until(self, condition: Callable[[], bool], message: str) -> None:
        """Wait; the driver may die meanwhile."""

        def is_so() -> bool:
            if not self._program.is_running():
                assert not self.has_died, f"ended by itself:\n{self._site.last_words()}"
                self.has_died = True
                self._program = self._site.program()
                self._program.start()
            return condition()

        self._site.until(is_so, message)

    def end(self) -> None:
        self._program.kill()


def live_through(site: Site, name: str, mode: str, kill_at: str) -> None:
    """Have a pod come and go while the driver dies at a step."""
    cluster = site.cluster
    life = Life(site, kill_at)
    try:
        if mode == FROM_TEMPLATE:
            cluster.make(PODS, pod(name, {"resourceClaimTemplateName": "file"}))
        else:
            cluster.make(CLAIMS, {"metadata": {"name": name}, "spec": claim_spec(mode)})
            cluster.make(PODS, pod(name, {"resourceClaimName": name}))
        life.until(lambda: site.is_bound(name), "the pod is not bound")
        site.check()
        assert len(site.held()) == 1
        cluster.client.ask("DELETE", f"{PODS}/{name}")
        if mode == IMMEDIATE:
            cluster.client.ask("DELETE", f"{CLAIMS}/{name}")
        if mode == SHARED:
            life.until(lambda: site.is_as_new(name), "the claim is not deallocated")
            site.check()
            cluster.client.ask("DELETE", f"{CLAIMS}/{name}")
        life.until(lambda: not site.items(CLAIMS), "the claim does not go")
        life.until(lambda: not site.held(), "the driver holds a device for nobody")
        life.until(lambda: not site.items(CONTEXTS), "the context does not go")
        life.until(lambda: life.has_died, "the driver does not come to its last step")
        site.check()
    finally:
        life.end()


@pytest.mark.parametrize(
    ("mode", "steps"),
    [
        (FROM_TEMPLATE, ALLOCATING + DEALLOCATING),
        (IMMEDIATE, [step for step in ALLOCATING if "nodes" not in step and "contexts" not in step]),
        (SHARED, DEALLOCATING),
    ],
)
def test_killed_at_each_step(cluster: ClassicCluster, tmp_path: Path, mode: str, steps: list[str]) -> None:
    """One pod for each step: it is bound, and when it goes, the claim is without allocation and finalizer, or goes as well."""
    for number, step in enumerate(steps):
        site = Site(cluster, tmp_path / str(number))
        site.directory.mkdir()
        live_through(site, f"{mode}-{number}", mode, step)
        process = site.steps()[0].process
        assert [each.name for each in site.steps() if each.process == process][-1] == step


def test_killed_again_and_again(cluster: ClassicCluster, tmp_path: Path) -> None:
    """Pods compete for the devices; whoever gets one keeps it, and no two get the same."""
    site = Site(cluster, tmp_path)
    names = [f"again-{number}" for number in range(8 * NODES)]
    random_steps = random.Random(15)
    deaths = 0
    program = site.program("--kill-at", "3")
    cluster.make(PODS, *(pod(name, {"resourceClaimTemplateName": "file"}) for name in names))
    gone: set[str] = set()

    def end_of_bound_ones() -> bool:
        """Whether all pods have come and gone; those that are bound leave their device to others."""
        nonlocal deaths, program
        if not program.is_running():
            deaths += 1
            last = str(random_steps.randint(1, 40)) if deaths < DEATHS else ""
            program = site.program("--kill-at", last)
            program.start()
        site.check()
        for name in sorted(set(names) - gone):
            if site.is_bound(name):
                cluster.client.ask("DELETE", f"{PODS}/{name}")
                gone.add(name)
        return len(gone) == len(names) and not site.items(CLAIMS) and not site.held()

    try:
        site.until(end_of_bound_ones, "not all pods have come and gone")
        site.until(lambda: not site.items(CONTEXTS), "contexts do not go")
    finally:
        program.kill()
    assert deaths >= DEATHS / 2


@pytest.mark.parametrize("write", [FINALIZER, CLAIM_STATUS, CONTEXT_STATUS])
def test_suspended_before_a_write(cluster: ClassicCluster, tmp_path: Path, write: str) -> None:
    """Another process leads meanwhile and does the work; what the old one goes on with is refused, and it ends."""
    site = Site(cluster, tmp_path)
    name = f"suspended-{write.lower().replace('/', '-').replace(' ', '-')}"
    step = f"allocating, before {write}"
    with site.running("--election", "--stop-at", step) as old:
        cluster.make(PODS, pod(name, {"resourceClaimTemplateName": "file"}))
        site.until(lambda: any(each.name == step for each in site.steps()), "the step is not taken")
        number = len(site.steps())
        with site.running("--election") as new:
            site.until(lambda: site.leader().startswith(f"{new.pid}_"), "the new process does not lead")
            site.until(lambda: site.is_bound(name), "the pod is not bound")
            held = site.held()
            old.resume()
            site.until(lambda: not old.is_running(), "the old leader goes on")
            taken = [each.name for each in site.steps() if each.process == old.pid]
            assert taken[number - 1 :] == [step, f"allocating, after {write}"]
            site.check()
            assert site.held() == held
            cluster.client.ask("DELETE", f"{PODS}/{name}")
            site.until(lambda: not site.items(CLAIMS) and not site.held(), "the claim does not go")
            site.until(lambda: not site.items(CONTEXTS), "the context does not go")
            assert new.is_running()
            site.check()
