"""Every replica is down: what waits for the service, and that the way back does not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.client import Answer, Client
from tests.e2e.customresources import GROUP, served_by_crds
from tests.e2e.test_manifests import MANIFESTS, NAMESPACE, apply, render
from tests.webhook.examples import claim

# They are there, with the test's own address of the service.
ASKING = ("CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@pytest.fixture(scope="module")
def orphaned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server whose CRDs and webhooks ask a service that has ended; a claim is there from before."""
    namespaces: dict[str, dict[str, str]] = {"team": {}, NAMESPACE: {}}
    with served_by_crds(tmp_path_factory.mktemp("outage"), namespaces) as served:
        assert create(served.server.client, "team", "before").code == 201
        served.service.process.terminate()
        served.service.process.wait(30)
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
    for obj in render(MANIFESTS / "overlays" / "crd-served"):
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
