"""`claimcheck cel`: the verdict on an expression, and its outcome on devices, with reasons."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main

SLICES = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: gpus}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 2, resourceSliceCount: 1}
  devices:
  - {name: gpu-0, attributes: {model: {string: a100}, index: {int: 0}}, capacity: {memory: {value: 40Gi}}}
  - {name: gpu-1, attributes: {model: {string: h100}}, capacity: {memory: {value: 80Gi}}}
  - {name: gpu-2, attributes: {model: {string: h100}}, capacity: {memory: {value: 80Gi}}}
  - {name: gpu-3, attributes: {serial: {string: x}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: outdated}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-9, attributes: {model: {string: a100}}}]
---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: nics}
spec:
  driver: nic.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: nic-0, basic: {attributes: {speed: {int: 100}}}}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec: {}
"""
MODEL = 'device.attributes["gpu.example.com"].model'
HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields"
)


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    (tmp_path / "slices.yaml").write_text(SLICES)
    return str(tmp_path)


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["cel", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


VERDICTS = [
    pytest.param(
        "true", [], 0,
        "type: bool\nestimated cost: 0 (limit 1,000,000)\n"
        "warning[CC013]: the selector is true for every device\n"
        "hint: remove it, or compare a property of the device\n",
        id="constant"),
    pytest.param(
        f'{MODEL} == "a100"', [], 0, "type: bool\nestimated cost: 5 (limit 1,000,000)\n", id="look-up"
    ),
    pytest.param(
        "device.drivr", [], 1,
        "error: compilation failed: ERROR: <input>:1:7: undefined field 'drivr'\n"
        " | device.drivr\n"
        " | ......^\n"
        "hint: did you mean `driver`?\n",
        id="error-with-caret",
    ),
    pytest.param(
        'string(1) + "x" == "1x"', [], 1,
        "type: bool\nestimated cost: 1,844,674,407,370,955,266 (limit 1,000,000)\n"
        "error: too complex, exceeds cost limit\n"
        "hint: compare attributes directly, without nested loops and "
        "without functions on strings of unknown length; the server estimates the cost of the worst case\n",
        id="too-costly",
    ),
    pytest.param(
        "device.driver",
        [],
        1,
        "error: must evaluate to bool or the unknown type, not string\n"
        'hint: write a condition, which is true for the devices to select, such as `… == "a100"`\n',
        id="no-bool",
    ),
    pytest.param(
        "device.driver", ["--derived"], 0, "type: string\nestimated cost: 2 (limit 1,000,000)\n", id="derived"
    ),
    pytest.param(
        "device.allowMultipleAllocations", ["--kube-version", "1.34"], 1,
        "error: compilation failed: ERROR: <input>:1:7: undefined field 'allowMultipleAllocations'\n"
        " | device.allowMultipleAllocations\n"
        " | ......^\n"
        "hint: `allowMultipleAllocations` cannot be used: feature gate DRAConsumableCapacity is off in 1.34 "
        "(on by default from 1.36)\n",
        id="gate-off-in-an-older-release",
    ),
    pytest.param(
        "device.allowMultipleAllocations",
        ["--kube-version", "1.34", "--feature-gates", "DRAConsumableCapacity=true"], 0,
        "type: bool\nestimated cost: 2 (limit 1,000,000)\n",
        id="gate-on-in-an-older-release",
    ),
    pytest.param("x" * 10_241, [], 1, "error: may not be more than 10240 bytes\n", id="too-long"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "options", "code", "expected"), VERDICTS)
def test_verdicts(
    capsys: pytest.CaptureFixture[str], expression: str, options: list[str], code: int, expected: str
) -> None:
    """Type and cost of an expression, and the error in the server's words; the exit code tells whether it takes it."""
    assert _run(capsys, expression, *options) == (code, expected, "")


def test_groups_of_devices(capsys: pytest.CaptureFixture[str], inventory: str) -> None:
    """Devices with the same outcome for the same reason stand together; old generations of a pool do not count."""
    expression = (
        f'{MODEL} == "a100" && device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'
    )
    code, out, _ = _run(capsys, expression, "--inventory", inventory)
    assert code == 1
    memory = 'device.capacity["gpu.example.com"].memory'
    assert out.split("\n\n")[1:] == [
        "5 devices: 0 match, 3 do not match, 2 fail",
        (
            "no match, cost 5: gpu.example.com/node-1/gpu-1, gpu.example.com/node-1/gpu-2\n"
            f'    {MODEL} == "a100" is false: model is "h100"'
        ),
        (
            "no match, cost 12: gpu.example.com/node-1/gpu-0\n"
            f'    {memory}.compareTo(quantity("80Gi")) >= 0 is false: memory is 40Gi'
        ),
        (
            "failed, cost 12: gpu.example.com/node-1/gpu-3\n"
            f"    no such key: model{HINT}\n"
            f'    {MODEL} fails: no such key: model: the device has no attribute "model" in the domain '
            '"gpu.example.com"; it has "serial"\n'
            f"    {memory} fails: no such key: memory: the device has no capacities in the domain "
            '"gpu.example.com"'
        ),
        (
            "failed, cost 12: nic.example.com/node-1/nic-0\n"
            f"    no such key: model{HINT}\n"
            f'    {MODEL} fails: no such key: model: the device has no attributes in the domain "gpu.example.com"; it '
            'has the domains "nic.example.com"\n'
            f'    {memory} fails: no such key: memory: the device has no capacities in the domain "gpu.example.com"\n'
        ),
    ]


def test_json(capsys: pytest.CaptureFixture[str], inventory: str) -> None:
    """The same as one object: reasons with positions in code points, every device by name."""
    code, out, _ = _run(capsys, 'device.driver == "nic.example.com"', "--inventory", inventory, "-o", "json")
    assert code == 0
    document = json.loads(out)
    groups = document.pop("groups")
    assert document == {
        "expression": 'device.driver == "nic.example.com"',
        "valid": True,
        "type": "bool",
        "maxCost": 4,
        "costLimit": 1_000_000,
        "warnings": [],
        "runtimeCostLimit": 1_000_000,
        "summary": {"devices": 5, "match": 1, "noMatch": 4, "failed": 0},
        "mistakes": [],
    }
    assert groups[0] == {
        "outcome": "match",
        "cost": {"min": 4, "max": 4},
        "devices": [{"driver": "nic.example.com", "pool": "node-1", "name": "nic-0"}],
    }
    assert groups[1]["reasons"] == [
        {
            "expression": 'device.driver == "nic.example.com"',
            "position": 14,
            "outcome": "is false",
            "details": ['driver is "gpu.example.com"'],
        }
    ]


def test_misspelt_names_and_values(capsys: pytest.CaptureFixture[str], inventory: str) -> None:
    """What no device has is named with what is similar, but only where nothing matches."""
    expression = f'{MODEL.replace("model", "?modle.orValue")}("") == "a100" || {MODEL} == "H100"'
    code, out, _ = _run(capsys, expression, "--inventory", inventory)
    assert code == 1
    assert out.splitlines()[3:6] == [
        "5 devices: 0 match, 3 do not match, 2 fail",
        "hint: no device has the attribute gpu.example.com/modle; did you mean gpu.example.com/model?",
        'hint: no device has model "H100"; did you mean "h100"?',
    ]
    _, out, _ = _run(capsys, f'{MODEL} == "H100"', "--inventory", inventory, "-o", "json")
    assert json.loads(out)["mistakes"] == [{"text": 'no device has model "H100"', "meant": '"h100"'}]
    code, out, _ = _run(capsys, f'{MODEL} in ["H100", "a100"]', "--inventory", inventory)
    assert (code, "hint" in out) == (0, False)


def test_json_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """An error comes with its places in the source."""
    code, out, _ = _run(capsys, "a || b", "-o", "json")
    assert code == 1
    error = json.loads(out)["error"]
    assert error["reason"] == "FieldValueInvalid"
    assert [(place["line"], place["column"]) for place in error["locations"]] == [(1, 1), (1, 6)]


ADVICE = [
    pytest.param(
        'device.attributes["model"] == "a100"',
        'hint: look up attributes by domain, then by name: `device.attributes["<driver>"].model`\n',
        id="hint-for-an-error",
    ),
    pytest.param(
        f'{MODEL} >= "9.1"',
        'warning[CC012]: "model" is compared as a string, so "10.0" is less than "9.0"\n'
        f'hint: compare versions: `{MODEL}.compareTo(semver("9.1.0")) >= 0`\n',
        id="lint",
    ),
]


@pytest.mark.parametrize(("expression", "expected"), ADVICE)
def test_advice(capsys: pytest.CaptureFixture[str], expression: str, expected: str) -> None:
    """Hints for errors and the warnings of lints, as `validate` has them; in JSON as well."""
    assert _run(capsys, expression)[1].endswith(expected)
    document = json.loads(_run(capsys, expression, "-o", "json")[1])
    assert "hint" in document["error"] if "error" in document else document["warnings"]


def test_derived_attribute(capsys: pytest.CaptureFixture[str], inventory: str) -> None:
    """A derived attribute's value in place of a match."""
    arguments = ["--derived", "device.driver", "--device", inventory]
    _, out, _ = _run(capsys, *arguments[:2], "--inventory", inventory)
    assert "5 devices: 5 give a value, 0 fail" in out
    assert '{"string": "nic.example.com"}, cost 2: nic.example.com/node-1/nic-0\n' in out


DEVICES = [
    pytest.param({"driver": "d.example.com", "attributes": {"a": {"int": 3}}}, id="bare-device"),
    pytest.param({"driver": "d.example.com", "basic": {"attributes": {"a": {"int": 3}}}}, id="bare-v1beta1-device"),
    pytest.param(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "spec": {
            "driver": "d.example.com", "devices": [{"name": "x", "attributes": {"a": {"int": 3}}}]}},
        id="slice",
    ),
]  # fmt: skip


