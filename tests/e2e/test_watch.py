"""`claimcheck watch` beside a stock kube-scheduler: each pod that waits gets an Event, soon, and nothing else is written."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from manifests.kustomize import DIRECTORY, render
from resourceapi.objects import Object
from tests.e2e import live_impact
from tests.e2e.control_plane import ApiServer
from tests.e2e.live_objects import LiveObjects
from tests.e2e.programs import Program
from tests.e2e.scheduling_cluster import until

ACCOUNT = "system:serviceaccount:claimcheck-system:claimcheck-watch"
_NAMESPACES = ("team", "other")
#: What follows the pod's first failed attempt, in seconds; twice of it on a machine that does much beside.
_SECONDS = 10.0
_DATA = yaml.safe_load(Path(__file__).with_name("watch_cases.yaml").read_text())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """A cluster with the shipped role, watched by its account."""
    directory = tmp_path_factory.mktemp("watch")
    with live_impact.cluster() as started:
        grant(started)
        there = LiveObjects(started.client, _NAMESPACES)
        for each in _DATA["cluster"]:
            there.make(each)
        with watching(started, directory / "watch.log"):
            yield started


def grant(server: ApiServer) -> None:
    """Give the account the rights of the manifests."""
    paths = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}
    for each in render(DIRECTORY / "watch"):
        if each["kind"] in paths:
            path = f"/apis/rbac.authorization.k8s.io/v1/{paths[each['kind']]}"
            assert server.client.ask("POST", path, each).code == 201


@contextlib.contextmanager
def watching(server: ApiServer, log: Path, *options: str) -> Iterator[Program]:
    """Run it as the account, with these further options."""
    command = [sys.executable, "-m", "commandline.main", "watch", "--kubeconfig", str(server.kubeconfig)]
    program = Program([*command, "--as", ACCOUNT, "--request-timeout", "5s", *options], log)
    program.start()
    try:
        yield program
        assert program.is_running(), log.read_text()
    finally:
        program.stop()


def _events(server: ApiServer, namespace: str) -> list[Object]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    items: list[Object] = server.client.ask("GET", path).body["items"]
    return [each for each in items if each["reportingController"] == "claimcheck-watch"]


@pytest.mark.parametrize("case", _DATA["cases"], ids=lambda case: case["name"])
def test_says_why(case: Object, server: ApiServer) -> None:
    """The first words of the event about each pod, in time; none about one that fits."""
    there = LiveObjects(server.client, _NAMESPACES)
    for each in case["objects"]:
        there.make(each)
    pods = {each["metadata"]["name"] for each in case["objects"] if each["kind"] == "Pod"}

    def said() -> dict[str, str]:
        return {
            each["regarding"]["name"]: each["note"]
            for namespace in _NAMESPACES
            for each in _events(server, namespace)
            if each["regarding"]["name"] in pods
        }

    begun = time.monotonic()
    until(lambda: said().keys() >= case["says"].keys(), lambda: f"events only for {said()}", 3 * _SECONDS)
    assert time.monotonic() - begun < _SECONDS
    found = said()
    assert found.keys() == case["says"].keys()
    for pod, words in case["says"].items():
        assert found[pod].startswith(words), found[pod]
