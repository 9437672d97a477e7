"""How much is free, on the page and in `claimcheck devices --summary`: one answer."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from claimcheck.answers import room
from claimcheck.answers.devices.capacity import MOST_PLACES, Capacity, Stock
from cluster.workloads import Workload
from commandline.devices import capacity_report
from commandline.main import main
from commandline.page import cluster_pages, planning
from commandline.page.cluster_pages import ClusterPages
from resourceapi.records.claims import Claim
from serving.routes import HTTPError
from tests.commandline.page.test_cluster_pages import _node, _of_command, _slice, ask

ROOT = "resource.kubernetes.io/pcieRoot"


def _gpu(place: int, root: int, model: str = "H100", **more: Any) -> dict[str, Any]:
    attributes = {"model": {"string": model}, ROOT: {"string": f"pci0000:{root:02x}"}}
    return {"name": f"gpu-{place}", "attributes": attributes, **more}


TAINT = {"key": "example.com/hot", "effect": "NoSchedule"}
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": 'device.attributes["gpu.example.com"].model == "H100"'}}]},
}


def _claim(count: int, kind: str = "ResourceClaim", name: str = "c") -> dict[str, Any]:
    spec: dict[str, Any] = {
        "devices": {
            "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": count}}],
            "constraints": [{"matchAttribute": ROOT}],
        }
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"spec": spec} if kind == "ResourceClaimTemplate" else spec,
    }


def _held(device: str) -> dict[str, Any]:
    result = {"request": "r", "driver": "gpu.example.com", "pool": "n0", "device": device}
    return {**_claim(1, name="held"), "status": {"allocation": {"devices": {"results": [result]}}}}


#: Three nodes with 4 devices on two roots: one has a claim and a tainted device, one is free, one is cordoned; and another model.
CLUSTER: list[dict[str, Any]] = [
    *(_node(f"n{place}") for place in range(2)),
    {**_node("n2"), "spec": {"unschedulable": True}},
    _node("n3"),
    _slice("n0", *(_gpu(each, each // 2, taints=[TAINT] if each == 3 else []) for each in range(4))),
    _slice("n1", *(_gpu(each, each // 2) for each in range(4))),
    _slice("n2", *(_gpu(each, each // 2) for each in range(4))),
    _slice("n3", _gpu(0, 0, model="@A1")),
    CLASS,
    _held("gpu-0"),
    _claim(2, "ResourceClaimTemplate", "pair"),
]


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterPages:
    """Those of the cluster."""
    from tests.commandline.page.test_cluster_pages import _of_command

    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(CLUSTER), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return _of_command(["--inventory", "cluster.yaml"], monkeypatch)


def test_what_is_free(pages: ClusterPages) -> None:
    """Alone, on whole nodes, on one node and one root; what nobody gets has its reason."""
    found = ask(pages, "capacity")
    h100 = {
        "devices": 12,
        "held": 1,
        "free": 6,
        "wholeNodes": 1,
        "onWholeNodes": 4,
        "near": [
            {
                "by": "node",
                "sets": [{"size": 2, "count": 3}, {"size": 4, "count": 1}, {"size": 8, "count": 0}],
            },
            {"by": ROOT, "sets": [{"size": 2, "count": 2}, {"size": 4, "count": 0}, {"size": 8, "count": 0}]},
        ],
        "stranded": [{"reason": "node cordoned", "devices": 4}, {"reason": "tainted", "devices": 1}],
    }
    assert found["models"][1] == {"driver": "gpu.example.com", "model": "H100", **h100}
    assert found["classes"] == [{"deviceClass": "gpu", **h100}]
    assert found["unfinished"] == []
    assert found["requesting"][0] == {"kind": "ResourceClaimTemplate", "namespace": "team", "name": "pair"}


def test_the_command_says_the_same(pages: ClusterPages, capsys: pytest.CaptureFixture[str]) -> None:
    """As text, as JSON, and as a table for spreadsheets, in which no name is a formula."""
    given = ["devices", "--summary", "--inventory", "cluster.yaml"]
    assert main([*given, "-o", "json"]) == 0
    found = ask(pages, "capacity")
    assert json.loads(capsys.readouterr().out) == {
        key: found[key] for key in ("models", "classes", "unfinished", "fragmentation")
    }
    assert main(given) == 0
    text = capsys.readouterr().out
    assert "gpu.example.com  H100" in text
    assert "4 node cordoned, 1 tainted" in text
    assert main([*given, "-o", "csv"]) == 0
    written = capsys.readouterr().out
    assert written.replace("\r", "") == ask(pages, "capacity.csv")["text"].replace("\r", "")
    rows = list(csv.DictReader(io.StringIO(ask(pages, "capacity.csv")["text"])))
    assert [each["model"] for each in rows] == ["'@A1", "H100", ""]
    assert (rows[2]["class"], rows[2]["free"], rows[2]["2 on a pcieRoot"]) == ("gpu", "6", "2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "csv"], "--output csv: without --summary, it is text, wide, json, yaml, html, svg"),
        (["--summary", "-o", "wide"], "--output wide: with --summary, it is text, json, yaml, csv"),
    ],
)
def test_formats(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A summary has others than the devices."""
    assert main(["devices", "--inventory", "cluster.yaml", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "copies"),
    [
        ({"kind": "ResourceClaimTemplate", "namespace": "team", "name": "pair"}, 2),
        ({"kind": "ResourceClaim", "namespace": "team", "name": "held"}, 6),
        ({"text": json.dumps(_claim(2))}, 2),
        ({"text": json.dumps(_claim(4))}, 0),
        ({"deviceClass": "gpu", "count": "4"}, 1),
        ({"deviceClass": "gpu", "count": "1"}, 6),
    ],
)
def test_how_many_more_fit(asked: dict[str, str], copies: int, pages: ClusterPages) -> None:
    """Like a claim that holds devices, one that is made from a template, or one that is pasted: each has devices of its own."""
    found = ask(pages, "room", **asked)
    assert [each["copies"] for each in found["objectives"]] == [copies, copies]
    assert all(each["isAll"] for each in found["objectives"])
    assert {each["objective"] for each in found["objectives"]} == {"first-fit", "best-fit"}
    for each in found["objectives"]:
        assert len(each["order"]) == copies
        assert {*each["order"]} == {*range(len(each["nodes"]))}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"text": "{"}, "line"),
        ({"text": "kind: Node"}, "nothing in it requests devices"),
        (
            {"text": json.dumps({**_claim(1), "spec": {"devices": {"requests": [{"name": "R"}]}}})},
            "Invalid value",
        ),
        ({"kind": "Pod", "namespace": "team", "name": "x"}, "there is no Pod team/x"),
        ({"kind": "Pod"}, "namespace is missing"),
        ({"deviceClass": "gqu", "count": "1"}, "there is no DeviceClass gqu"),
        ({"deviceClass": "gpu"}, "count is missing"),
        ({"deviceClass": "gpu", "count": "0"}, "count: expected a number from 1 to 1,000"),
        ({"deviceClass": "gpu", "count": "1001"}, "count: expected a number from 1 to 1,000"),
        ({"deviceClass": "gpu", "count": "\u0661"}, "count: expected a number from 1 to 1,000"),
    ],
)
def test_what_is_no_claim(asked: dict[str, str], message: str, pages: ClusterPages) -> None:
    """It is said what is wrong with it, and nothing of it stays."""
    with pytest.raises(HTTPError) as error:
        ask(pages, "room", **asked)
    assert message in error.value.message
    assert ask(pages, "capacity")["moreRequesting"] == 0
    assert len(ask(pages, "capacity")["requesting"]) == 2


