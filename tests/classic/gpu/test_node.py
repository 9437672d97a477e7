"""The node's side of the GPU driver, behind a node plugin."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from classic.gpu.ledger import Allocation, allocation_result
from classic.gpu.node import GPUNode
from classic.kubelet.cdi import Device
from classic.kubelet.plugin import InvalidSettings
from classic.kubelet.preparation import AllocatedClaim, RefusedClaim
from classic.kubelet.wire.structured_handle import StructuredResourceHandle

GI = 1024**3
INIT = "/usr/local/bin/acme-gpu-init"
COMMAND = (INIT, "--cluster", "my-cluster")
UID = "ad51e716-0d79-42f9-bac6-2ede24ba41a8"


def allocated(memory: dict[str, int], init_command: tuple[str, ...] = ()) -> AllocatedClaim:
    """A claim as the driver's controller allocates it."""
    result = allocation_result("gpu.example.com", Allocation("worker-1", memory, init_command))
    return AllocatedClaim("default", "claim", UID, result["resourceHandles"][0]["data"])


def prepared(claim: AllocatedClaim, *allowed: str) -> list[tuple[str, Any]]:
    devices = asyncio.run(GPUNode(allowed).prepare(claim))
    assert all(isinstance(device, Device) for device in devices)
    return [(device.name, device.edits.to_json()) for device in devices]


def test_a_container_learns_how_much_memory_it_has_of_which_gpu() -> None:
    """A variable for each GPU."""
    assert prepared(allocated({"gpu-0": 2 * GI, "gpu-1": GI // 2})) == [
        ("gpu-0", {"env": ["GPU_0_MEMORY=2Gi"]}),
        ("gpu-1", {"env": ["GPU_1_MEMORY=512Mi"]}),
    ]


def test_the_init_command_of_the_class_runs_once_for_all_gpus() -> None:
    """As a hook on the node, with the arguments of the class; variables say for which claim and GPUs."""
    first, second = prepared(allocated({"gpu-0": GI, "gpu-1": GI}, COMMAND), "/bin/true", INIT)
    assert first[1]["hooks"] == [
        {
            "hookName": "createRuntime",
            "path": INIT,
            "args": list(COMMAND),
            "env": ["CLAIM_NAMESPACE=default", "CLAIM_NAME=claim", f"CLAIM_UID={UID}", "GPUS=gpu-0,gpu-1"],
            "timeout": 30,
        }
    ]
    assert "hooks" not in second[1]


@pytest.mark.parametrize("allowed", [(), ("/usr/local/bin",), ("/bin/sh", f"{INIT}2")])
def test_what_is_not_allowed_on_the_node_does_not_run(allowed: tuple[str, ...]) -> None:
    """Whoever writes the status of a claim could run anything as root otherwise; the message says what to do."""
    with pytest.raises(RefusedClaim, match="it needs --allow-init-command with that path"):
        prepared(allocated({"gpu-0": GI}, COMMAND), *allowed)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{}",
        "[]",
        "null",
        "[" * 16_000,
        '{"devices":[]}',
        '{"devices":[{"device":"gpu-0"}]}',
        '{"devices":[{"device":"gpu-0","memory":"-1"}]}',
        '{"devices":[{"device":"gpu-0","memory":"1e999999999"}]}',
        '{"devices":[{"device":["gpu-0"],"memory":"1Gi"}]}',
        '{"devices":[{"device":"gpu-0","memory":"1Gi"}],"initCommand":[1]}',
        '{"migDevices":{"devices":[{"uuid":"MIG-1"}]}}',
    ],
)
def test_handles_of_other_drivers(data: str) -> None:
    """They are refused, whatever they are."""
    with pytest.raises(RefusedClaim):
        asyncio.run(GPUNode([INIT]).prepare(AllocatedClaim("default", "claim", UID, data)))


def test_structured_parameters_are_for_other_drivers() -> None:
    """The scheduler has allocated such a claim, which this driver's controller knows nothing of."""
    claim = AllocatedClaim("default", "claim", UID, "", StructuredResourceHandle(node_name="worker-1"))
    with pytest.raises(RefusedClaim, match="this driver has its own controller"):
        asyncio.run(GPUNode().prepare(claim))


@pytest.mark.parametrize("name", ["../gpu", "gpu 0", "gpu\n0", "", "gpu=0"])
def test_names_of_gpus_are_checked(name: str) -> None:
    """A name that no CDI device may have is an error, not a file or a variable."""
    data = json.dumps({"devices": [{"device": name, "memory": "1Gi"}]})
    with pytest.raises(Exception, match="a device's name is of letters"):
        asyncio.run(GPUNode().prepare(AllocatedClaim("default", "claim", UID, data)))


def test_nothing_is_left_to_unprepare() -> None:
    """Not even the handle is read: kubelet must be able to get rid of every claim."""
    asyncio.run(GPUNode().unprepare(AllocatedClaim("default", "claim", UID, "no handle")))


def test_paths_of_init_commands_are_absolute() -> None:
    """A mistake that would only show in the first claim."""
    with pytest.raises(
        InvalidSettings, match=r"^acme-gpu-init: the path of an init command must be absolute$"
    ):
        GPUNode(["acme-gpu-init"])
