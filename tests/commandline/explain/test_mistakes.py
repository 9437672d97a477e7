"""One typing mistake in files that fit otherwise: the first line about the pod names it, with what was meant."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main

DRIVER = "gpu.example.com"
#: What can be misspelt, as it is right. Where each stands is in the objects below.
RIGHT = {
    "class": "gpu.example.com",
    "driver": DRIVER,
    "domain": DRIVER,
    "attribute": "index",
    "model": "A100-SXM4-80GB",
    "capacity of a selector": "memory",
    "capacity": "bandwidth",
    "toleration": "example.com/maintenance",
    "constraint": "resource.kubernetes.io/pcieRoot",
    "label": "example.com/accelerator",
    "value of a label": "nvidia-a100",
    "host name": "gpu-node-1",
    "counter set": "gpu-0-counters",
    "claim": "training",
    "namespace": "team-a",
}
#: Other mistakes than wrong letters.
ODD = {
    "model": ("a100-sxm4-80gb", "A100-SXM4", "A100_SXM4_80GB"),
    "value of a label": ("true", "nvidia_a100"),
    "host name": ("GPU-node-1", "node-1"),
    "capacity": ("bandwith", "gpu.example.com/bandwidth", "gpu.example.com/bandwith"),
}
#: Parts of a word that stay, so that the API server takes the mistake.
KEPT = {"constraint": "resource.kubernetes.io/", "label": "example.com/", "toleration": "example.com/"}
MISTAKES = 10  # of each kind


def question(words: Mapping[str, str]) -> list[Any]:
    """A claim, and a pod that uses it."""
    expression = (
        f'device.driver == "{words["driver"]}"'
        f' && device.attributes["{words["domain"]}"].model == "{words["model"]}"'
        f' && device.attributes["{DRIVER}"].{words["attribute"]} < 2'
        f' && device.capacity["{DRIVER}"].{words["capacity of a selector"]}.compareTo(quantity("40Gi")) >= 0'
    )
    exactly = {
        "deviceClassName": words["class"],
        "count": 2,
        "selectors": [{"cel": {"expression": expression}}],
        "capacity": {"requests": {words["capacity"]: "20G"}},
        "tolerations": [{"key": words["toleration"], "operator": "Exists"}],
    }
    devices = {
        "requests": [{"name": "gpu", "exactly": exactly}],
        "constraints": [{"matchAttribute": words["constraint"]}],
    }
    labels = {words["label"]: words["value of a label"], "kubernetes.io/hostname": words["host name"]}
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "training", "namespace": "team-a"},
            "spec": {"devices": devices},
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "trainer", "namespace": words["namespace"]},
            "spec": {
                "containers": [{"name": "main", "image": "busybox"}],
                "nodeSelector": labels,
                "resourceClaims": [{"name": "gpu", "resourceClaimName": words["claim"]}],
            },
        },
    ]


def inventory(words: Mapping[str, str]) -> list[Any]:
    """Two nodes with four tainted devices each."""
    objects: list[Any] = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}, "spec": {}}
        for name in ("gpu.example.com", "nic.example.com")
    ]
    for node in ("gpu-node-1", "gpu-node-2"):
        labels = {"kubernetes.io/hostname": node, "example.com/accelerator": "nvidia-a100"}
        allocatable = {"cpu": "64", "memory": "512Gi", "pods": "110"}
        metadata = {"name": node, "labels": labels}
        objects.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}}
        )
        pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
        counters = [
            {"name": f"gpu-{each}-counters", "counters": {"slots": {"value": "4"}}} for each in range(4)
        ]
        drawn = [words["counter set"], *(f"gpu-{each}-counters" for each in range(1, 4))]
        devices = [device(number, counter_set) for number, counter_set in enumerate(drawn)]
        for name, content in (("counters", {"sharedCounters": counters}), ("devices", {"devices": devices})):
            objects.append(
                {
                    "apiVersion": "resource.k8s.io/v1",
                    "kind": "ResourceSlice",
                    "metadata": {"name": f"{node}-{name}"},
                    "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, **content},
                }
            )
    return objects


def device(number: int, counter_set: str) -> Any:
    """A device with everything that claims can name."""
    policy = {"default": "10G", "validRange": {"min": "10G", "max": "50G", "step": "10G"}}
    return {
        "name": f"gpu-{number}",
        "attributes": {
            "model": {"string": "A100-SXM4-80GB"},
            "index": {"int": number},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number // 2}"},
        },
        "capacity": {"memory": {"value": "80Gi"}, "bandwidth": {"value": "100G", "requestPolicy": policy}},
        "allowMultipleAllocations": True,
        "consumesCounters": [{"counterSet": counter_set, "counters": {"slots": {"value": "1"}}}],
        "taints": [{"key": "example.com/maintenance", "value": "planned", "effect": "NoSchedule"}],
    }


def misspelt(kind: str) -> list[str]:
    """The mistakes that are tried: letters swapped, left out, doubled or wrong, and odd ones."""
    chance, found = random.Random(kind), dict.fromkeys(ODD.get(kind, ()))
    kept = KEPT.get(kind, "")
    word = RIGHT[kind].removeprefix(kept)
    letters = [place for place in range(1, len(word) - 1) if word[place].isalpha()]
    while len(found) < MISTAKES:
        place = chance.choice(letters)
        before, letter, after = word[:place], word[place], word[place + 1 :]
        wrong = chance.choice(
            (before + after, before + letter + letter + after, before + chance.choice("aeklmpqrx") + after)
        )
        if wrong != word and wrong[-1].isalnum():
            found[kept + wrong] = None
    return list(found)


def report(words: Mapping[str, str], directory: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is said of the pod."""
    return said_of(question(words), inventory(words), directory, capsys)


