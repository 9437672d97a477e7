"""Which devices of a pool can be in use together: the page says what the allocator does."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from claimcheck.answers.devices import partitions
from commandline.page import pools as pools_of_page
from commandline.page.cluster_pages import ClusterPages
from serving.routes import HTTPError
from tests.commandline.page.test_capacity import CLASS
from tests.commandline.page.test_cluster_pages import _node, _of_command, _slice, ask

Json = dict[str, Any]
GATES = ("--feature-gates", "DRAPartitionableDevices=true,DRADeviceCompatibilityGroups=true")
POOL = {"driver": "gpu.example.com", "pool": "n1"}


def _counters(count: int = 4, memory: str = "40Gi") -> Json:
    return {f"slice-{place}": {"value": "1"} for place in range(count)} | {"memory": {"value": memory}}


def _part(name: str, gpu: str, slices: range, memory: str, *groups: str) -> Json:
    takes = {f"slice-{place}": {"value": "1"} for place in slices} | {"memory": {"value": memory}}
    consumes: Json = {"counterSet": gpu, "counters": takes}
    if groups:
        consumes["compatibilityGroups"] = [*groups]
    return {
        "name": f"{gpu}-{name}",
        "attributes": {"model": {"string": "H100"}},
        "consumesCounters": [consumes],
    }


def _gpu(gpu: str) -> list[Json]:
    return [
        _part("full", gpu, range(4), "40Gi", "whole"),
        *(_part(f"half-{place}", gpu, range(2 * place, 2 * place + 2), "20Gi", "mig") for place in range(2)),
        *(
            _part(f"quarter-{place}", gpu, range(place, place + 1), "10Gi", "mig", "vgpu")
            for place in range(4)
        ),
        _part("other", gpu, range(0), "0", "odd"),
    ]


def _objects(*gpus: str) -> list[Json]:
    devices, counters = _slice("n1"), _slice("n1")
    for each, name in (devices, "devices"), (counters, "counters"):
        each["metadata"]["name"] = name
        each["spec"]["pool"]["resourceSliceCount"] = 2
    devices["spec"]["devices"] = [part for gpu in gpus for part in _gpu(gpu)]
    counters["spec"]["sharedCounters"] = [{"name": gpu, "counters": _counters()} for gpu in gpus]
    del counters["spec"]["devices"]
    return [_node("n1"), devices, counters, CLASS]


def _pages(path: Path, monkeypatch: pytest.MonkeyPatch, *objects: Json) -> ClusterPages:
    (path / "cluster.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    return _of_command(["--inventory", str(path / "cluster.yaml"), *GATES], monkeypatch)


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterPages:
    """Those of a pool with two devices in parts."""
    return _pages(tmp_path, monkeypatch, *_objects("gpu-0", "gpu-1"))


def test_how_they_share_counters(pages: ClusterPages) -> None:
    """Each with its part of each counter of its counter set."""
    found = ask(pages, "partitions", **POOL)
    assert [each["name"] for each in found["counterSets"]] == ["gpu-0", "gpu-1"]
    [first, _] = found["counterSets"]
    assert first["counters"][:2] == [{"name": "memory", "total": "40Gi"}, {"name": "slice-0", "total": "1"}]
    half = next(each for each in first["partitions"] if each["device"] == "gpu-0-half-1")
    assert half == {
        "device": "gpu-0-half-1",
        "status": "free",
        "tainted": False,
        "shares": {"slice-2": 1.0, "slice-3": 1.0, "memory": 0.5},
        "groups": ["mig"],
    }


def test_pairs_are_what_the_allocator_allocates(
    pages: ClusterPages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once one is allocated, the other is free or is not, whichever is first."""
    [found] = ask(pages, "partitions", **POOL)["pairs"]
    assert (found["counterSets"], found["moreDevices"]) == (["gpu-0", "gpu-1"], 0)
    names = found["devices"]
    refused = {(names[each["first"]], names[each["second"]]): each["reason"] for each in found["refused"]}
    assert refused["gpu-0-half-0", "gpu-0-quarter-1"] == "gpu-0: slice-1 needs 1, 0 left"
    assert (
        refused["gpu-0-full", "gpu-0-other"]
        == "gpu-0 is in use with groups {whole}, the device has groups {odd}"
    )
    for pair in combinations(names, 2):
        for first, second in (pair, pair[::-1]):
            result = {"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": first}
            claim = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": "held", "namespace": "team"},
                "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
                "status": {"allocation": {"devices": {"results": [result]}}},
            }
            held = _pages(tmp_path, monkeypatch, *_objects("gpu-0", "gpu-1"), claim)
            status = ask(held, "device", **POOL, device=second)["status"]
            assert (status != "free") == (pair in refused), (first, second, status)


