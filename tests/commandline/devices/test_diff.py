"""`claimcheck devices --diff`: what patches and taint rules would change, in the cluster of `snapshots/devices/diff/`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator.devices import Device
from claimcheck.answers.devices import comparison
from commandline.main import main
from tests.commandline import snapshot_files
from tests.commandline.snapshot_files import assert_snapshot

DIRECTORY = snapshot_files.DIRECTORY / "devices" / "diff"
CASES = {
    "patch.yaml": 1,
    "taint.yaml": 1,
    "evict.yaml": 1,
    "hidden.yaml": 0,
    "failing.yaml": 0,
}
REFUSED = {
    "kind: Pod\napiVersion: v1\nmetadata: {name: p}": ":1: expected a ResourceSlicePatch or DeviceTaintRule, found Pod",
    "": ": neither a ResourceSlicePatch nor a DeviceTaintRule",
    "kind: [": ": line 1: ",
    "kind: ResourceSlicePatch\napiVersion: claimcheck.example.com/v1alpha3\nmetadata: {name: p}\n"
    "spec: {devices: {attributes: {a: {string: x}}}}": ':1: ResourceSlicePatch.claimcheck.example.com "p" is invalid: ',
    "kind: ResourceSlicePatch\napiVersion: resource.k8s.io/v1alpha3\nmetadata: {name: p}\n"
    "spec: {devices: {}}": ":1: the server could not find the requested resource",
}


def run(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    code = main(["devices", "--inventory", "cluster.yaml", *options])
    written = capsys.readouterr()
    return code, written.out, written.err


def patch(name: str, **devices: Any) -> dict[str, Any]:
    """A patch."""
    kind = {"apiVersion": "claimcheck.example.com/v1alpha3", "kind": "ResourceSlicePatch"}
    return {**kind, "metadata": {"name": name}, "spec": {"devices": devices}}


@pytest.fixture(autouse=True)
def _directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DIRECTORY)


@pytest.mark.parametrize("file", CASES)
def test_text(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for people says exactly this; the exit code is 1 if a device changes."""
    code, written, _ = run(capsys, "--diff", file)
    assert_snapshot(written, DIRECTORY / file.replace(".yaml", ".txt"))
    assert code == CASES[file]


@pytest.mark.parametrize("file", CASES)
def test_json(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for programs says exactly this, and in YAML the same."""
    code, written, _ = run(capsys, "--diff", file, "-o", "json")
    assert_snapshot(written, DIRECTORY / file.replace(".yaml", ".json"))
    assert code == CASES[file]
    assert yaml.safe_load(run(capsys, "--diff", file, "-o", "yaml")[1]) == json.loads(written)


def test_older_patches_win(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new patch is younger than those in the cluster, whatever their names, also where files do not say how old they are."""
    stored, new = tmp_path / "stored.yaml", tmp_path / "new.yaml"
    tier = {"example.com/level": {"int": 1}}
    stored.write_text(json.dumps(patch("z", attributes=tier)), encoding="utf-8")
    new.write_text(json.dumps(patch("a", attributes={"example.com/level": {"int": 2}})), encoding="utf-8")
    code, written, _ = run(capsys, "--inventory", str(stored), "--diff", str(new))
    assert (code, written.splitlines()[1]) == (
        0,
        "  attribute example.com/level: 2 (ResourceSlicePatch a) has no effect: 1 (ResourceSlicePatch z) comes first",
    )


def test_replaced_patch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch that is in the cluster already is replaced, and keeps its age: what it no longer says is gone."""
    new = tmp_path / "new.yaml"
    new.write_text(json.dumps(patch("pinned", filter={"pool": "n2"}, priority=10)), encoding="utf-8")
    code, written, _ = run(capsys, "--diff", str(new))
    assert (code, written.splitlines()[:2]) == (
        1,
        ["gpu.example.com/n2/gpu-0:", "  attribute example.com/tier: bronze → <none>"],
    )


def test_devices_that_are_listed_and_do_not_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of those on which another patch comes first, only that is told."""
    new = tmp_path / "new.yaml"
    values = {"example.com/tier": {"string": "gold"}}
    new.write_text(json.dumps(patch("gold", attributes=values)), encoding="utf-8")
    assert "\n3 of these 4 devices would change.\n" in run(capsys, "--diff", str(new))[1]


def test_no_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch that chooses no device is said to do nothing."""
    new = tmp_path / "new.yaml"
    new.write_text(json.dumps(patch("idle", filter={"pool": "n9"})), encoding="utf-8")
    assert run(capsys, "--diff", str(new)) == (
        0,
        "No device would change.\nResourceSlicePatch idle applies to no device\n",
        "",
    )


def test_same_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch that says what devices say already changes nothing."""
    new = tmp_path / "new.yaml"
    values = {"gpu.example.com/memory": {"value": "81920Mi"}}
    new.write_text(json.dumps(patch("same", capacity=values)), encoding="utf-8")
    assert run(capsys, "--diff", str(new))[:2] == (0, "No device would change.\n")


def test_gate_off(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the gate nothing changes, which is said."""
    gate = "DRAAdminControlledDeviceAttributes"
    code, written, said = run(capsys, "--diff", "patch.yaml", "--feature-gates", f"{gate}=false")
    assert (code, written) == (0, "No device would change.\n")
    assert said == f"the feature gate {gate} is off, so patches have no effect\n"


@pytest.mark.parametrize("content", REFUSED)
def test_refused(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the API server would not take, or is neither patch nor taint rule, ends the command."""
    file = tmp_path / "new.yaml"
    file.write_text(content, encoding="utf-8")
    code, written, said = run(capsys, "--diff", str(file))
    assert (code, written) == (2, "")
    assert said.removeprefix("claimcheck: ").removeprefix("--diff ").startswith(f"{file}{REFUSED[content]}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["patch.yaml", "--node", "n1"], "--diff and --node: use only one of them"),
        ([], "--diff: name files with ResourceSlicePatches, or - for standard input"),
        (["gpu-0"], "--diff gpu-0: no such file or directory"),
    ],
)
def test_wrong_options(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is about all devices, and about files."""
    assert run(capsys, "--diff", *options) == (2, "", f"claimcheck: {said}\n")


@pytest.mark.parametrize("place", ["--inventory", "--diff"])
def test_time_limit(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It holds for what patches change as well, those of the cluster and those of the comparison."""
    new = tmp_path / "patch.yaml"
    selectors = [{"cel": {"expression": 'device.driver != ""'}}]
    attributes = {"a.example.com/x": {"int": 1}}
    new.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "claimcheck.example.com/v1alpha3",
                "kind": "ResourceSlicePatch",
                "metadata": {"name": "p"},
                "spec": {"devices": {"filter": {"selectors": selectors}, "attributes": attributes}},
            }
        )
    )
    code = main(["devices", "--inventory", "cluster.yaml", place, str(new), "--timeout", "1e-9"])
    assert code == 2
    what = (
        "finding out what would change"
        if place == "--diff"
        else "applying ResourceSlicePatches to the devices"
    )
    assert f"claimcheck: {what} took longer than 1e-09 s (--timeout)\n" in capsys.readouterr().err