def test_counting_is_bounded(pages: ClusterPages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no time, or they are many, it is said that there may be more; classes that were not looked at are named."""
    monkeypatch.setattr(room, "MOST_COPIES", 1)
    found = ask(pages, "room", text=json.dumps(_claim(1)))
    assert [(each["copies"], each["isAll"]) for each in found["objectives"]] == [(1, False)] * 2
    monkeypatch.setattr(planning, "ROOM_SECONDS", 1e-9)
    with pytest.raises(HTTPError) as error:
        ask(pages, "room", text=json.dumps(_claim(2)))
    assert error.value.code == 503
    monkeypatch.setattr(cluster_pages, "CAPACITY_SECONDS", 1e-9)
    found = ask(pages, "capacity")
    assert (found["unfinished"], found["classes"], found["fragmentation"]) == (["gpu"], [], None)


def _pages_of(*objects: dict[str, Any], path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterPages:
    (path / "cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), "utf-8"
    )
    return _of_command(["--inventory", str(path / "cluster.json")], monkeypatch)


def test_classes_without_selectors_take_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a thousand of them beside 2,560 devices (400 KB) kept everybody waiting for 13 s."""
    everything = {**CLASS, "metadata": {"name": "all"}, "spec": {}}
    shown = _pages_of(*CLUSTER, everything, path=tmp_path, monkeypatch=monkeypatch)
    assert "all" in [each["deviceClass"] for each in ask(shown, "capacity")["classes"]]
    shown = _pages_of(*CLUSTER, everything, path=tmp_path, monkeypatch=monkeypatch)
    monkeypatch.setattr(cluster_pages, "CAPACITY_SECONDS", 1e-9)
    assert ask(shown, "capacity")["unfinished"] == ["all", "gpu"]


def test_many_attributes_that_tell_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: each is three columns of a table, which had as many as there were names; those of Kubernetes stay."""
    devices = []
    for place in range(40):
        found = _gpu(place, place)
        found["attributes"][f"resource.kubernetes.io/a{place}"] = {"string": "x"}
        devices.append(found)
    shown = _pages_of(_node("n0"), _slice("n0", *devices), path=tmp_path, monkeypatch=monkeypatch)
    (model,) = ask(shown, "capacity")["models"]
    near = [each["by"] for each in model["near"]]
    assert len(near) == 1 + MOST_PLACES
    assert {"node", ROOT} <= {*near}


def test_a_table_with_hostile_names() -> None:
    """The attack: a model with line breaks is a workflow command in a CI log, and one with escapes controls a terminal."""
    hostile = "\n::add-mask::x\r::error::y ##[z]\x1b[31m\u202e"
    stocks = [Stock(name, "d", hostile, 1, 0, 1, 1, 1, {}, {hostile: 1}) for name in ("::error::class", "b")]
    written = capacity_report.as_csv(Capacity(stocks, (), (), None))
    lines = written.removesuffix("\r\n").split("\r\n")
    assert len(lines) == 3
    assert all(line.isprintable() and not line.startswith("::") and "##[" not in line for line in lines)


def test_a_table_of_many_models() -> None:
    """The attack: for each row all rows were looked through, 13 s for 10,240 devices of as many models (1.3 MB)."""
    looks = 0

    class Near(dict[str, dict[int, int]]):
        def __iter__(self) -> Iterator[str]:
            nonlocal looks
            looks += 1
            return super().__iter__()

    stocks = [Stock("", "d", f"m{place}", 1, 0, 1, 1, 1, Near(node={2: 0}), {}) for place in range(100)]
    found = Capacity(stocks, (), (), None)
    assert capacity_report.as_csv(found).count("\r\n") == 101
    assert len(list(capacity_report.lines(found))) == 103
    assert looks == 200


def test_copies_are_made_one_by_one(pages: ClusterPages, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a thousand copies of a pod with 800 claims (37 KB) were made before the first was placed, 26 s and 726 MB."""
    made = 0
    claims_of_copy = Workload.claims_of_copy

    def counted(workload: Workload, number: int) -> list[Claim]:
        nonlocal made
        made += 1
        return claims_of_copy(workload, number)

    monkeypatch.setattr(Workload, "claims_of_copy", counted)
    found = ask(pages, "room", text=json.dumps(_claim(4)))
    assert [each["copies"] for each in found["objectives"]] == [0, 0]
    assert made < 10
