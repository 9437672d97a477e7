"""`claimcheck impact`: what patches and taint rules change about devices, in the cluster of `snapshots/impact/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator import time_limit
from allocator.devices import Device
from allocator.time_limit import TimeLimit
from claimcheck.answers.impact import changed_devices
from claimcheck.answers.impact import impact as answers
from commandline.main import main
from tests.commandline import snapshot_files
from tests.commandline.snapshot_files import assert_snapshot

DIRECTORY = snapshot_files.DIRECTORY / "impact"
CASES = {
    "patch.yaml": 1,
    "taint.yaml": 1,
    "evict.yaml": 1,
    "hidden.yaml": 0,
    "failing.yaml": 1,
}
REFUSED = {
    "kind: [": ": line 1: ",
    "kind: ResourceSlicePatch\napiVersion: claimcheck.example.com/v1alpha3\nmetadata: {name: p}\n"
    "spec: {devices: {attributes: {a: {string: x}}}}": ':1: ResourceSlicePatch.claimcheck.example.com "p" is invalid: ',
    "kind: ResourceSlicePatch\napiVersion: resource.k8s.io/v1alpha3\nmetadata: {name: p}\n"
    "spec: {devices: {}}": ":1: the server could not find the requested resource",
}


def run(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    code = main(["impact", "--inventory", "cluster.yaml", *options])
    written = capsys.readouterr()
    return code, written.out, written.err


def patch(name: str, **devices: Any) -> dict[str, Any]:
    """A patch."""
    kind = {"apiVersion": "claimcheck.example.com/v1alpha3", "kind": "ResourceSlicePatch"}
    return {**kind, "metadata": {"name": name}, "spec": {"devices": devices}}


def written_to(directory: Path, *objects: dict[str, Any]) -> str:
    """A file with these objects."""
    file = directory / "new.yaml"
    file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    return str(file)


@pytest.fixture(autouse=True)
def _directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DIRECTORY)


@pytest.mark.parametrize("file", CASES)
def test_text(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for people says exactly this; the exit code is 1 if something gets worse."""
    code, written, _ = run(capsys, file)
    assert_snapshot(written, DIRECTORY / file.replace(".yaml", ".txt"))
    assert code == CASES[file]


@pytest.mark.parametrize("file", CASES)
def test_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for programs says exactly this, and in YAML the same."""
    written = run(capsys, file, "-o", "json")[1]
    assert_snapshot(written, DIRECTORY / file.replace(".yaml", ".json"))
    assert yaml.safe_load(run(capsys, file, "-o", "yaml")[1]) == json.loads(written)


def test_older_patches_win(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new patch is younger than those in the cluster, whatever their names, also where files do not say how old they are."""
    stored = tmp_path / "stored.yaml"
    stored.write_text(json.dumps(patch("z", attributes={"example.com/level": {"int": 1}})))
    new = written_to(tmp_path, patch("a", attributes={"example.com/level": {"int": 2}}))
    written = run(capsys, "--inventory", str(stored), new)[1]
    assert (
        "    attribute example.com/level: 2 (ResourceSlicePatch a) has no effect: 1 (ResourceSlicePatch z) comes first\n"
        in written
    )


def test_replaced_patch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch that is in the cluster already is replaced, and keeps its age: what it no longer says is gone."""
    new = written_to(tmp_path, patch("pinned", filter={"pool": "n2"}, priority=10))
    lost = "  gpu.example.com/n2/gpu-0:\n    attribute example.com/tier: bronze → <none>\n"
    assert lost in run(capsys, new)[1]
    assert lost in run(capsys, "--delete", "resourceslicepatch/pinned")[1]


def test_same_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch that says what devices say already changes nothing."""
    new = written_to(tmp_path, patch("same", capacity={"gpu.example.com/memory": {"value": "81920Mi"}}))
    assert run(capsys, new)[:2] == (0, "nothing changes for pods\n")


