"""`claimcheck devices`: reports about the devices of the clusters in `snapshots/devices/`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml

from commandline.main import main
from resourceapi.objects import Object as Json
from tests.commandline import snapshot_files
from tests.commandline.odd_values import spoil
from tests.commandline.snapshot_files import assert_snapshot

DIRECTORY = snapshot_files.DIRECTORY / "devices"
CASES: dict[str, list[str]] = {
    "table.txt": [],
    "wide.txt": ["-o", "wide"],
    "json.json": ["-o", "json"],
    "yaml.yaml": ["-o", "yaml", "n1"],
    "allocated.txt": ["n1/gpu-0"],
    "tainted.txt": ["gpu.example.com/n1/gpu-1"],
    "shared.txt": ["nic-0"],
    "partition.txt": ["whole"],
    "incomplete.txt": ["fpga-0"],
}
#: What the options choose, and what is said beside it.
CHOICES: dict[str, tuple[list[str], str]] = {
    "--driver mig.example.com": (["quarter-0", "quarter-1", "whole"], ""),
    "--pool zone-a/network": (["nic-0"], ""),
    "--node n1 --driver nic.example.com": (["nic-0"], ""),
    "--node n2": (["fpga-0", "quarter-0", "quarter-1", "whole"], ""),
    "--class a100": (
        ["gpu-0", "gpu-2"],
        "--class a100 fails on 5 devices, such as fpga.example.com/fpgas/fpga-0: no such key: model",
    ),
    "--class a100 gpu-2": (["gpu-2"], "--class a100 fails on 5 devices"),
    "--selector device.capacity['gpu.example.com'].?memory.hasValue()": (["gpu-0", "gpu-1", "gpu-2"], ""),
    "--driver gpu.exampel.com": (
        [],
        "no devices found: there is no driver gpu.exampel.com; did you mean gpu.example.com?",
    ),
    "--pool n3": ([], "no devices found: there is no pool n3"),
    "--driver gpu.example.com --pool n2": ([], "no devices found"),
    "mig.example.com/n2": (["quarter-0", "quarter-1", "whole"], ""),
    "zone-a/network/nic-0 whole": (["whole", "nic-0"], ""),
}
WRONG = {
    "--node n3": "claimcheck: --node n3: there is no such node",
    "--class a1000": "claimcheck: --class a1000: there is no such class; did you mean a100?",
    "--selector 1": "claimcheck: --selector: must evaluate to bool",
    "--timeout 1e-9 --class a100": "claimcheck: applying ResourceSlicePatches to the devices took longer than 1e-09 s (--timeout)\n",
    "quarter-9": "claimcheck: no device quarter-9; did you mean quarter-0?",
    "n2/gpu": "claimcheck: no device n2/gpu",
    "cluster.yaml": "claimcheck: no device cluster.yaml; `claimcheck impact` tells what the objects in a file would change",
}


def run(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    code = main(["devices", "--inventory", "cluster.yaml", *options])
    written = capsys.readouterr()
    return code, written.out, written.err


@pytest.fixture(autouse=True)
def _directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DIRECTORY / "listing")


@pytest.mark.parametrize(("release", "status"), [("1.34", "free"), ("1.35", "incomplete pool")])
def test_incomplete_pools_of_former_releases(
    release: str, status: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before 1.35, kube-scheduler gives devices of pools that lack slices."""
    inventory = str(DIRECTORY / "listing" / "cluster.yaml")
    assert main(["devices", "--kube-version", release, "--inventory", inventory, "-o", "json", "fpga-0"]) == 0
    (device,) = json.loads(capsys.readouterr().out)["devices"]
    assert device["status"] == status


