"""The roles of the manifests are what the service needs, no less and no more: it runs with them, and they are audited."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.e2e.client import Answer, Client
from tests.e2e.controlplane import control_plane
from tests.e2e.customresources import FLAGS, GROUP, install
from tests.e2e.deployed import ACCOUNT, NAMESPACE, account_token, configuration, objects_of
from tests.e2e.test_manifests import Object, apply
from tests.webhook.examples import claim
from tests.webhook.running import running

OVERLAY = "crd-served"
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [ACCOUNT]}, {"level": "None"}],
}
DEVICES = "gpu.example.com.deviceclass.resource.k8s.io/devices"
# counts for claims and for pods that ask for extended resources
SHARED = "requests.deviceclass.resource.kubernetes.io/gpu.example.com"
_PATIENCE_SECONDS = 30
Right = tuple[str, str, str, str]
"""Group, resource, verb, and the namespace that it is limited to."""


class World(NamedTuple):
    client: Client
    rendered: list[Object]
    audit: Path

    def used(self) -> dict[Right, int]:
        """What the service has asked for, and the last answer's code."""
        found = {}
        for line in self.audit.read_text().splitlines():
            event = json.loads(line)
            about = event["objectRef"]
            namespace = NAMESPACE if about["resource"] == "configmaps" else ""
            assert not namespace or about["namespace"] == namespace
            right = (about.get("apiGroup", ""), about["resource"], event["verb"], namespace)
            found[right] = int(event["responseStatus"]["code"])
        return found

    def granted(self) -> set[Right]:
        """What the roles allow."""
        return {
            (group, resource, verb, obj["metadata"].get("namespace", ""))
            for obj in self.rendered
            if obj["kind"] in ("Role", "ClusterRole")
            for rule in obj["rules"]
            for group in rule["apiGroups"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The service as the overlay configures it, with its account's token, before a server that audits it."""
    directory = tmp_path_factory.mktemp("roles")
    (directory / "audit.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))
    audit = directory / "audit.log"
    flags = [*FLAGS, f"--audit-policy-file={directory / 'audit.yaml'}", f"--audit-log-path={audit}"]
    rendered = objects_of(OVERLAY)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37", flags=flags))
        for obj in rendered:
            if obj["kind"] in ("Namespace", "ServiceAccount") or "Role" in obj["kind"]:
                assert apply(server.client, obj).code == 201
        token = directory / "token"
        token.write_text(account_token(server.client))
        config = configuration(OVERLAY, server, token)
        config["quota"].update(recountSeconds=1, graceSeconds=2)  # usage is counted anew all the time
        service = stack.enter_context(running(directory, **config))
        install(server.client, service)
        yield World(server.client, rendered, audit)


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def post(client: Client, path: str, kind: str, metadata: Object, **content: Any) -> Answer:
    """Create an object of the core group."""
    obj = {"apiVersion": "v1", "kind": kind, "metadata": metadata, **content}
    answer = client.ask("POST", path, obj)
    assert answer.code == 201, answer.body
    return answer


@pytest.fixture(scope="module")
def team(world: World) -> str:
    """A namespace with a quota of two devices, which counts pods as well, the class and a pod that claims are for."""
    metadata = {"name": "gpu.example.com"}
    device_class = {"apiVersion": f"{GROUP}/v1", "kind": "DeviceClass", "metadata": metadata, "spec": {}}
    assert apply(world.client, device_class).code == 201
    post(world.client, "/api/v1/namespaces", "Namespace", {"name": "team"})
    hard = {DEVICES: "2", SHARED: "10"}
    path = "/api/v1/namespaces/team/resourcequotas"
    quota = post(world.client, path, "ResourceQuota", {"name": "devices"}, spec={"hard": hard}).body
    # what kube-controller-manager would do
    quota["status"] = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    assert world.client.ask("PUT", f"{path}/devices/status", quota).code == 200
    pod = {"containers": [{"name": "c", "image": "i"}]}
    post(world.client, "/api/v1/namespaces/team/pods", "Pod", {"name": "pod"}, spec=pod)
    return "team"


def create(world: World, name: str, **metadata: Any) -> Answer:
    obj = copy.deepcopy(claim())
    obj["metadata"] = {"name": name, **metadata}
    return world.client.ask("POST", f"/apis/{GROUP}/v1/namespaces/team/resourceclaims", obj)


def test_service_works_with_its_roles(world: World, team: str) -> None:
    """Limits hold, deleted claims make room, a quota that goes takes its ledger with it."""
    pod = world.client.ask("GET", f"/api/v1/namespaces/{team}/pods/pod").body["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": pod["uid"], "controller": True}
    marked = {"resource.kubernetes.io/extended-resource-claim": "true"}
    answer = create(world, "of-a-pod", annotations=marked, ownerReferences=[owner])
    assert answer.code == 201, answer.body
    assert create(world, "second").code == 201
    refused = create(world, "third")
    assert (refused.code, "exceeded quota" in refused.body["message"]) == (403, True), refused.body
    claims = f"/apis/{GROUP}/v1/namespaces/{team}/resourceclaims"
    assert world.client.ask("DELETE", f"{claims}/second").code == 200
    until(lambda: create(world, "third").code == 201, "a claim that is gone still counts")
    ledger = f"/api/v1/namespaces/{NAMESPACE}/configmaps/quota-{team}"
    assert world.client.ask("GET", ledger).code == 200
    world.client.ask("DELETE", f"/api/v1/namespaces/{team}/resourcequotas/devices")
    until(lambda: world.client.ask("GET", ledger).code == 404, "the ledger is still there")
    assert create(world, "fourth").code == 201


@pytest.mark.usefixtures("team")
def test_roles_are_what_is_used(world: World) -> None:
    """After that, every right has been used, and nothing has been forbidden."""
    assert 403 not in world.used().values()
    until(lambda: world.used().keys() >= world.granted(), f"unused: {world.granted() - world.used().keys()}")
    assert world.used().keys() == world.granted()