def test_what_greys_out(pages: ClusterPages) -> None:
    """The parts of the other device stay; the names of those that are chosen have spaces between them."""
    found = ask(pages, "beside", **POOL, devices="gpu-0-half-0 gpu-0-quarter-2")
    refused = {each["device"]: each["reason"] for each in found["refused"]}
    assert refused.keys() == {
        "gpu-0-full",
        "gpu-0-half-1",
        "gpu-0-quarter-0",
        "gpu-0-quarter-1",
        "gpu-0-other",
    }
    assert refused["gpu-0-half-1"] == "gpu-0: memory needs 20Gi, 10Gi left, gpu-0: slice-2 needs 1, 0 left"
    assert ask(pages, "beside", **POOL, devices="") == {"refused": [], "moreRefused": 0}
    with pytest.raises(HTTPError) as error:
        ask(pages, "beside", **POOL, devices="gpu-0-half-0 gpu-9")
    assert error.value.code == 404


def test_parts_of_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that takes from two counter sets keeps these from being alike."""
    objects = _objects("gpu-0", "gpu-1")
    both = _part("both", "gpu-0", range(4), "40Gi", "whole")
    both["consumesCounters"] += _part("x", "gpu-1", range(1), "10Gi", "mig")["consumesCounters"]
    objects[1]["spec"]["devices"].append(both)
    found = ask(_pages(tmp_path, monkeypatch, *objects), "partitions", **POOL)
    assert [each["counterSets"] for each in found["pairs"]] == [["gpu-0"], ["gpu-1"]]
    last = found["pairs"][1]
    assert last["devices"][-1] == "gpu-0-both"
    assert sum(each["second"] == len(last["devices"]) - 1 for each in last["refused"]) == 4


def test_without_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to tell; of a pool that is not there, that it is not."""
    pages = _pages(tmp_path, monkeypatch, _node("n1"), _slice("n1", {"name": "gpu"}))
    found = ask(pages, "partitions", **POOL)
    assert (found["counterSets"], found["pairs"]) == ([], [])
    with pytest.raises(HTTPError) as error:
        ask(pages, "partitions", driver="x", pool="y")
    assert error.value.code == 404


def test_answers_are_bounded(pages: ClusterPages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many, the others are counted; where there is no time, it is said."""
    for name, most in ("MOST_SETS", 1), ("MOST_PARTITIONS", 2), ("MOST_REFUSED", 1):
        monkeypatch.setattr(pools_of_page, name, most)
    monkeypatch.setattr(partitions, "MOST_PAIRED", 3)
    found = ask(pages, "partitions", **POOL)
    assert (len(found["counterSets"]), found["moreCounterSets"]) == (1, 1)
    assert (len(found["counterSets"][0]["partitions"]), found["counterSets"][0]["morePartitions"]) == (2, 6)
    [pairs] = found["pairs"]
    assert (len(pairs["devices"]), pairs["moreDevices"]) == (3, 5)
    assert (len(pairs["counterSets"]), pairs["moreCounterSets"]) == (1, 1)
    assert ask(pages, "beside", **POOL, devices="gpu-0-full")["moreRefused"] == 6


def test_time_is_bounded(pages: ClusterPages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is none for pairs, it is said."""
    monkeypatch.setattr(pools_of_page, "SECONDS", 1e-9)
    found = ask(pages, "partitions", **POOL)
    assert (found["pairs"], found["unfinished"]) == ([], True)
