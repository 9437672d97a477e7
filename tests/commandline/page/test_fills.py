"""Capacity that claims share, as the page shows it: how full it is, and which amounts requests can take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator.time_limit import UNLIMITED
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.devices import fills
from claimcheck.answers.devices.published import PublishedDevices
from commandline.devices.device_map import DeviceMap
from commandline.page.cluster_pages import ClusterPages
from documents.manifest import Unwritten
from resourceapi.releases import Profile
from tests.commandline.page.test_cluster_pages import _node, _of_command, _slice, ask

Json = dict[str, Any]


def _nic(policy: Json | None, total: str = "40G") -> Json:
    capacity: Json = {"value": total} | ({} if policy is None else {"requestPolicy": policy})
    return {"name": "nic", "allowMultipleAllocations": True, "capacity": {"bandwidth": capacity}}


def _claim(name: str, amount: str) -> Json:
    result = {
        "request": "r",
        "driver": "nic.example.com",
        "pool": "n1",
        "device": "nic",
        "shareID": f"a671734a-e8e5-11e4-8fde-42010af0932{name}",
        "consumedCapacity": {"bandwidth": amount},
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "nic"}}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


def _pages(path: Path, monkeypatch: pytest.MonkeyPatch, nic: Json, *claims: Json) -> ClusterPages:
    objects = [_node("n1"), _slice("n1", nic, driver="nic.example.com"), *claims]
    (path / "cluster.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    gates = ("--feature-gates", "DRAConsumableCapacity=true")
    return _of_command(["--inventory", str(path / "cluster.yaml"), *gates], monkeypatch)


def _fill(pages: ClusterPages) -> Json:
    [found] = ask(pages, "device", driver="nic.example.com", pool="n1", device="nic")["fills"]
    return dict(found)


def _ticks(found: Json) -> list[tuple[str, str, float]]:
    return [(each["kind"], each["amount"], each["place"]) for each in found["ticks"]]


def test_how_full_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the map, and on the device's own page."""
    range = {"min": "5G", "max": "20G", "step": "5G"}
    nic = _nic({"default": "10G", "validRange": range})
    pages = _pages(tmp_path, monkeypatch, nic, _claim("1", "10G"), _claim("2", "5G"))
    found = _fill(pages)
    assert (found["capacity"], found["total"], found["used"], found["step"]) == (
        "bandwidth",
        "40G",
        0.375,
        "5G",
    )
    assert _ticks(found) == [
        ("default", "10G", 0.25),
        ("min", "5G", 0.125),
        ("step", "10G", 0.25),
        ("step", "15G", 0.375),
        ("max", "20G", 0.5),
    ]
    [square] = ask(pages, "map")["groups"][0]["devices"]
    assert (square["status"], square["used"]) == ("shared", 0.38)


@pytest.mark.parametrize(
    ("policy", "ticks"),
    [
        (None, []),
        (
            {"default": "1G", "validValues": ["1G", "40G"]},
            [("default", "1G", 0.025), ("value", "1G", 0.025), ("value", "40G", 1.0)],
        ),
        (
            {"default": "1G", "validRange": {"min": "1G"}},
            [("default", "1G", 0.025), ("min", "1G", 0.025), ("max", "40G", 1.0)],
        ),
    ],
)
def test_amounts_of_a_request(
    policy: Json | None, ticks: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values, or a range that ends with the capacity unless it says so; without a policy there are none."""
    found = _fill(_pages(tmp_path, monkeypatch, _nic(policy)))
    assert (found["used"], _ticks(found)) == (0.0, ticks)


def test_steps_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a step of 1 in 9223372036854775807."""
    policy = {"default": "1", "validRange": {"min": "1", "step": "1"}}
    found = _fill(_pages(tmp_path, monkeypatch, _nic(policy, "9223372036854775807")))
    assert [each[0] for each in _ticks(found)] == ["default", "min", "max"]
    most = fills.MOST_STEPS
    for total, steps in (most + 1, most - 1), (most + 2, 0):
        found = _fill(_pages(tmp_path, monkeypatch, _nic(policy, str(total))))
        assert sum(each[0] == "step" for each in _ticks(found)) == steps


def test_devices_of_one_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not filled by shares."""
    pages = _pages(tmp_path, monkeypatch, {"name": "nic", "capacity": {"bandwidth": {"value": "1"}}})
    assert ask(pages, "device", driver="nic.example.com", pool="n1", device="nic")["fills"] == []
    assert ask(pages, "map")["groups"][0]["devices"][0]["used"] is None


def test_who_may_not_know() -> None:
    """It is not said that nothing is in use to somebody who may not read claims."""
    state = ClusterState(Profile(), "default")
    state.learn([Unwritten("", each) for each in (_node("n1"), _slice("n1", _nic(None)))])
    devices = PublishedDevices(state, UNLIMITED)
    [device] = devices
    assert [each.used for each in fills.fills(devices, device)] == [None]
    [group] = DeviceMap(devices).document()["groups"]
    assert [each["used"] for each in group["devices"]] == [None]