@pytest.mark.parametrize("file", CASES)
def test_reports(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The reports say exactly this."""
    code, written, _ = run(capsys, *CASES[file])
    assert_snapshot(written, DIRECTORY / "listing" / file)
    assert code == 0


CORDONED = {"spec": {"unschedulable": True}}
TAINTED = {"spec": {"taints": [{"key": "example.com/repair", "value": "fan", "effect": "NoExecute"}]}}


@pytest.mark.parametrize(
    ("node", "status", "reason"),
    [
        (CORDONED, "free, node cordoned", "node(s) were unschedulable"),
        (
            TAINTED,
            "free, node tainted",
            "node(s) had untolerated taint(s): example.com/repair=fan:NoExecute",
        ),
        ({"spec": {"taints": [{"key": "example.com/slow", "effect": "PreferNoSchedule"}]}}, "free", None),
    ],
    ids=("cordoned", "tainted", "preferred"),
)
def test_nodes_to_which_no_pods_come(
    node: Json, status: str, reason: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device that is free is no use to pods that do not come to its node."""
    objects = list(yaml.safe_load_all((DIRECTORY / "listing" / "cluster.yaml").read_text(encoding="utf-8")))
    for each in objects:
        if each["kind"] == "Node" and each["metadata"]["name"] == "n1":
            each.update(node)
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    written = run(capsys, "--inventory", str(file), "n1/gpu-1")[1]
    assert ("node " in written) is (reason is not None)
    table = run(capsys, "--inventory", str(file), "--pool", "n1")[1]
    assert f"  {status}  " in next(line for line in table.splitlines() if "/gpu-1" in line)
    (device,) = json.loads(run(capsys, "--inventory", str(file), "-o", "json", "n1/gpu-1")[1])["devices"]
    assert (device["status"], device.get("nodeClosed")) == ("free", reason)


def test_yaml_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Both formats for programs say the same."""
    as_json, as_yaml = (run(capsys, "-o", format)[1] for format in ("json", "yaml"))
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


@pytest.mark.parametrize("options", CHOICES)
def test_choices(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each option leaves devices out, and so does each name; nothing found is said, and is no failure."""
    expected, remark = CHOICES[options]
    code, written, said = run(capsys, "-o", "json", *options.split())
    names = [each["device"] for each in json.loads(written)["devices"] if each["status"] != "obsolete"]
    assert (code, names) == (0, expected)
    assert said.startswith(remark) if remark else not said


@pytest.mark.parametrize("options", WRONG)
def test_wrong_names(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What does not exist ends the command, with what was probably meant."""
    code, written, said = run(capsys, *options.split())
    assert (code, written) == (2, "")
    assert said.startswith(WRONG[options])


def test_lost_devices(capsys: pytest.CaptureFixture[str]) -> None:
    """What claims hold though no slice has it is said, unless only some devices are asked for."""
    assert run(capsys)[2].endswith("no slice has gpu.example.com/n1/gpu-9, which is allocated to team/lost\n")
    assert run(capsys, "--node", "n1")[2] == ""


def test_failing_patches(capsys: pytest.CaptureFixture[str]) -> None:
    """Patches that do not apply to devices because of an error are named, with the error."""
    _, _, said = run(capsys)
    assert said.startswith(
        "ResourceSlicePatch faulty does not apply to 7 devices, such as fpga.example.com/fpgas/fpga-0: CEL runtime error: "
        'no such key: ecc\nResourceSlicePatch orphan applies to no device: deviceclass.resource.k8s.io "none" not found\n'
    )


def test_gate_off(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the gate of patches, devices are as their slices have them."""
    _, written, said = run(
        capsys, "-o", "json", "--feature-gates", "DRAAdminControlledDeviceAttributes=false"
    )
    assert "ResourceSlicePatch" not in written + said


def test_unreadable_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What can be read is listed; what cannot be is said, and ends with exit code 2."""
    (tmp_path / "broken.yaml").write_text("a: [", encoding="utf-8")
    code, written, said = run(capsys, "--inventory", str(tmp_path))
    assert code == 2
    assert "gpu.example.com/n1/gpu-1" in written
    assert said.startswith(f"{tmp_path}/broken.yaml: error: line 1: ")


@pytest.mark.parametrize("seed", range(40))
def test_odd_values(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is in an inventory, there is a report."""
    chance = random.Random(seed)
    documents = list(yaml.safe_load_all(Path("cluster.yaml").read_text(encoding="utf-8")))
    spoil(chance.choice(documents), chance)
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    for options in (["-o", "wide"], ["-o", "json"]):
        assert main(["devices", "--inventory", str(tmp_path / "cluster.yaml"), *options]) in (0, 2)
    capsys.readouterr()


def test_selectors_that_take_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where there are no patches."""
    file = tmp_path / "cluster.yaml"
    objects = list(yaml.safe_load_all(Path("cluster.yaml").read_text(encoding="utf-8")))
    file.write_text(yaml.safe_dump_all(each for each in objects if each["kind"] != "ResourceSlicePatch"))
    code = main(["devices", "--inventory", str(file), "--timeout", "1e-9", "--class", "a100"])
    assert code == 2
    assert "claimcheck: the selectors took longer than 1e-09 s (--timeout)\n" in capsys.readouterr().err


@pytest.mark.parametrize(("patches", "more"), [(100, 0), (101, 0), (102, 1)])
def test_not_all_hidden_values_are_listed(
    patches: int, more: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the values that a value hides `-o json` has the first 100 and how many there are besides: each device may have thousands."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.x", "pool": pool, "allNodes": True, "devices": [{"name": "a"}]}
    objects: list[dict[str, object]] = [
        {
            "apiVersion": "claimcheck.example.com/v1alpha3",
            "kind": "ResourceSlicePatch",
            "metadata": {"name": f"p{number}"},
            "spec": {
                "devices": {
                    "filter": {"driver": "d.x"},
                    "attributes": {"x.example.com/a": {"int": number}},
                    "priority": number,
                }
            },
        }
        for number in range(patches)
    ]
    objects.append(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": spec,
        }
    )
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert main(["devices", "--inventory", str(file), "-o", "json"]) == 0
    (device,) = json.loads(capsys.readouterr().out)["devices"]
    given = device["attributes"]["x.example.com/a"]
    assert given["int"] == patches - 1
    assert [each["int"] for each in given["hides"]] == list(
        range(patches - 2, patches - 2 - min(patches - 1, 100), -1)
    )
    assert given.get("hidesMore", 0) == more


def test_not_all_values_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the taints and attributes that rules and patches give a device `-o json` has the first 100 and how many there are besides."""
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    objects: list[dict[str, object]] = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"driver": "d.x", "pool": pool, "allNodes": True, "devices": [{"name": "a"}]},
        }
    ]
    for number in range(102):
        objects += [
            {
                "apiVersion": "resource.k8s.io/v1beta2",
                "kind": "DeviceTaintRule",
                "metadata": {"name": f"r{number}"},
                "spec": {
                    "deviceSelector": {"driver": "d.x"},
                    "taint": {"key": f"k{number}", "effect": "NoSchedule"},
                },
            },
            {
                "apiVersion": "claimcheck.example.com/v1alpha3",
                "kind": "ResourceSlicePatch",
                "metadata": {"name": f"p{number}"},
                "spec": {"devices": {"attributes": {f"d.x/a{number}": {"int": 1}}}},
            },
        ]
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert main(["devices", "--inventory", str(file), "-o", "json"]) == 0
    (device,) = json.loads(capsys.readouterr().out)["devices"]
    assert (len(device["taints"]), device["moreTaints"]) == (100, 2)
    assert (len(device["attributes"]), device["moreAttributes"]) == (100, 2)
