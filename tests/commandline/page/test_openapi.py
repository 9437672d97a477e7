"""The OpenAPI document names all that can be asked, and what is answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from commandline.page import openapi
from commandline.page.cluster_pages import POSTED, ClusterPages
from tests.commandline.page.test_capacity import CLUSTER, _claim
from tests.commandline.page.test_cluster_pages import CASES, _of_command, ask
from tests.commandline.page.test_trying import WRONG

QUESTIONS: dict[str, dict[str, str]] = {
    "explain": {"namespace": "default", "name": "train"},
    "remedy": {"namespace": "default", "name": "train", "number": "0"},
    "node": {"name": "n1"},
    "pool": {"driver": "gpu.example.com", "pool": "n1"},
    "beside": {"driver": "gpu.example.com", "pool": "n1", "devices": ""},
    "device": {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"},
    "select": {"expression": 'device.driver == "gpu.example.com"'},
    "room": {"text": json.dumps(_claim(1))},
    "changed-capacity": {"cordon": "n1"},
    "new-nodes": {"text": json.dumps(_claim(1)), "copies": "9"},
    "validate": {"text": WRONG},
    "fix": {"text": WRONG, "finding": ""},
    "simulate-text": {"text": json.dumps(_claim(1))},
    "explain-text": {"text": json.dumps(_claim(1))},
}


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterPages:
    """Those of a cluster in which a pod waits."""
    case: Any = next(each for each in CASES if each["case"].startswith("misspelt"))
    objects = [*case["cluster"], *case["asked"], *(each for each in CLUSTER if each["kind"] == "DeviceClass")]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    return _of_command(["--inventory", str(tmp_path / "cluster.yaml")], monkeypatch)


def test_it_names_every_path(pages: ClusterPages) -> None:
    """Each that is answered, by the method by which it is asked."""
    told = ask(pages, "openapi.json")["paths"]
    assert told.keys() == pages.answers.keys()
    assert {path for path, methods in told.items() if "post" in methods} == POSTED
    assert told == json.loads(json.dumps(openapi.document()["paths"]))


@pytest.mark.parametrize("name", openapi.PATHS)
def test_answers_are_as_it_says(name: str, pages: ClusterPages) -> None:
    """All members that it names, and no others."""
    document = openapi.document()
    given = QUESTIONS.get(name, {})
    if name in ("node", "pool", "partitions", "device"):
        [device, *_] = json.loads(pages.answers["/api/v1/node"]({"name": _node(pages)}))["devices"]
        known = {key: device[key] for key in ("driver", "pool", "device")} | {"name": _node(pages)}
        given = {key: known[key] for key in openapi.PATHS[name].asked}
    if name in ("explain", "remedy"):
        findings = ask(pages, "doctor")["findings"]
        pod = next(each["objects"][0] for each in findings if each["code"] == "CD001")
        given = {**given, "namespace": pod["namespace"], "name": pod["name"]}
    method = "post" if openapi.PATHS[name].is_posted else "get"
    content = document["paths"][f"/api/v1/{name}"][method]["responses"]["200"]["content"]
    schema = {**content["application/json"]["schema"], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(ask(pages, name, **given))


def _node(pages: ClusterPages) -> str:
    name: str = ask(pages, "map")["groups"][0]["names"][0]
    return name