def said_of(
    asked: list[Any], cluster: list[Any], directory: Path, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """The report about some objects."""
    for name, objects in (("pod.json", asked), ("cluster.json", cluster)):
        (directory / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    capsys.readouterr()
    main(["explain", "-f", str(directory / "pod.json"), "--inventory", str(directory / "cluster.json")])
    return capsys.readouterr().out.splitlines()


def first_line(words: Mapping[str, str], directory: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The first line about the pod."""
    return next(line for line in report(words, directory, capsys) if line.startswith("Pod "))


def test_without_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The pod fits, so that all that keeps it away below is the mistake."""
    assert "fits on gpu-node-1" in first_line(RIGHT, tmp_path, capsys)


@pytest.mark.parametrize("kind", RIGHT)
def test_mistakes(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line has the wrong word and the right one."""
    tried = {
        wrong: first_line({**RIGHT, kind: wrong}, tmp_path, capsys) for wrong in misspelt(kind)[:MISTAKES]
    }
    assert len(tried) == MISTAKES
    assert {
        wrong: line for wrong, line in tried.items() if wrong not in line or RIGHT[kind] not in line
    } == {}


@pytest.mark.parametrize("kind", ["class", "attribute", "model", "capacity of a selector", "capacity"])
def test_corrections(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first change with which the pod would fit is the right word."""
    for wrong in misspelt(kind)[:MISTAKES]:
        lines = report({**RIGHT, kind: wrong}, tmp_path, capsys)
        change = lines[lines.index("  it would fit:") + 1]
        assert change.startswith("    - with ")
        assert RIGHT[kind] in change


def test_no_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that resembles none is not taken for a mistake."""
    line = first_line({**RIGHT, "model": "MI300X"}, tmp_path, capsys)
    assert line.endswith('request gpu finds 0 of 2 devices: model is "A100-SXM4-80GB"; wanted "MI300X"')


def test_claim_that_is_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That it has devices of another node is in the line, once."""
    claim, pod = question(RIGHT)
    fields = [{"key": "metadata.name", "operator": "In", "values": ["gpu-node-2"]}]
    results = [{"request": "gpu", "driver": DRIVER, "pool": "gpu-node-2", "device": "gpu-0"}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    claim["status"] = {"allocation": {"devices": {"results": results}, "nodeSelector": selector}}
    lines = said_of([claim, pod], inventory(RIGHT), tmp_path, capsys)
    cause = "claim team-a/training is allocated on gpu-node-2 (used by no pod)"
    (line,) = [each for each in lines if cause in each]
    assert line.endswith(f": does not fit on gpu-node-1: {cause}")


def test_constraint_that_nothing_meets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An attribute that no device has, and that resembles none, is the cause, whoever holds devices."""
    claim, pod = question({**RIGHT, "constraint": "example.org/numaNode"})
    del pod["spec"]["nodeSelector"]
    others = {"metadata": {"name": "other", "namespace": "team-b"}}
    results = [
        {"request": "gpu", "driver": DRIVER, "pool": "gpu-node-1", "device": f"gpu-{each}"} for each in (0, 1)
    ]
    held = {**claim, **others, "status": {"allocation": {"devices": {"results": results}}}}
    lines = said_of([claim, pod], [*inventory(RIGHT), held], tmp_path, capsys)
    (line,) = [each for each in lines if "example.org/numaNode, which matchAttribute" in each]
    assert line.startswith("Pod ")
