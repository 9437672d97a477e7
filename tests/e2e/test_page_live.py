"""The page of `claimcheck ui` in a browser over a real control plane: what it counts and draws follows the cluster while one looks.

Needs node, chromium, and the packages that `make page-test` installs.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from resourceapi.objects import Object
from tests.e2e import live_impact
from tests.e2e.control_plane import ApiServer
from tests.e2e.live_objects import LiveObjects
from tests.e2e.programs import Program
from tests.e2e.scheduling_cluster import until

WEB = Path(__file__).parents[2] / "web"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
GPU, NIC = "gpu.example.com", "nic.example.com"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}},
}

pytestmark = pytest.mark.skipif(
    not (WEB / "node_modules").exists() or shutil.which("node") is None or not Path(CHROMIUM).exists(),
    reason="the browser tests of the page are not installed",
)


class Browser:
    """A browser with the page open."""

    def __init__(self, address: str) -> None:
        command = ["node", "tests/driven.mjs", address]
        self._process = subprocess.Popen(
            command, cwd=WEB, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._expect("ready")

    def do(self, *step: str) -> None:
        """Do a step of `web/tests/driven.mjs`, which waits for what it expects."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()
        self._expect("done", step)

    def _expect(self, answer: str, about: Any = "") -> None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line == answer, f"{about}: {line.encode().decode('unicode_escape', 'replace')}"

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def _part(name: str, slices: range) -> Object:
    counters = {f"slice-{place}": {"value": "1"} for place in slices}
    attributes = {
        "profile": {"string": name.partition("-")[0]},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
    }
    return {
        "name": name,
        "attributes": attributes,
        "consumesCounters": [{"counterSet": "gpu-0", "counters": counters}],
    }


def _slices(node: str) -> Iterator[Object]:
    counters = {"name": "gpu-0", "counters": {f"slice-{place}": {"value": "1"} for place in range(2)}}
    nic = {
        "name": "nic-0",
        "allowMultipleAllocations": True,
        "capacity": {
            "bandwidth": {
                "value": "40G",
                "requestPolicy": {
                    "default": "10G",
                    "validRange": {"min": "10G", "max": "40G", "step": "10G"},
                },
            }
        },
    }
    parts = [_part("whole", range(2)), _part("half-0", range(1)), _part("half-1", range(1, 2))]
    for name, driver, count, spec in (
        ("counters", GPU, 2, {"sharedCounters": [counters]}),
        ("gpus", GPU, 2, {"devices": parts}),
        ("nics", NIC, 1, {"devices": [nic]}),
    ):
        pool = {"name": node, "generation": 1, "resourceSliceCount": count}
        yield {
            "kind": "ResourceSlice",
            "metadata": {"name": f"{node}-{name}"},
            "spec": {"driver": driver, "nodeName": node, "pool": pool, **spec},
        }


def _class(name: str, expression: str) -> Object:
    return {
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def _claim(name: str, device_class: str) -> Object:
    requests = [{"name": "r", "exactly": {"deviceClassName": device_class}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"devices": {"requests": requests}},
    }


class Cluster:
    """A cluster whose scheduler gives devices to whatever is made in it."""

    def __init__(self, server: ApiServer) -> None:
        self.objects = LiveObjects(server.client, ("team",))
        for each in (
            {**NODE, "metadata": {"name": "node-1"}},
            *_slices("node-1"),
            _class("half", f'device.driver == "{GPU}" && device.attributes["{GPU}"].profile == "half"'),
            _class("nic", f'device.driver == "{NIC}"'),
        ):
            self.objects.make(each)

    def use(self, name: str, device_class: str) -> None:
        """Have a pod use a device."""
        self.objects.make(_claim(name, device_class))
        spec = {
            "containers": [{"name": "c", "image": "x"}],
            "resourceClaims": [{"name": "r", "resourceClaimName": name}],
        }
        self.objects.make({"kind": "Pod", "metadata": {"name": name, "namespace": "team"}, "spec": spec})
        until(lambda: self.objects.node(name) == "node-1", f"{name} is on no node")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Browser]]:
    """A cluster, and a browser that looks at it."""
    log = tmp_path_factory.mktemp("page") / "ui.log"
    with live_impact.cluster() as server, contextlib.ExitStack() as stack:
        cluster = Cluster(server)
        command = [sys.executable, "-m", "commandline.main", "ui", "--no-config", "--port", "0"]
        program = Program([*command, "--kubeconfig", str(server.kubeconfig)], log)
        program.start()
        stack.callback(program.stop)
        until(lambda: "http://" in log.read_text(), lambda: f"no address:\n{log.read_text()}")
        browser = Browser(next(each for each in log.read_text().split() if each.startswith("http://")))
        stack.callback(browser.close)
        yield cluster, browser


def test_the_views_follow_the_cluster(opened: tuple[Cluster, Browser]) -> None:
    """Capacity, pools, devices and what is tried: each changes with the cluster while it is shown, without being loaded anew."""
    cluster, browser = opened
    browser.do("open", "#/capacity")
    browser.do("choose", "Like", "a claim for devices of a class")
    browser.do("choose", "Class", "half")
    browser.do("row", "^first-fit 2 ")
    browser.do("choose", "Change", "new nodes")
    browser.do("choose", "As there are", "node-1")
    browser.do("row", "^best-fit, after the change 4 ")
    cluster.use("first", "half")
    browser.do("row", "^first-fit 1 ")
    browser.do("row", "^best-fit, after the change 3 ")
    browser.do("sound")

    browser.do("open", f"#/pools/{GPU}/node-1")
    browser.do("press", "Choose those in use")
    browser.do("see", "1 other cannot be used")
    browser.do("see", "slice-0 needs 1, 0 left")
    browser.do("sound")

    browser.do("open", f"#/devices/device/{NIC}/node-1/nic-0")
    browser.do("see", "0% in use of 40G")
    cluster.use("shared", "nic")
    browser.do("see", "25% in use of 40G")
    browser.do("see", "from 10G to 40G in steps of 10G")
    browser.do("sound")

    browser.do("open", "#/try")
    browser.do("type", json.dumps(_claim("more", "half"), indent=2))
    browser.do("press", "Simulate")
    browser.do("row", "^kube-scheduler 1 of 1 ")
    cluster.use("second", "half")
    browser.do("row", "^kube-scheduler 0 of 1 ")
    browser.do("sound")

    browser.do("open", "#/devices")
    browser.do("choose", "Apart by", "profile")
    browser.do("see", "whole")
    for each in (*_slices("node-2"), {**NODE, "metadata": {"name": "node-2"}}):
        cluster.objects.make(each)
    browser.do("see", "node-2")
    browser.do("sound")
    browser.do("open", "#/devices/node/node-2")
    browser.do("see", "Partitions of")
    browser.do("open", "#/capacity")
    browser.do("row", "^first-fit 2 ")
    browser.do("press", "What to buy for")
    browser.do("see", "fit without new nodes")
    browser.do("sound")