def test_time_for_allocated_claims_is_limited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their selectors are evaluated on the devices that they have, as many as there are."""
    documents = yaml.safe_load_all(Path("cluster.yaml").read_text(encoding="utf-8"))
    without_patches = tmp_path / "cluster.yaml"
    kept = [each for each in documents if each["kind"] != "ResourceSlicePatch"]
    without_patches.write_text(yaml.safe_dump_all(kept), encoding="utf-8")
    options = ["devices", "--inventory", str(without_patches), "--diff", "taint.yaml"]
    assert main(options) == 1
    assert main([*options, "--timeout", "1e-9"]) == 2
    message = "claimcheck: finding out what would change took longer than 1e-09 s (--timeout)\n"
    assert message in capsys.readouterr().err


def test_without_a_patch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch of the cluster counts as deleted, beside files or alone; it has to be there, and only in the cluster."""
    code, written, _ = run(capsys, "--diff", "--without", "pinned")
    assert (code, written.splitlines()[:2]) == (
        1,
        ["gpu.example.com/n2/gpu-0:", "  attribute example.com/tier: bronze → <none>"],
    )
    new = tmp_path / "new.yaml"
    values = {"example.com/tier": {"string": "gold"}}
    new.write_text(json.dumps(patch("new", filter={"pool": "n2"}, attributes=values)), encoding="utf-8")
    assert (
        "  attribute example.com/tier: bronze → gold  (ResourceSlicePatch new)\n"
        in run(capsys, "--diff", str(new), "--without", "pinned")[1]
    )
    new.write_text(json.dumps(patch("pinned", attributes=values)), encoding="utf-8")
    for options, expected in (
        (["--without", "pinned"], "--without: only with --diff"),
        (["--diff", "--without", "pined"], "--without pined: there is no such ResourceSlicePatch"),
        (
            ["--diff", str(new), "--without", "pinned"],
            "--without pinned: the files have that ResourceSlicePatch",
        ),
    ):
        code, written, said = run(capsys, *options)
        assert (code, written) == (2, "")
        assert expected in said


@pytest.mark.parametrize(("rules", "more"), [(100, 0), (101, 1)])
def test_not_all_changes_are_listed(
    rules: int, more: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a device the first 100 and how many there are besides: thousands of rules may taint each of thousands of devices."""
    rule = yaml.safe_load(Path("taint.yaml").read_text(encoding="utf-8"))
    items = [
        {
            **rule,
            "metadata": {"name": f"r{number}"},
            "spec": {**rule["spec"], "taint": {"key": f"k{number}", "effect": "NoSchedule"}},
        }
        for number in range(rules)
    ]
    new = tmp_path / "rules.json"
    new.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    devices = json.loads(run(capsys, "--diff", str(new), "-o", "json")[1])["devices"]
    assert devices
    for device in devices:
        assert [each["new"]["key"] for each in device["changes"]] == [f"k{number}" for number in range(100)]
        assert device.get("more", 0) == more
    assert ("  and 1 other\n" in run(capsys, "--diff", str(new))[1]) == bool(more)


def test_devices_that_differ_in_nothing_that_changes_are_compared_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work and memory don't grow with the number of devices times that of rules."""
    compared: list[Device] = []
    compare_one = comparison._compared

    def note(was: Device, *rest: Any) -> comparison.ChangedDevice:
        compared.append(was)
        return compare_one(was, *rest)

    monkeypatch.setattr(comparison, "_compared", note)
    spec = {"driver": "d.example.com", "allNodes": True, "devices": [{"name": f"d{n}"} for n in range(64)]}
    spec["pool"] = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    cluster = tmp_path / "cluster.json"
    cluster.write_text(json.dumps({**kind, "metadata": {"name": "s"}, "spec": spec}), encoding="utf-8")
    rule = yaml.safe_load(Path("taint.yaml").read_text(encoding="utf-8"))
    rule["spec"]["deviceSelector"] = {"driver": "d.example.com"}
    new = tmp_path / "rule.json"
    new.write_text(json.dumps(rule), encoding="utf-8")
    assert main(["devices", "--inventory", str(cluster), "--diff", str(new), "-o", "wide"]) == 1
    assert "64 devices would change" in capsys.readouterr().out
    assert len(compared) == 1
