"""`claimcheck watch` beside a stock kube-scheduler with many pods: each that cannot start gets its Event, and nothing else is written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.request import urlopen

import pytest
import yaml

from commandline.main import main
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from tests.conformance.profiles import PROFILES
from tests.e2e import live_impact
from tests.e2e.control_plane import ApiServer, free_port
from tests.e2e.live_objects import LiveObjects
from tests.e2e.many_pods import DEVICES, DRIVER, cluster_objects, pods_at_once
from tests.e2e.scheduling_cluster import until
from tests.e2e.test_watch import ACCOUNT, grant, watching

_NODES, _PODS, _IMPOSSIBLE = 100, 300, 30
_SECONDS = 300.0
_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}


class _Run(NamedTuple):
    server: ApiServer
    there: LiveObjects
    audit: Path
    port: int
    report_port: int


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Run]:
    """The cluster, with all pods bound or told why they are not."""
    directory = tmp_path_factory.mktemp("audit")
    policy, log = directory / "policy.yaml", directory / "audit.log"
    port, report_port = free_port(), free_port()
    policy.write_text(yaml.safe_dump(_POLICY))
    flags = [*PROFILES["1.37"].flags, f"--audit-policy-file={policy}", f"--audit-log-path={log}"]
    with live_impact.cluster(flags) as server:
        grant(server)
        there = LiveObjects(server.client, ["team"])
        for each in cluster_objects(_NODES):
            there.make(each)
        options = ("--port", str(port), "--report-port", str(report_port))
        with watching(server, directory / "watch.log", *options):
            for each in pods_at_once(_PODS, _IMPOSSIBLE):
                there.make(each)
            until(lambda: _unbound(there) <= _told(server).keys(), lambda: _missing(server, there), _SECONDS)
            until(lambda: len(_unbound(there)) == _IMPOSSIBLE, "some pods that fit are not bound", _SECONDS)
            yield _Run(server, there, log, port, report_port)


def _unbound(there: LiveObjects) -> set[str]:
    return {each["metadata"]["name"] for each in there.of("Pod") if not text(each["spec"], "nodeName")}


def _told(server: ApiServer) -> dict[str, str]:
    """When each pod got its Event."""
    items = server.client.ask("GET", "/apis/events.k8s.io/v1/namespaces/team/events").body["items"]
    found = [each for each in items if each["reportingController"] == "claimcheck-watch"]
    return {each["regarding"]["name"]: each["eventTime"] for each in found}


def _missing(server: ApiServer, there: LiveObjects) -> str:
    return f"no event about {sorted(_unbound(there) - _told(server).keys())}"


def _refused(pod: Object) -> str:
    """When kube-scheduler refused a pod first."""
    conditions = entries(mapping(pod, "status"), "conditions")
    return next(text(each, "lastTransitionTime") for each in conditions if each["type"] == "PodScheduled")


def test_each_pod_that_cannot_start_is_told(run: _Run) -> None:
    """The seconds since its first failed attempt are printed, of which the API server tells whole ones."""
    told = _told(run.server)
    waiting = {
        each["metadata"]["name"]: each for each in run.there.of("Pod") if not text(each["spec"], "nodeName")
    }
    assert {name for name in waiting if name.startswith("impossible")} == waiting.keys() <= told.keys()
    assert len(waiting) == _IMPOSSIBLE
    seconds = [
        (datetime.fromisoformat(told[name]) - datetime.fromisoformat(_refused(pod))).total_seconds()
        for name, pod in waiting.items()
    ]
    print(f"told after {median(seconds):.1f} s (median), {max(seconds):.1f} s (most)")


def test_it_writes_nothing_but_events(run: _Run) -> None:
    """As kube-apiserver's audit log has it."""
    asked: Counter[tuple[str, str]] = Counter()
    for line in run.audit.read_text().splitlines():
        entry = json.loads(line)
        if mapping(entry, "impersonatedUser").get("username") == ACCOUNT:
            asked[entry["verb"], mapping(entry, "objectRef").get("resource", "")] += 1
    writing = {request for request in asked if request[0] not in ("get", "list", "watch")}
    assert asked["create", "events"] >= _IMPOSSIBLE
    assert writing <= {("create", "events"), ("patch", "events")}


def test_metrics_tell_of_the_same(run: _Run) -> None:
    def shown() -> str:
        with urlopen(f"http://127.0.0.1:{run.port}/metrics", timeout=10) as answer:
            return str(answer.read().decode())

    bound, free = _PODS - _IMPOSSIBLE, _NODES * DEVICES - (_PODS - _IMPOSSIBLE)
    for value in (
        f'claimcheck_watch_devices{{driver="{DRIVER}",state="held"}} {bound}.0',
        f'claimcheck_watch_class_devices{{device_class="gpu",state="free"}} {free}.0',
        f'claimcheck_watch_waiting_pods{{cause="impossible"}} {_IMPOSSIBLE}.0',
    ):
        until(lambda value=value: value in shown(), f"there is no {value}", _SECONDS)  # type: ignore[misc]


def _found(findings: Iterable[Object]) -> list[tuple[str, list[str]]]:
    """The codes with the objects, in any order: lists of an API server are sorted, what is followed is not."""
    return [(each["code"], sorted(one["name"] for one in each["objects"])) for each in findings]


def test_its_report_is_what_doctor_says(run: _Run, capsys: pytest.CaptureFixture[str]) -> None:
    def reported() -> list[tuple[str, list[str]]]:
        with urlopen(f"http://127.0.0.1:{run.report_port}/report", timeout=10) as answer:
            return _found(json.load(answer)["findings"])

    assert main(["doctor", "--kubeconfig", str(run.server.kubeconfig), "-o", "json"]) == 1
    wanted = _found(json.loads(capsys.readouterr().out)["findings"])
    assert [(code, len(objects)) for code, objects in wanted] == [("CD001", _IMPOSSIBLE)]
    until(lambda: reported() == wanted, lambda: f"the report has {reported()}", _SECONDS)
