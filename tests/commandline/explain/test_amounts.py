"""Of a capacity that is requested out of its policy, `explain` names the largest amount that the policy admits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from commandline.main import main
from resourceapi.objects import Object

DRIVER = "nic.example.com"


def up_to(most: str | None, least: str = "10G", step: str | None = None) -> Object:
    """A policy with a range."""
    bounds = {"min": least, "max": most, "step": step}
    return {"default": least, "validRange": {key: each for key, each in bounds.items() if each is not None}}


#: The policy of 100G, the amount that is requested, and the one that is named.
CASES: dict[str, tuple[Object, str, str]] = {
    "above-the-largest": (up_to("50G"), "60G", "50G"),
    "above-the-last-step": (up_to("50G", step="10G"), "60G", "50G"),
    "largest-is-no-step": (up_to("50G", step="15G"), "60G", "40G"),
    "rounded-up-beyond-the-largest": (up_to("50G", step="15G"), "45G", "40G"),
    "largest-is-beyond-what-there-is": (up_to("200G", step="15G"), "120G", "100G"),
    "no-largest": (up_to(None), "120G", "100G"),
    "values": ({"default": "10G", "validValues": ["10G", "20G", "50G"]}, "60G", "50G"),
    "steps-that-count-as-whole-numbers": (up_to("1500m", "500m", "500m"), "2", "500m"),
}


@pytest.mark.parametrize(("policy", "wanted", "named"), CASES.values(), ids=CASES)
def test_largest_amount(
    policy: Object, wanted: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rather than that the claim should not request the capacity; with that amount it fits."""
    device = {
        "name": "nic",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": {"value": "100G", "requestPolicy": policy}},
    }
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    group = {"apiVersion": "resource.k8s.io/v1"}
    spec = {"driver": DRIVER, "nodeName": "n1", "pool": pool, "devices": [device]}
    objects: list[Object] = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
        {**group, "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}},
        {**group, "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec},
    ]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")

    def explained(amount: str) -> Object:
        exactly = {"deviceClassName": "any", "capacity": {"requests": {"bandwidth": amount}}}
        devices = {"requests": [{"name": "r", "exactly": exactly}]}
        claim = {
            **group,
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {"devices": devices},
        }
        (tmp_path / "claim.yaml").write_text(yaml.safe_dump(claim), encoding="utf-8")
        where = ["--inventory", str(tmp_path / "cluster.yaml"), "-o", "json"]
        main(["explain", "-f", str(tmp_path / "claim.yaml"), *where])
        found: Object = json.loads(capsys.readouterr().out)["objects"][0]
        return found

    texts = [each["text"] for each in explained(wanted)["remedies"]]
    assert texts == [f"with at most {named} of bandwidth instead of {wanted} in request r of claim default/c"]
    assert explained(named)["verdict"] == "fits"


def test_lower_requests_name_all_nodes_with_as_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would fit on a node that has less left would fit on one that has more, too."""
    group = {"apiVersion": "resource.k8s.io/v1"}
    objects: list[Object] = [{**group, "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}}]
    for name, cpu in (("large", "8"), ("small", "4")):
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "d.example.com", "nodeName": name, "pool": pool, "devices": [{"name": "d"}]}
        status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "9"}}
        objects += [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status},
            {**group, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec},
        ]
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    claim = {
        **group,
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [request]}},
    }
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "20"}}}
    spec = {"containers": [container], "resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}
    objects += [claim, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}]
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    main(["explain", "pod/p", "--inventory", str(tmp_path / "all.yaml"), "-o", "json"])
    (found,) = json.loads(capsys.readouterr().out)["objects"]
    named = {each["subject"].split()[5]: each["names"] for each in found["remedies"]}
    assert named == {"8": ["large"], "4": ["large", "small"]}
