"""What `claimcheck manifests` prints, applied as it is: the API server finds the service by its Service, and trusts it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from resourceapi.objects import Object
from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.custom_resources import FLAGS
from tests.e2e.deployed import account_token, configuration, injecting
from tests.e2e.kubectl import Kubectl
from tests.webhook.examples import ADMIN, claim
from tests.webhook.running import Running, running

NAMESPACE = "devices"
GROUP = "resource.k8s.io"
# Without kube-proxy the API server has to go to the endpoints itself.
ROUTING = "--enable-aggregator-routing=true"
_PATIENCE_SECONDS = 180


def own_address() -> str:
    """An address of this machine that is not loopback, which endpoints may not have."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # sends nothing
        address = str(probe.getsockname()[0])
        if not address.startswith("127."):
            return address
    pytest.skip("there is no address but loopback")


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the API server does not take notice"
        time.sleep(0.2)


@contextlib.contextmanager
def deployed(directory: Path, mode: str, flags: list[str]) -> Iterator[Kubectl]:
    """A server with everything applied, and the service where its pods would be."""
    address = own_address()
    command = [
        sys.executable,
        "-m",
        "commandline.main",
        "manifests",
        "--image",
        "claimcheck:test",
        "--mode",
        mode,
        "--namespace",
        NAMESPACE,
    ]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (directory / "manifests.yaml").write_text(text)
    with control_plane("1.37", flags=[*flags, ROUTING]) as server:
        kubectl = Kubectl(server, directory / "cache")
        done = kubectl("apply", "--server-side", "-f", str(directory / "manifests.yaml"))
        assert (done.code, done.errors) == (0, "")
        objects = list(yaml.safe_load_all(text))
        with (
            running(directory, **config_of_pod(objects, server, directory)) as service,
            injecting(directory, objects, server, NAMESPACE),
        ):
            assert kubectl.send("create", endpoints(address, service), "-n", NAMESPACE).code == 0
            yield kubectl


def config_of_pod(objects: list[Object], server: ApiServer, directory: Path) -> Object:
    token = directory / "token"
    token.write_text(account_token(server.client, NAMESPACE))
    config = configuration(objects, server, token)
    return {**config, "listen": {"address": "0.0.0.0", "workers": 2}, "logging": {"level": "info"}}


def endpoints(address: str, service: Running) -> Object:
    """What the endpoints' controller would write."""
    labels = {"kubernetes.io/service-name": "claimcheck"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "claimcheck-1", "labels": labels},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": service.port, "protocol": "TCP"}],
    }


def without_place(obj: Object, name: str) -> Object:
    return {**obj, "metadata": {"name": name}}


def test_guard(tmp_path: Path) -> None:
    """The first claim that asks for too much is refused; others come."""
    with deployed(tmp_path, "built-in-guard", []) as kubectl:
        team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": ADMIN}}
        until(lambda: kubectl.send("create", team).code == 0)
        wanted = without_place(claim(adminAccess=True), "admin")
        until(lambda: "admin access needs the label" in kubectl.send("create", wanted, "-n", "team").errors)
        until(lambda: kubectl.send("create", without_place(claim(), "plain"), "-n", "team").code == 0)


def test_crds(tmp_path: Path) -> None:
    """Claims are created in one version and read in another; bad ones are refused as by the built-in API."""
    with deployed(tmp_path, "crd-served", FLAGS) as kubectl:
        until(lambda: kubectl("get", "resourceclaims", "-A").code == 0)
        old = without_place(claim("v1beta1"), "old")
        until(lambda: kubectl.send("create", old, "-n", "default").code == 0)
        read = kubectl("get", f"resourceclaims.v1.{GROUP}", "old", "-n", "default", "-o", "json").value
        assert read["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
        read = kubectl("get", f"resourceclaims.v1beta2.{GROUP}", "old", "-n", "default", "-o", "json").value
        assert read["spec"]["devices"]["requests"][0]["exactly"]["allocationMode"] == "ExactCount"
        refused = kubectl.send("create", without_place(claim(count=-1), "bad"), "-n", "default")
        assert refused.errors == (
            'The ResourceClaim "bad" is invalid: spec.devices.requests[0].exactly.count: Invalid value: -1: '
            "must be greater than zero\n"
        )
        definition = kubectl("get", "crd", f"resourceclaims.{GROUP}", "-o", "json").value
        assert json.dumps(definition["spec"]["conversion"]).count("caBundle") == 1
