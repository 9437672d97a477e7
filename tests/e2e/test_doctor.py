"""`claimcheck doctor` on a real API server: each prepared cluster, stored there, has the illnesses that it has in files, and no others.

No controller runs, which would end some of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from commandline.main import main
from resourceapi.objects import Object
from tests.claimcheck.doctor.test_checks import CASES, MIXED, cluster
from tests.e2e import live_impact
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, control_plane

_GROUP = "/apis/resource.k8s.io/v1"
_PATHS = {
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/{}/pods",
    "DeviceClass": f"{_GROUP}/deviceclasses",
    "ResourceSlice": f"{_GROUP}/resourceslices",
    "ResourceClaim": f"{_GROUP}/namespaces/{{}}/resourceclaims",
    "ResourceClaimTemplate": f"{_GROUP}/namespaces/{{}}/resourceclaimtemplates",
    "DeviceTaintRule": f"{_GROUP}/devicetaintrules",
}
_MERGE = "application/merge-patch+json"
_NAMESPACES = ("team", "ops")


@pytest.fixture(scope="module")
def server() -> Iterator[ApiServer]:
    """A server of its own: doctor looks at everything that is there."""
    with control_plane("1.37-all") as started:
        for name in _NAMESPACES:
            labels = {"resource.kubernetes.io/admin-access": "true"}
            _insist(
                started.client.ask(
                    "POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}}
                )
            )
        yield started


def _insist(answer: Any) -> Any:
    assert answer.code < 300, answer.body
    return answer.body


def _store(client: Client, objects: list[Object]) -> None:
    """Store objects with their status; a reference to the UID of a pod becomes one to the UID that the server gives it."""
    uids: dict[str, str] = {}
    for obj in sorted(objects, key=lambda each: each["kind"] != "Pod"):
        metadata = obj["metadata"]
        path = _PATHS[obj["kind"]].format(metadata.get("namespace"))
        text = json.dumps(
            {**obj, "metadata": {k: v for k, v in metadata.items() if k not in ("uid", "deletionTimestamp")}}
        )
        for given, real in uids.items():
            text = text.replace(json.dumps(given), json.dumps(real))
        wanted = json.loads(text)
        api_version = (
            f"{_GROUP.removeprefix('/apis/')}"
            if "resource.k8s.io" in obj["apiVersion"]
            else obj["apiVersion"]
        )
        writers = {
            each["manager"]: each["apiVersion"] for each in wanted["metadata"].pop("managedFields", ())
        }
        for manager, version in reversed(writers.items()):
            _write(client, path, wanted, manager, version)
        stored = (
            _insist(client.ask("GET", f"{path}/{metadata['name']}"))
            if writers
            else _insist(client.ask("POST", path, {**wanted, "apiVersion": api_version}))
        )
        if obj["kind"] == "Node":  # admission takes it for one whose kubelet has not come yet
            ready = {"spec": {"taints": None}}
            stored = _insist(client.ask("PATCH", f"{path}/{metadata['name']}", ready, content_type=_MERGE))
        if obj["kind"] == "Pod":
            uids[metadata.get("uid", "")] = stored["metadata"]["uid"]
        if "status" in wanted:
            name = f"{path}/{metadata['name']}/status"
            _insist(
                client.ask(
                    "PUT", name, {**stored, "status": {**stored.get("status", {}), **wanted["status"]}}
                )
            )
        if "deletionTimestamp" in metadata:
            _insist(client.ask("DELETE", f"{path}/{metadata['name']}"))


def _write(client: Client, path: str, wanted: Object, manager: str, version: str) -> None:
    """Create an object, or label it, in a version as this field manager."""
    path = path.replace(_GROUP, f"/apis/{version}")
    answer = client.ask("POST", path, {**wanted, "apiVersion": version}, query={"fieldManager": manager})
    if answer.code == 409:
        label = {"metadata": {"labels": {"by": "somebody"}}}
        name = f"{path}/{wanted['metadata']['name']}"
        answer = client.ask("PATCH", name, label, query={"fieldManager": manager}, content_type=_MERGE)
    _insist(answer)


def _remove_everything(client: Client) -> None:
    for path in _PATHS.values():
        for namespace in _NAMESPACES if "{}" in path else ("",):
            for each in _insist(client.ask("GET", path.format(namespace)))["items"]:
                name = each["metadata"]["name"]
                if name == "node-a":
                    continue
                one = f"{path.format(namespace)}/{name}"
                if each["metadata"].get("finalizers"):
                    bare = {"metadata": {"finalizers": None}}
                    client.ask("PATCH", one, bare, content_type=_MERGE)
                client.ask("DELETE", one, {"gracePeriodSeconds": 0})


@pytest.mark.parametrize(
    "case",
    [*(each for each in CASES if each.get("release") != "kep"), *MIXED],
    ids=lambda case: case["name"],
)
def test_illnesses(case: dict[str, Any], server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """The codes and objects are those of the table."""
    try:
        _store(server.client, cluster(case))
        gates = ",".join(f"{name}=true" for name in case.get("gates", ()))
        main(["doctor", "--kubeconfig", str(server.kubeconfig), "-o", "json", "--feature-gates", gates])
        document = json.loads(capsys.readouterr().out)
    finally:
        _remove_everything(server.client)
    assert (document["failures"], document["unread"]) == ([], [])
    found = [
        (each["code"], "/".join(filter(None, (one.get("namespace"), one["name"]))))
        for each in document["findings"]
        for one in each["objects"]
    ]
    expected = [(each["code"], one.partition(" ")[2]) for each in case["finds"] for one in each["objects"]]
    assert sorted(found) == sorted(expected)


def test_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    """Where schedulers and controllers are at work, nothing is wrong but pods for which there is no device, and classes without any."""
    with live_impact.cluster() as busy:
        live = live_impact.LiveCluster(busy)
        for seed in range(20):
            live.set_up(Random(seed))
            main(["doctor", "--kubeconfig", str(busy.kubeconfig), "-o", "json"])
            findings = json.loads(capsys.readouterr().out)["findings"]
            waiting = [one for each in findings if each["code"] == "CD001" for one in each["objects"]]
            assert len(waiting) == live.waiting().total()
            models = {
                device["attributes"]["model"]["string"]
                for each in live.there.of("ResourceSlice")
                for device in each["spec"].get("devices", ())
            }
            empty = [one["name"] for each in findings if each["code"] == "CD016" for one in each["objects"]]
            assert set(empty) == set(live_impact.MODELS) - models
            assert {each["code"] for each in findings} <= {"CD001", "CD016"}
