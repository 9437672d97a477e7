"""How long reading what requests devices takes: in proportion to it, and no longer than there is time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

import claimcheck
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from claimcheck import clusters
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.scenario import Reader
from claimcheck.inputs import values_in
from cluster import workloads
from cluster.workloads import MOST_COMPARED
from commandline.errors import UNFINISHED
from commandline.main import main
from resourceapi import phrases
from resourceapi.manifests import entries
from resourceapi.records import pods
from resourceapi.releases import Profile

SPEC = {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}}


def _claim(name: str, namespace: str = "team") -> Any:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": SPEC}


def _pod(name: str, *claims: str) -> Any:
    entries = [{"name": f"a{number}", "resourceClaimName": each} for number, each in enumerate(claims)]
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": entries}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "team"}, "spec": spec}


def _missing(there: Iterable[Any], *asked: Any, limit: TimeLimit = UNLIMITED) -> list[list[str]]:
    """What each pod waits for."""
    profile = Profile("1.37")
    state = ClusterState(profile, "default")
    state.learn(values_in(list(there), profile))
    found = Reader(state, "default").workloads(state.learn(values_in(list(asked), profile), new=True), limit)
    return [[words.text for words in each.missing] for each in found]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("trian", "; did you mean train?"),
        ("payroll", "; there is one in namespace lab"),
        ("wages", "; there is one in namespace teams"),
        ("other", ""),
    ],
)
def test_what_was_meant(name: str, more: str) -> None:
    """A name of the namespace that is like it, or else a namespace that has it: that with the nearest name, or the first."""
    there = [_claim("train"), _claim("payroll", "lab"), _claim("payroll", "zoo")]
    there += [_claim("wages", "lab"), _claim("wages", "teams")]
    assert _missing(there, _pod("p", name)) == [[f"claim team/{name}, which does not exist{more}"]]


def test_names_are_compared_in_proportion_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,024 missing claims of a pod, each compared with 1,000 names, and looked for in 2,000, took 103 s."""
    compared = 0

    def counted(word: str, names: Iterable[str]) -> str:
        nonlocal compared
        names = list(names)
        compared += len(names)
        return phrases.nearest(word, names)

    monkeypatch.setattr(workloads, "nearest", counted)
    there = [_claim(f"there-{number}", "team" if number % 2 else "lab") for number in range(400)]
    asked = [_pod(f"p{pod}", *(f"away-{number}" for number in range(100))) for pod in range(2)]
    assert [len(each) for each in _missing(there, *asked)] == [100, 100]
    assert compared == MOST_COMPARED  # was 40,000, and 80,000 keys taken apart
    compared = 0
    _missing(there[:40], *asked)
    assert compared == 2_000  # once for a name, not for each pod


@pytest.mark.parametrize(
    "asked",
    [
        [_pod("p", *(f"away-{number}" for number in range(20)))],
        [_pod(f"p{number}", "x") for number in range(20)],
    ],
    ids=["claims", "pods"],
)
def test_reading_ends_with_the_time(asked: list[Any]) -> None:
    """Each pod and claim of it counts."""
    ticks = iter(range(100))
    with pytest.raises(OutOfTime):
        _missing([], *asked, limit=TimeLimit(15.0, lambda: float(next(ticks))))


@pytest.mark.parametrize("command", [["explain", "-f"], ["simulate", "-f"], ["doctor", "--inventory"]])
def test_commands_say_that_the_time_is_over(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They ran on for as long as it took: 50 s for 495 KB, with `--timeout 2`."""
    file = tmp_path / "f.yaml"
    file.write_text(yaml.safe_dump_all([_claim("there"), _pod("p", "away")]), encoding="utf-8")
    assert main([*command, str(file), "--timeout", "1e-9"]) == UNFINISHED
    told = capsys.readouterr()
    if command[0] == "doctor":
        assert "There was no time to look at all pods that wait (--timeout)." in told.out
    else:
        assert told.err == (
            "claimcheck: reading the pods and their claims took longer than 1e-09 s (--timeout)\n"
        )


def test_the_python_api_says_that_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a limit of its own."""
    monkeypatch.setattr(clusters, "READING_SECONDS", 1e-9)
    cluster = claimcheck.Cluster.from_objects([])
    with pytest.raises(
        claimcheck.ClaimcheckError, match="reading the pods and their claims took longer than"
    ):
        claimcheck.explain(_pod("p", "away"), cluster)


def test_containers_are_read_once_for_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,024 claims of a pod whose container uses 16,000 requests took 3 s: all uses were read for each claim."""
    looked = 0

    def counted(obj: Any, field: str) -> Any:
        nonlocal looked
        looked += field == "claims"
        return entries(obj, field)

    monkeypatch.setattr(pods, "entries", counted)
    pod = _pod("p", *("there" for _ in range(50)))
    pod["spec"]["containers"][0]["resources"] = {"claims": [{"name": "a1"}]}
    assert _missing([_claim("there")], pod) == [[]]
    assert looked == 1  # was 50
