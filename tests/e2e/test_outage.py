"""Every replica is down: what waits for the service, and that the way back does not."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.client import Answer, Client
from tests.e2e.control_plane import control_plane
from tests.e2e.custom_resources import GROUP, served_by_crds
from tests.e2e.deployed import NAMESPACE, apply, objects_of, register_overlay
from tests.webhook.examples import claim
from tests.webhook.running import PATIENCE_SECONDS, running

# They are there, with the test's own address of the service.
ASKING = ("CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@pytest.fixture(scope="module")
def orphaned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server whose CRDs and webhooks ask a service that has ended; a claim is there from before."""
    namespaces: dict[str, dict[str, str]] = {"team": {}}
    with served_by_crds(tmp_path_factory.mktemp("outage"), namespaces) as served:
        assert create(served.server.client, "team", "before").code == 201
        served.service.process.terminate()
        served.service.process.wait(PATIENCE_SECONDS)
        yield served.server.client


def create(client: Client, namespace: str, name: str) -> Answer:
    obj = copy.deepcopy(claim())
    obj["metadata"] = {"name": name}
    return client.ask("POST", path(namespace), obj)


def path(namespace: str, name: str = "", version: str = "v1") -> str:
    return f"/apis/{GROUP}/{version}/namespaces/{namespace}/resourceclaims" + (f"/{name}" if name else "")


def test_nothing_unchecked_is_stored(orphaned: Client) -> None:
    """Objects are neither created nor changed, and the answer says whom it was waited for."""
    answer = create(orphaned, "team", "new")
    assert answer.code == 500
    assert 'failed calling webhook "mutate.claimcheck.example.com"' in answer.body["message"]
    stored = orphaned.ask("GET", path("team", "before")).body
    assert orphaned.ask("PUT", path("team", "before"), stored).code == 500


def test_stored_objects_can_be_read(orphaned: Client) -> None:
    """In v1, which schedulers and kubelets read; other versions need the service."""
    assert [item["metadata"]["name"] for item in orphaned.ask("GET", path("team")).body["items"]] == [
        "before"
    ]
    assert orphaned.ask("GET", path("team", "before", "v1beta1")).code == 500


@pytest.mark.parametrize("namespace", ["kube-system", NAMESPACE])
def test_namespaces_that_are_left_out(orphaned: Client, namespace: str) -> None:
    """Claims there need nobody."""
    assert create(orphaned, namespace, "needed").code == 201


def test_service_can_come_back(orphaned: Client) -> None:
    """What it is deployed with, and its pods, can be written by whoever starts it again."""
    for obj in objects_of("crd-served"):
        if obj["kind"] in ASKING:
            continue
        answer = apply(orphaned, obj, dryRun="All", force="true")
        assert answer.code in (200, 201), (obj["kind"], answer.body)
        if obj["kind"] == "Deployment":
            pod: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", **obj["spec"]["template"]}
            pod["metadata"] = {"name": "claimcheck", "namespace": NAMESPACE}
            assert apply(orphaned, pod).code == 201


def test_claims_can_be_deleted(orphaned: Client) -> None:
    """Nobody is asked about that."""
    assert orphaned.ask("DELETE", path("team", "before")).code == 200


# --- where the group is built in


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server whose guard has ended."""
    with control_plane("1.37") as server:
        for name in ("team", NAMESPACE):
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            assert server.client.ask("POST", "/api/v1/namespaces", namespace).code == 201
        with running(tmp_path_factory.mktemp("unguarded")) as service:
            register_overlay(server.client, "built-in-guard", service)
            assert create(server.client, "team", "before").code == 201
        until(lambda: create(server.client, "team", "probe").code == 500)
        yield server.client


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the API server does not take notice"
        time.sleep(0.2)


def test_privileges_are_not_granted_unseen(unguarded: Client) -> None:
    """Claims are not created, as they might ask for admin access, and nobody gets its label."""
    assert create(unguarded, "team", "new").code == 500
    labelled = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    answer = _patch(unguarded, "/api/v1/namespaces/team", labelled)
    assert answer.code == 500
    assert 'failed calling webhook "namespaces.claimcheck.example.com"' in answer.body["message"]


def test_what_nobody_need_look_at_goes_on(unguarded: Client) -> None:
    """Stored claims change and get a status, classes and slices come, namespaces come and go, pods start."""
    relabelled = {"metadata": {"labels": {"a": "b"}}}
    assert _patch(unguarded, path("team", "before"), relabelled).code == 200
    status: dict[str, Any] = {"status": {"allocation": {"devices": {"results": []}}}}
    assert _patch(unguarded, path("team", "before") + "/status", status).code == 200
    a_class = {"apiVersion": f"{GROUP}/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    assert unguarded.ask("POST", f"/apis/{GROUP}/v1/deviceclasses", a_class).code == 201
    assert _patch(unguarded, "/api/v1/namespaces/team", relabelled).code == 200
    new = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
    assert unguarded.ask("POST", "/api/v1/namespaces", new).code == 201
    assert unguarded.ask("DELETE", "/api/v1/namespaces/new").code == 200
    assert unguarded.ask("DELETE", path("team", "before")).code == 200


@pytest.mark.parametrize("node", ["", "node-a"])
def test_pods_are_created_as_they_were_sent(unguarded: Client, node: str) -> None:
    """Also those that would have been brought before the scheduler."""
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
    }
    if node:
        spec["nodeName"] = node
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{node}x"}, "spec": spec}
    answer = unguarded.ask("POST", "/api/v1/namespaces/team/pods", pod)
    assert (answer.code, answer.body["spec"].get("nodeName", "")) == (201, node)


@pytest.mark.parametrize("namespace", ["kube-system", NAMESPACE])
def test_left_out_namespaces_need_nobody(unguarded: Client, namespace: str) -> None:
    """Whatever is needed there comes."""
    assert create(unguarded, namespace, "needed").code == 201


def test_guard_can_come_back(unguarded: Client) -> None:
    """All that it is deployed with can be written, with nobody there to ask."""
    for obj in objects_of("built-in-guard"):
        if obj["kind"] in ASKING:
            continue
        answer = apply(unguarded, obj, dryRun="All", force="true")
        assert answer.code in (200, 201), (obj["kind"], answer.body)


def _patch(client: Client, path: str, change: Any) -> Answer:
    return client.ask("PATCH", path, change, content_type="application/merge-patch+json")
