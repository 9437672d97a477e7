"""Claims whose parameters were sent with spaces can be changed, and keep every byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.access import service_account
from cluster.client import JSON, Client
from cluster.exact_client import PROTOBUF, ExactClient
from tests.e2e.control_plane import ApiServer

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
FINALIZER = "resource.kubernetes.io/delete-protection"
#: Such as no JSON request leaves as they are.
PARAMETERS = b'{"text": "<&>",  "none": null, "number": 1e3}'
CLAIM = b"""{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "%s"}, "spec": {"devices": {
  "requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}],
  "config": [{"opaque": {"driver": "gpu.example.com", "parameters": %s}}]}}}"""
USERS = [
    {"resource": "pods", "name": "p", "uid": "1"},
    {"apiGroup": "x.example.com", "resource": "jobs", "name": "j", "uid": "2"},
]


@pytest.fixture
def client(api_server: Callable[[str], ApiServer], tmp_path: Path) -> Iterator[Client]:
    """A client of the product's own."""
    config = json.loads(api_server("1.37-all").kubeconfig.read_text())
    (tmp_path / "token").write_text(config["users"][0]["user"]["token"])
    cluster = config["clusters"][0]["cluster"]
    access = service_account(
        cluster["server"], token_file=tmp_path / "token", ca_file=Path(cluster["certificate-authority"])
    )
    client = Client(access)
    yield client
    client.close()


def created(client: Client, name: str) -> dict[str, Any]:
    code, body = client.exchange(
        "POST", CLAIMS, CLAIM % (name.encode(), PARAMETERS), media_type=JSON, accept=JSON
    )
    assert code == 201, body
    claim: dict[str, Any] = json.loads(body)
    return claim


def stored(client: Client, name: str) -> bytes:
    code, body = client.exchange("GET", f"{CLAIMS}/{name}", None, media_type=JSON, accept=PROTOBUF)
    assert code == 200
    return body


def precondition(claim: dict[str, Any]) -> dict[str, str]:
    return {"uid": claim["metadata"]["uid"], "resourceVersion": claim["metadata"]["resourceVersion"]}


def test_finalizers_and_annotations(client: Client) -> None:
    """They come and go; the parameters stay as they were sent."""
    claim = created(client, "with-spaces")
    path = f"{CLAIMS}/with-spaces"
    patch: dict[str, Any] = {
        "metadata": {**precondition(claim), "finalizers": [FINALIZER], "annotations": {"a": "b"}}
    }
    assert client.request("PATCH", path, patch)[0] == 422  # or else the exact client is not needed any more
    exact = ExactClient(client)
    code, changed = exact.request("PATCH", path, patch)
    assert code == 200, changed
    assert changed["metadata"]["finalizers"] == [FINALIZER]
    assert changed["metadata"]["annotations"] == {"a": "b"}
    assert PARAMETERS in stored(client, "with-spaces")
    assert exact.request("PATCH", path, patch)[0] == 409
    patch = {"metadata": {**precondition(changed), "finalizers": None, "annotations": {"a": None}}}
    code, changed = exact.request("PATCH", path, patch)
    assert code == 200, changed
    assert not {"finalizers", "annotations"} & changed["metadata"].keys()
    assert PARAMETERS in stored(client, "with-spaces")
    assert client.request("DELETE", path)[0] == 200
    assert exact.request("PATCH", path, patch)[0] == 404


def test_reservations(client: Client) -> None:
    """Of a claim whose allocation another scheduler has written with such parameters."""
    claim = created(client, "allocated")
    path = f"{CLAIMS}/allocated/status"
    allocation = (
        b"""{"devices": {"results": [{"request": "g", "driver": "gpu.example.com", "pool": "p", "device": "d"}],
      "config": [{"source": "FromClaim", "opaque": {"driver": "gpu.example.com", "parameters": %s}}]}}"""
        % PARAMETERS
    )
    content = json.dumps(claim).encode()[:-1] + b', "status": {"allocation": %s}}' % allocation
    code, answer = client.exchange("PUT", path, content, media_type=JSON, accept=JSON)
    assert code == 200, answer
    claim = json.loads(answer)
    exact = ExactClient(client)
    for users in (USERS, USERS[1:], None):
        patch: dict[str, Any] = {"metadata": precondition(claim), "status": {"reservedFor": users}}
        code, claim = exact.request("PATCH", path, patch)
        assert code == 200, claim
        assert claim["status"].get("reservedFor") == users
        assert stored(client, "allocated").count(PARAMETERS) == 2
    code, claim = exact.request(
        "PATCH", path, {"metadata": precondition(claim), "status": {"allocation": None}}
    )
    assert code == 200, claim
    assert "allocation" not in claim.get("status", {})
