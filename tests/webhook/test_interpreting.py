"""The service with `expressions: {compile: false}`: no worker compiles anything of a review."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.webhook.examples import admission
from tests.webhook.running import PATIENCE_SECONDS, Running, write_config

# `claimcheck serve`, which logs each call of Python's compiler for a tree, that is for generated code.
_WATCHED = """
import os, sys

def watch(event, arguments):
    if event == "compile" and arguments[1] in (None, "<cel>"):
        os.write(2, b'{"message": "compiled"}\\n')

sys.addaudithook(watch)
from commandline.main import main
sys.exit(main(sys.argv[1:]))
"""
_WORKERS = 2


def _inventory(directory: Path) -> Path:
    device = {"name": "gpu-0", "attributes": {"model": {"string": "a100"}}}
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": pool, "devices": [device]}
    slice = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1"},
        "spec": spec,
    }
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
    }
    file = directory / "inventory.yaml"
    file.write_text(yaml.safe_dump_all([slice, device_class]))
    return file


def _review(expression: str) -> Any:
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
    return admission(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "claim", "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "main", "exactly": exactly}]}},
        }
    )


def _wait_for_warning(service: Running, expression: str) -> None:
    """Ask until it has been found out that no device matches: a review takes only so much time for that."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    warnings: list[str] = []
    while not warnings and time.monotonic() < deadline:
        response = service.review("/validate", _review(expression))["response"]
        assert response["allowed"]
        warnings = response.get("warnings", [])
    assert len(warnings) == 1
    assert "no device" in warnings[0]


@pytest.mark.parametrize("compiled", [False, True], ids=["off", "on"])
def test_no_worker_compiles(tmp_path: Path, compiled: bool) -> None:
    """Reviews with feasibility evaluate expressions; with `compile: false` Python's compiler is never called for that.

    With `compile: true` it is, so that a call would be seen.
    """
    write_config(
        tmp_path,
        listen={"workers": _WORKERS},
        expressions={"compile": compiled},
        inventory=[str(_inventory(tmp_path))],
        policies={"feasibility": {"mode": "Warn", "insecureSkipClientVerify": True}},
    )
    command = [sys.executable, "-c", _WATCHED, "serve", "--config", str(tmp_path / "webhook.yaml")]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    with process:
        service = Running(process, tmp_path)
        try:
            service.wait_for_port()
            service.wait_for("serving", _WORKERS)
            for number in range(10):  # some for each worker
                expression = f'device.attributes["gpu.example.com"].model == "h{number}"'
                _wait_for_warning(service, expression)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_SECONDS)
            service.finish()
    assert ({"message": "compiled"} in service.logged) is compiled
