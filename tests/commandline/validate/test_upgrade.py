"""Objects that were read from a server: what another release does with them as they are stored, beside creating them again.

The answers to updates are those of real servers on an etcd in which one of 1.37 with every gate on had stored the objects.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main

UID = "6d1f5c2e-0000-4000-8000-000000000001"
INCLUDES = 'device.attributes["gpu.example.com"].model.includes("a100")'


def _object(kind: str, spec: dict[str, Any], version: str = "v1", **metadata: Any) -> dict[str, Any]:
    stored = {"name": "x", "uid": UID, "resourceVersion": "7", "creationTimestamp": "2026-11-01T00:00:00Z"}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {**stored, **metadata},
        "spec": spec,
    }


def _claim_spec(**exactly: Any) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **exactly}}
    return {"devices": {"requests": [request]}}


SELECTORS = [{"cel": {"expression": INCLUDES}}]
CAPACITY = _object("ResourceClaim", _claim_spec(capacity={"requests": {"m": "1Gi"}}))
CLASS = _object("DeviceClass", {"selectors": SELECTORS})
TEMPLATE = _object("ResourceClaimTemplate", {"spec": _claim_spec(selectors=SELECTORS)})
RULE = _object("DeviceTaintRule", {"taint": {"key": "example.com/broken", "effect": "NoSchedule"}})
BETA = _object(
    "ResourceClaim",
    {"devices": {"requests": [{"name": "gpu", "deviceClassName": "gpu.example.com"}]}},
    "v1beta1",
)
# Stored while CRDs served the API, as no server stores it: in 1.34 a new slice loses the counters, and this one keeps too many.
COUNTERS = _object(
    "ResourceSlice",
    {
        "driver": "gpu.example.com",
        "nodeName": "n",
        "pool": {"name": "n", "generation": 1, "resourceSliceCount": 1},
        "sharedCounters": [
            {"name": f"set-{number}", "counters": {"memory": {"value": "1Gi"}}} for number in range(9)
        ],
    },
)
FINE = _object("DeviceClass", {})


def _validate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], objects: list[dict[str, Any]], *options: str
) -> str:
    file = tmp_path / "stored.yaml"
    file.write_text("\n---\n".join(map(json.dumps, objects)), encoding="utf-8")
    main(["validate", *options, str(file)])
    return capsys.readouterr().out


def _json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], objects: list[dict[str, Any]], *options: str
) -> Any:
    return json.loads(_validate(tmp_path, capsys, objects, "-o", "json", *options))


@pytest.mark.parametrize(
    ("stored", "release", "valid", "updates"),
    [
        pytest.param(CAPACITY, "1.35", True, "accepted", id="field whose gate is off"),
        pytest.param(CLASS, "1.35", False, "refused", id="class with a function that is not there"),
        pytest.param(TEMPLATE, "1.35", False, "refused", id="template refused in any case"),
        pytest.param(COUNTERS, "1.35", False, "refused", id="fields that are kept and not allowed"),
        pytest.param(RULE, "1.36", False, "not served", id="kind that is not served"),
        pytest.param(BETA, "1.37", False, "accepted", id="version that is not served"),
        pytest.param(FINE, "1.34", True, "accepted", id="nothing"),
    ],
)
def test_updates_of_what_is_stored(
    stored: dict[str, Any],
    release: str,
    valid: bool,
    updates: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """That an object would be refused as a new one does not say that it stops working."""
    [result] = _json(tmp_path, capsys, [stored], "--kube-version", release)["results"]
    assert (result["valid"], result["stored"]["updates"]) == (valid, updates)


def test_update_that_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An object that would be accepted as a new one, and cannot be updated as it is stored, is an error."""
    text = _validate(tmp_path, capsys, [COUNTERS], "--kube-version", "1.35")
    assert "error: updates of the stored object are refused: ResourceSlice.resource.k8s.io" in text
    assert "spec.sharedCounters: Too many: 9: must have at most 8 items" in text
    assert "would refuse" not in text


def test_manifest_is_not_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said about what users write: neither with a uid alone nor with --old."""
    written = {**CAPACITY, "metadata": {"name": "x"}}
    for objects, options in (
        ([written], ()),
        ([{**CAPACITY, "metadata": {"name": "x", "uid": UID}}], ()),
        ([CAPACITY], ("--old", str(tmp_path / "stored.yaml"))),
    ):
        report = _json(tmp_path, capsys, objects, *options)
        assert "stored" not in report
        assert "stored" not in report["results"][0]


def test_what_no_server_can_have_stored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An object that cannot be decoded has only the server's answer."""
    [result] = _json(tmp_path, capsys, [{**CAPACITY, "spec": 5}])["results"]
    assert "stored" not in result
    assert not result["valid"]