@pytest.mark.parametrize("document", DEVICES)
def test_device_files(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    document: dict[str, Any],
) -> None:
    """A file has slices or one device; the expression may come from standard input, its last line break left out."""
    file = tmp_path / "device.json"
    file.write_text(json.dumps(document))
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(b'device.attributes["d.example.com"].a == 3\n'))
    )
    code, out, _ = _run(capsys, "-", "--device", str(file))
    assert code == 0
    assert "1 device: 1 match" in out


UNUSABLE = [
    pytest.param("driver: [", "device.yaml:1: ", id="broken-yaml"),
    pytest.param("attributes: {}", "the device has no `driver`", id="no-driver"),
    pytest.param("kind: Pod", "neither a ResourceSlice nor a device", id="something-else"),
    pytest.param("{driver: d, attributes: {a: {int: x}}}", "cannot unmarshal string", id="wrong-type"),
    pytest.param("{kind: ResourceSlice, apiVersion: resource.k8s.io/v9}", "no version", id="unknown-version"),
    pytest.param(
        "{kind: ResourceSlice, apiVersion: resource.k8s.io/v1, spec: {driver: d}}", "no devices in", id="no-devices"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), UNUSABLE)
def test_unusable_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, expected: str) -> None:
    """What cannot be read or has no devices ends with exit code 2 and a reason."""
    file = tmp_path / "device.yaml"
    file.write_text(text)
    code, out, error = _run(capsys, "true", "--device", str(file))
    assert (code, out) == (2, "")
    assert error.startswith("claimcheck: ")
    assert expected in error


