"""What `explain` and `simulate` say of a pod is what kube-scheduler does with it, and what they suggest helps.

Clusters are random, of 3 to 8 nodes. kube-scheduler looks at all of them, and an error on one ends the attempt.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from allocator.explaining.explanation import ERROR, FITS, MISFIT, Explanation, PodContext, explain
from allocator.features import GATES
from allocator.pod_nodes import excluded
from allocator.scheduling import SchedulingState
from allocator.simulation import MODES, UNHURRIED, Pod, Simulation
from allocator.time_limit import UNLIMITED
from resourceapi.gates import UNRELEASED_GATES
from resourceapi.manifests import key_of
from resourceapi.records.claims import Claim
from tests.allocator.objects import alternative, claim, exactly, first_of
from tests.e2e.binaries import tool
from tests.e2e.client import Client
from tests.e2e.control_plane import control_plane
from tests.e2e.scheduled import BOUND, FAILED, UNSCHEDULABLE, Setting, schedule
from tests.e2e.scheduled_scenarios import CLASSES, helped, setting, snapshot_of

SEEDS = range(1_000, 1_060)
_OUTCOMES = {FITS: BOUND, ERROR: FAILED, MISFIT: UNSCHEDULABLE}
_LOCKED = {"DRAPrioritizedList"}
_GATES = "--feature-gates=" + ",".join(
    f"{gate}=true" for gate in sorted(GATES - _LOCKED - UNRELEASED_GATES.keys())
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server with a scheduler, with all gates of the allocator."""
    directory = tmp_path_factory.mktemp("scheduled")
    with (
        control_plane("1.37-all", flags=[_GATES, "--runtime-config=api/all=true"]) as server,
        scheduler(server.kubeconfig, directory),
    ):
        yield server.client


@contextlib.contextmanager
def scheduler(kubeconfig: Path, directory: Path) -> Iterator[None]:
    command = [
        str(tool("kube-scheduler")),
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        _GATES,
    ]
    with (
        open(directory / "scheduler.log", "wb") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


def explained(asked: Setting) -> Explanation:
    closed = {
        name: [each.named for each in found] for name, found in excluded({}, asked.nodes, UNLIMITED).items()
    }
    return explain(snapshot_of(asked), [Claim(each) for each in asked.claims], UNLIMITED, PodContext(closed))


def placed(asked: Setting) -> list[bool]:
    """Whether a simulation places the pod, with each objective."""
    snapshot = snapshot_of(asked)
    found = []
    for mode in MODES.values():
        cluster = SchedulingState(snapshot.features, asked.nodes, snapshot.classes, asked.slices)
        for each in asked.holders:
            cluster.hold(Claim(each))
        pod = Pod(
            "p",
            {key_of(each): Claim(each) for each in asked.claims},
            frozenset(excluded({}, asked.nodes, UNLIMITED)),
        )
        found.append(bool(Simulation(cluster, UNHURRIED).place(pod, mode).node))
    return found


def test_verdicts(client: Client) -> None:
    """Bound where it is said to fit; an error where one is said to end the attempt; else nothing to be had."""
    asked = [setting(f"v{seed}", seed) for seed in SEEDS]
    outcomes = schedule(client, asked, CLASSES)
    ours = {each.name: explained(each).verdict for each in asked}
    assert {name: _OUTCOMES[verdict] for name, verdict in ours.items()} == {
        name: outcome.outcome for name, outcome in outcomes.items()
    }
    for each in asked:
        assert placed(each) == [outcomes[each.name].outcome == BOUND] * len(MODES), each.name
    assert len(set(ours.values())) == len(_OUTCOMES)


def test_missing_class(client: Client) -> None:
    """The message names the request with its alternative, says nothing of nodes, and is the one that is foretold."""
    missing = alternative("b", device_class="missing")
    asked = {
        "m1": exactly("r", device_class="missing"),
        "m2": first_of("f", alternative("a"), missing),
        "m3": first_of("f", missing, alternative("a")),
    }
    settings = [
        setting(name, 1_000)._replace(claims=[claim(each, name=f"{name}-c")]) for name, each in asked.items()
    ]
    outcomes = schedule(client, settings, CLASSES)
    for each in settings:
        found = explained(each)
        assert (found.verdict, outcomes[each.name].outcome) == (MISFIT, UNSCHEDULABLE)
        assert f" nodes are available: {found.refusal}." in outcomes[each.name].message


def test_remedies(client: Client) -> None:
    """With each one that is suggested the pod is bound, to one of the nodes that are named."""
    asked, nodes, classes = [], {}, list(CLASSES)
    for seed in SEEDS:
        for number, remedy in enumerate(explained(setting("x", seed)).remedies):
            if remedy.variation.features is None:
                again = setting(f"r{seed}-{number}", seed)
                remedy = explained(again).remedies[number]
                changed, needed = helped(again, remedy)
                asked.append(changed)
                classes += needed
                nodes[changed.name] = remedy
    outcomes = schedule(client, asked, classes)
    for name, outcome in outcomes.items():
        assert outcome.node in nodes[name].nodes, (nodes[name].text, outcome)
    assert len({remedy.kind for remedy in nodes.values()}) > 4
