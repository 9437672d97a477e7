"""What is said of stored objects under another release is what a server of that release does on the same etcd."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from tests.commandline.validate.test_upgrade import CAPACITY, CLASS, FINE, RULE, TEMPLATE
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, control_plane

STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
OBJECTS = (CAPACITY, CLASS, TEMPLATE, RULE, FINE)
RESOURCES = {
    "ResourceClaim": "namespaces/default/resourceclaims",
    "ResourceClaimTemplate": "namespaces/default/resourceclaimtemplates",
    "DeviceClass": "deviceclasses",
    "DeviceTaintRule": "devicetaintrules",
}


def _path(stored: dict[str, Any], name: str = "") -> str:
    return f"/apis/{stored['apiVersion']}/{RESOURCES[stored['kind']]}" + (f"/{name}" if name else "")


def _create(client: Client, number: int, stored: dict[str, Any]) -> dict[str, Any]:
    body = {**stored, "metadata": {"name": f"stored-{number}"}}
    answer = client.ask("POST", _path(stored), body)
    assert answer.code == 201, answer.body
    return dict(answer.body)


def _updates(client: Client, stored: dict[str, Any]) -> tuple[str, bool]:
    """What a server does with an update that changes nothing, and whether the object keeps its spec."""
    path = _path(stored, stored["metadata"]["name"])
    if client.ask("GET", path).code == 404:
        return "not served", False
    answer = client.ask("PUT", path, stored, STRICT)
    return ("accepted", answer.body["spec"] == stored["spec"]) if answer.code == 200 else ("refused", False)


def _is_accepted_again(client: Client, stored: dict[str, Any]) -> bool:
    body = copy.deepcopy(stored)
    body["metadata"] = {"name": "again"}
    return client.ask("POST", _path(stored), body, STRICT).code == 201


@pytest.mark.parametrize("release", ["1.34", "1.36"])
def test_as_a_server_of_the_release_does(
    release: str,
    api_server: Callable[[str], ApiServer],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of each object: whether it is served, takes updates and keeps its fields, and whether it would be accepted as a new one."""
    storing = api_server("1.37-all")
    stored = [_create(storing.client, number, each) for number, each in enumerate(OBJECTS)]
    try:
        with control_plane(f"real-{release}", storing.etcd, []) as asked:
            expected = [
                (*_updates(asked.client, each), _is_accepted_again(asked.client, each)) for each in stored
            ]
    finally:
        for each in stored:
            storing.client.ask("DELETE", _path(each, each["metadata"]["name"]))
    file = tmp_path / "stored.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": stored}), encoding="utf-8")
    main(["validate", "--kube-version", release, "-o", "json", str(file)])
    results = json.loads(capsys.readouterr().out)["results"]
    found = [
        (
            result["stored"]["updates"],
            result["stored"]["updates"] == "accepted" and not result["stored"].get("lostByUpdates"),
            result["valid"],
        )
        for result in results
    ]
    assert found == expected