def test_both_from_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard input can only be one of the two."""
    code, _, error = _run(capsys, "-", "--device", "-")
    assert code == 2
    assert "cannot both come from standard input" in error


PATCHES = """
apiVersion: claimcheck.example.com/v1alpha3
kind: ResourceSlicePatch
metadata: {name: renamed}
spec:
  devices:
    filter: {driver: gpu.example.com, device: gpu-1}
    attributes: {gpu.example.com/model: {string: a100}, gpu.example.com/index: {int: 1}}
---
apiVersion: claimcheck.example.com/v1alpha3
kind: ResourceSlicePatch
metadata: {name: hidden}
spec:
  devices: {filter: {device: gpu-0}, attributes: {gpu.example.com/model: {"null": {}}}}
"""


def test_patches_are_named_that_gave_what_the_expression_looks_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not those of attributes that it does not look up, nor beside devices that they are not about."""
    file = tmp_path / "cluster.yaml"
    file.write_text(f"{SLICES}\n---\n{PATCHES}", encoding="utf-8")
    own = 'device.attributes["gpu.example.com"]'
    expression = f'device.driver == "gpu.example.com" && {own}.?model.orValue("") == "a100"'
    assert main(["cel", expression, "--inventory", str(file)]) == 0
    text = capsys.readouterr().out
    assert text.count("ResourceSlicePatch") == 2
    assert "gpu-1\n    gpu.example.com/model comes from ResourceSlicePatch renamed\n" in text
    assert "    gpu.example.com/model is removed by ResourceSlicePatch hidden\n" in text
    main(["cel", expression, "--inventory", str(file), "-o", "json"])
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert [each["patched"] for each in groups if "patched" in each] == [
        [{"name": "gpu.example.com/model", "patch": patch, "removed": patch == "hidden"}]
        for patch in ("renamed", "hidden")
    ]
