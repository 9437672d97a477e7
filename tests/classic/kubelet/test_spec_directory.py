"""Files of CDI specs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from classic.kubelet.cdi import ContainerEdits, Device, DeviceKind
from classic.kubelet.preparation import AllocatedClaim, SpecDirectory
from tests.classic.kubelet.node import DRIVER, UID

CLAIM = AllocatedClaim("default", "claim", UID)
NAME = f"{DRIVER}=gpu_{UID}.json"


def device(value: str) -> Device:
    return Device("gpu-0", ContainerEdits(env={"GPU": value}))


def directory(path: Path) -> SpecDirectory:
    return SpecDirectory(path, DeviceKind(DRIVER, "gpu"))


def test_a_spec_is_replaced_and_removed(tmp_path: Path) -> None:
    """There is one file, with the last content; removing it twice is no error."""
    specs = directory(tmp_path / "cdi")
    assert not specs.has(CLAIM)
    for value in ("1", "2"):
        assert specs.write(CLAIM, [device(value)]) == [f"{DRIVER}/gpu=gpu-0.{UID}"]
        assert specs.has(CLAIM)
    assert [file.name for file in (tmp_path / "cdi").iterdir()] == [NAME]
    assert "GPU=2" in (tmp_path / "cdi" / NAME).read_text(encoding="utf-8")
    for _ in range(2):
        specs.remove(CLAIM)
        assert list((tmp_path / "cdi").iterdir()) == []


def test_what_is_unfinished_is_no_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk becomes full, the spec stays as it was, and nothing is left beside it."""
    specs = directory(tmp_path)
    specs.write(CLAIM, [device("1")])

    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        specs.write(CLAIM, [device("2")])
    assert [file.name for file in tmp_path.iterdir()] == [NAME]
    assert "GPU=1" in (tmp_path / NAME).read_text(encoding="utf-8")


def test_what_a_killed_plugin_left_is_overwritten(tmp_path: Path) -> None:
    """Not followed either, should somebody have put a link there."""
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    (tmp_path / f".{NAME}.new").symlink_to(victim)
    directory(tmp_path).write(CLAIM, [device("1")])
    assert victim.read_text(encoding="utf-8") == "mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == [NAME, "victim"]


def test_a_link_in_the_place_of_a_spec(tmp_path: Path) -> None:
    """It is replaced or removed, and what it leads to stays."""
    victim, specs = tmp_path / "victim", directory(tmp_path)
    victim.write_text("mine", encoding="utf-8")
    (tmp_path / NAME).symlink_to(victim)
    specs.write(CLAIM, [device("1")])
    assert not (tmp_path / NAME).is_symlink()
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).symlink_to(victim)
    specs.remove(CLAIM)
    assert victim.read_text(encoding="utf-8") == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["victim"]


def test_the_same_device_of_two_claims(tmp_path: Path) -> None:
    """Has two names, as runtimes refuse a name that is in two specs."""
    specs = directory(tmp_path)
    other = AllocatedClaim("default", "other", "other")
    assert specs.write(CLAIM, [device("1")]) != specs.write(other, [device("1")])
    assert len(list(tmp_path.iterdir())) == 2


def test_drivers_whose_names_join_to_the_same_text(tmp_path: Path) -> None:
    """Each has a file of its own."""
    for vendor, device_class in (("foo", "bar-gpu"), ("foo-bar", "gpu")):
        SpecDirectory(tmp_path, DeviceKind(vendor, device_class)).write(CLAIM, [device("1")])
    assert len(list(tmp_path.iterdir())) == 2