def test_gate_off(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the gate nothing changes, which is said."""
    gate = "DRAAdminControlledDeviceAttributes"
    code, written, _ = run(capsys, "patch.yaml", "--feature-gates", f"{gate}=false")
    assert code == 0
    assert f"The feature gate {gate} is off, so patches have no effect.\n" in written


@pytest.mark.parametrize("content", REFUSED)
def test_refused(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the API server would not take ends the command."""
    file = tmp_path / "new.yaml"
    file.write_text(content, encoding="utf-8")
    code, written, said = run(capsys, str(file))
    assert (code, written) == (2, "")
    assert said.startswith(f"claimcheck: {file}{REFUSED[content]}")


@pytest.mark.parametrize("place", ["--inventory", ""])
def test_time_limit(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds for what patches change as well, those of the cluster and those of the change."""
    selectors = [{"cel": {"expression": 'device.driver != ""'}}]
    given = patch("p", filter={"selectors": selectors}, attributes={"a.example.com/x": {"int": 1}})
    new = written_to(tmp_path, given)
    change = ["--cordon", "n1"] if place else []
    options = [*filter(None, [place]), new, *change, "--timeout", "1e-9"]
    assert main(["impact", "--inventory", "cluster.yaml", *options]) == 2
    what = "applying ResourceSlicePatches or reading the pods"
    assert f"claimcheck: {what} took longer than 1e-09 s (--timeout)\n" in capsys.readouterr().err


def test_time_for_allocated_claims_is_limited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their selectors are evaluated on the devices that they have, as many as there are."""
    documents = yaml.safe_load_all(Path("cluster.yaml").read_text(encoding="utf-8"))
    kept = [each for each in documents if each["kind"] != "ResourceSlicePatch"]
    without_patches = tmp_path / "cluster.yaml"
    without_patches.write_text(yaml.safe_dump_all(kept), encoding="utf-8")
    now = 0.0

    def late(*given: Any) -> Any:
        nonlocal now
        now = 1_000.0  # what comes before has had its time
        return changed_devices.changed_devices(*given)

    monkeypatch.setattr(time_limit, "TimeLimit", lambda seconds, _=None: TimeLimit(seconds, lambda: now))
    monkeypatch.setattr(answers, "changed_devices", late)
    assert main(["impact", "--inventory", str(without_patches), "taint.yaml", "--timeout", "500"]) == 2
    said = "There was no time to ask for all devices, claims and classes what changes (--timeout).\n"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(("rules", "more"), [(100, 0), (101, 1)])
def test_not_all_changes_are_listed(
    rules: int, more: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a device the first 100 and how many there are besides: thousands of rules may taint each of thousands of devices."""
    rule = yaml.safe_load(Path("taint.yaml").read_text(encoding="utf-8"))
    new = written_to(
        tmp_path,
        *(
            {
                **rule,
                "metadata": {"name": f"r{number}"},
                "spec": {**rule["spec"], "taint": {"key": f"k{number}", "effect": "NoSchedule"}},
            }
            for number in range(rules)
        ),
    )
    devices = json.loads(run(capsys, new, "-o", "json")[1])["devices"]
    assert devices
    for device in devices:
        assert [each["new"]["key"] for each in device["changes"]] == [f"k{number}" for number in range(100)]
        assert device.get("more", 0) == more
    assert ("  and 1 other\n" in run(capsys, new)[1]) == bool(more)


def test_devices_that_differ_in_nothing_that_changes_are_compared_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work and memory don't grow with the number of devices times that of rules."""
    compared: list[Device] = []
    compare_one = changed_devices._compared

    def note(was: Device, *rest: Any) -> changed_devices.ChangedDevice:
        compared.append(was)
        return compare_one(was, *rest)

    monkeypatch.setattr(changed_devices, "_compared", note)
    spec = {"driver": "d.example.com", "allNodes": True, "devices": [{"name": f"d{n}"} for n in range(64)]}
    spec["pool"] = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({**kind, "metadata": {"name": "s"}, "spec": spec}), encoding="utf-8")
    rule = yaml.safe_load(Path("taint.yaml").read_text(encoding="utf-8"))
    rule["spec"]["deviceSelector"] = {"driver": "d.example.com"}
    assert main(["impact", "--inventory", str(cluster), written_to(tmp_path, rule)]) == 0
    assert "devices that change: 64\n" in capsys.readouterr().out
    assert len(compared) == 1