def _slices(drivers: dict[str, int], devices: int) -> list[dict[str, Any]]:
    return [
        _object(
            "ResourceSlice",
            {
                "driver": driver,
                "nodeName": f"n{index}",
                "pool": {"name": f"n{index}", "generation": 1, "resourceSliceCount": 1},
                "devices": [
                    {"name": f"d{number}", "allowMultipleAllocations": True} for number in range(devices)
                ],
            },
            name=f"{driver}-{index}",
        )
        for driver, count in drivers.items()
        for index in range(count)
    ]


OFF = ("--kube-version", "1.36", "--feature-gates", "DRAConsumableCapacity=false")


def test_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before the findings stands what becomes of all of them, by kind, and for slices by driver."""
    slices = _slices({"gpu.example.com": 2, "nic.example.com": 1}, 5)
    text = _validate(tmp_path, capsys, [*slices, CAPACITY, CLASS, TEMPLATE, RULE, FINE], *OFF)
    drop, again = "1.36 would drop", "if they were created again"
    assert text.partition("\n\n")[0].splitlines() == [
        "8 stored objects under 1.36: 6 can be read and updated, 1 can be read but not updated, 1 can be neither",
        "  1.36 refuses updates of 1 ResourceClaimTemplate",
        "  1.36 does not serve 1 DeviceTaintRule",
        "  1.36 would refuse 1 DeviceClass if it were created again",
        "  1.36 would refuse 1 ResourceClaimTemplate if it were created again",
        f"  {drop} `allowMultipleAllocations` from 10 devices in 2 ResourceSlices of driver gpu.example.com {again}",
        f"  {drop} `allowMultipleAllocations` from 5 devices in 1 ResourceSlice of driver nic.example.com if it were created again",
        f"  {drop} `capacity` from 1 request in 1 ResourceClaim if it were created again",
    ]
    assert (
        "= stored: the object keeps the field, even when it is updated, and loses it only if it is created again"
        in text
    )
    assert "= stored: the object can be read, and updated with its spec unchanged" in text
    assert "= stored: the object can be read, but the server refuses updates of it, too" in text
    assert "= stored: the object stays in storage" in text


def test_summary_as_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has the same numbers."""
    slices = _slices({"gpu.example.com": 2}, 5)
    report = _json(tmp_path, capsys, [*slices, CLASS], *OFF)
    of_driver = {"kind": "ResourceSlice", "driver": "gpu.example.com"}
    dropped = {"field": "allowMultipleAllocations", "of": "devices", "entries": 10, **of_driver, "objects": 2}
    assert report["stored"] == {
        "objects": [
            {"updates": "accepted", **of_driver, "count": 2},
            {"updates": "accepted", "kind": "DeviceClass", "count": 1},
        ],
        "refusedIfCreatedAgain": [{"kind": "DeviceClass", "count": 1}],
        "droppedIfCreatedAgain": [dropped],
    }


def test_nothing_to_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and none with --quiet."""
    assert _validate(tmp_path, capsys, [FINE]) == (
        "1 stored object under 1.37: all can be read and updated\n\n1 object: 1 valid, 0 invalid\n"
    )
    assert _validate(tmp_path, capsys, [FINE], "-q") == ""


def test_version_that_is_served_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file cannot be applied as it is; the object can be read in another version."""
    text = _validate(tmp_path, capsys, [BETA])
    assert 'no matches for kind "ResourceClaim" in version "resource.k8s.io/v1beta1"' in text
    assert "= stored: the object can be read as resource.k8s.io/v1, and can be updated\n" in text


def test_many_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report does not depend on the number of processes."""
    for index, stored in enumerate((CAPACITY, CLASS, TEMPLATE, RULE)):
        (tmp_path / f"{index}.yaml").write_text(json.dumps(stored), encoding="utf-8")
    reports = []
    for jobs in ("1", "2"):
        main(["validate", "--kube-version", "1.36", "-j", jobs, str(tmp_path)])
        reports.append(capsys.readouterr().out)
    assert reports[0] == reports[1]
