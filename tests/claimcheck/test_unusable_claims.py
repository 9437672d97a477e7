"""Claims that exist and that a pod cannot use: `explain`, `simulate` and `doctor` say so, as `claimcheck schedule` does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from resourceapi.limits import RESERVED_FOR
from tests.claimcheck.objects import CLUSTER, claim, pod

Json = dict[str, Any]
ALLOCATION: Json = {
    "devices": {
        "results": [
            {"request": "gpu", "driver": "gpu.example.com", "pool": "gpu-node", "device": "gpu-1-half-0"}
        ]
    }
}
OWNER: Json = {"apiVersion": "v1", "kind": "Pod", "name": "train", "uid": "t", "controller": True}
TRAIN = {"resource": "pods", "name": "train", "uid": "t"}


def _of(number: int, *others: Json) -> Json:
    """A claim with devices that is reserved for so many pods, and others."""
    pods = [{"resource": "pods", "name": f"p-{each}", "uid": f"u-{each}"} for each in range(number)]
    return {"status": {"allocation": ALLOCATION, "reservedFor": [*pods, *others]}}


def _changed(**metadata: Any) -> Json:
    return {"metadata": {"name": "gpu", "namespace": "default", "uid": "c", **metadata}}


#: What a claim is like, and what is said of it; nothing if the pod can use it. Real servers of 1.37.1 leave those pods pending.
CASES: dict[str, tuple[Json, str]] = {
    "deleted": (_changed(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a.b/c"]), "is being deleted"),
    "at-the-limit": (_of(RESERVED_FOR), f"is in use by {RESERVED_FOR} consumers already"),
    "of-another-pod": (
        _changed(ownerReferences=[{**OWNER, "uid": "former"}]),
        "was not created for this pod",
    ),
    "of-this-pod": (_changed(ownerReferences=[OWNER]), ""),
    "one-below": (_of(RESERVED_FOR - 1), ""),
    "has-a-place": (_of(RESERVED_FOR - 1, TRAIN), ""),
}


@pytest.mark.parametrize(("change", "said"), CASES.values(), ids=CASES)
def test_one_story(change: Json, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them name the claim and what is wrong with it; they said that the pod fits, which waits forever."""
    waiting = pod("train", resourceClaimName="gpu")
    if "ownerReferences" in change.get("metadata", ()):
        waiting = pod("train", resourceClaimTemplateName="made")
        waiting["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "gpu"}]}
    waiting["metadata"] |= {"namespace": "default", "uid": "t"}
    objects = [{**claim(), **_changed(), **change}, waiting]
    file = tmp_path / "cluster.yaml"
    file.write_text(f"{CLUSTER.read_text('utf-8')}\n---\n{yaml.safe_dump_all(objects)}", encoding="utf-8")
    where = ["-n", "default", "--inventory", str(file)]
    waits = f"waits for claim default/gpu, which {said}" if said else ""

    assert main(["explain", "pod/train", *where]) == int(bool(said))
    assert f": {waits or 'fits on gpu-node'}\n" in capsys.readouterr().out
    assert main(["simulate", *where]) == int(bool(said))
    assert (f"Pod default/train: {waits}\n" if said else "1 of 1 pod placed") in capsys.readouterr().out
    main(["doctor", *where, "-o", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [each["cause"] for each in found if each["code"] == "CD001"] == ([waits] if said else [])
