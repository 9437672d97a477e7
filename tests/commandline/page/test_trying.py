"""What is tried on the page: a text that somebody types, and a remedy of a pod that waits. Nothing changes the cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from commandline.page import remedies, texts
from commandline.page.cluster_pages import ClusterPages
from serving.routes import HTTPError
from tests.commandline.page.test_capacity import CLUSTER, _claim
from tests.commandline.page.test_cluster_pages import CASES, _of_command, ask

WRONG = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: team}
spec:
  devices:
    requests:
    - name: r   # kept
      exactly: {deviceClassname: gpu}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: d, namespace: team}
spec:
  devices:
    requests:
    - name: r
      exactly: {deviceClassName: gqu, allocationMode: exactcount}
"""


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterPages:
    """Those of a cluster."""
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(CLUSTER), encoding="utf-8")
    return _of_command(["--inventory", str(tmp_path / "cluster.yaml")], monkeypatch)


def test_findings_are_those_of_validate(
    pages: ClusterPages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At their places, with their hints; and which of them can be fixed in but one way."""
    found = ask(pages, "validate", text=WRONG)
    (tmp_path / "text.yaml").write_text(WRONG, encoding="utf-8")
    given = ["--inventory", str(tmp_path / "cluster.yaml"), "--create", "-o", "json"]
    main(["validate", str(tmp_path / "text.yaml"), *given])
    results = json.loads(capsys.readouterr().out)["results"]
    told = [each for result in results for each in result["findings"]]
    told += [each for result in results for each in result.get("afterwards", ())]
    keys = {"severity", "rule", "field", "message", "line", "column", "pointer", "hint"}
    assert [{key: each[key] for key in each if key in keys} for each in found["findings"]] == told
    assert next((each["line"], each["fixable"]) for each in found["findings"]) == (8, True)
    assert found["summary"].startswith("2 objects: 0 valid, 2 invalid")


def test_fixes_change_what_they_are_about(pages: ClusterPages) -> None:
    """One on its own, or all that can be made; comments stay."""
    one = ask(pages, "fix", text=WRONG, finding="0")["text"]
    assert one == WRONG.replace("deviceClassname: gpu", 'deviceClassName: "gpu"')
    both = ask(pages, "fix", text=WRONG, finding="")["text"]
    assert both == one.replace("exactcount", '"ExactCount"')
    assert "# kept" in both
    for finding, code in (("9", 404), ("x", 404), ("-1", 404), ("0000009", 404), ("9" * 5000, 404)):
        with pytest.raises(HTTPError) as error:
            ask(pages, "fix", text=WRONG, finding=finding)
        assert error.value.code == code
    with pytest.raises(HTTPError) as error:
        ask(pages, "fix", text=both, finding="")
    assert error.value.code == 422


@pytest.mark.parametrize("text", ["", "{", "a: &a [*a]", "\ud800", "- - -", "\0"])
def test_odd_texts_have_answers(text: str, pages: ClusterPages) -> None:
    """Whatever is typed, it is said what is wrong with it."""
    assert set(ask(pages, "validate", text=text)) == {"summary", "findings", "moreFindings", "failures"}
    with pytest.raises(HTTPError) as error:
        ask(pages, "explain-text", text=text)
    assert error.value.code == 422


def test_a_text_is_explained_in_the_cluster_that_is_shown(pages: ClusterPages) -> None:
    """As `explain -f` does; what is typed stays nowhere."""
    before = ask(pages, "map")
    [fits] = ask(pages, "explain-text", text=json.dumps(_claim(2)))["objects"]
    assert fits["verdict"] == "fits"
    [misfit] = ask(pages, "explain-text", text=json.dumps(_claim(4)))["objects"]
    assert misfit["verdict"] == "does not fit"
    assert misfit["remedies"]
    assert ask(pages, "map") == before
    assert len(ask(pages, "capacity")["requesting"]) == 2


def test_texts_are_explained_in_bounded_time(pages: ClusterPages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the time is over, it is said."""
    monkeypatch.setattr(texts, "SECONDS", 1e-9)
    with pytest.raises(HTTPError) as error:
        ask(pages, "explain-text", text=json.dumps(_claim(2)))
    assert error.value.code == 503


def test_a_text_is_simulated_in_the_cluster_that_is_shown(
    pages: ClusterPages, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `simulate -f` does; of many, the others are counted, and where the time is over, it is said."""
    claims = [{**_claim(2), "metadata": {"name": f"c{place}", "namespace": "team"}} for place in range(3)]
    text = yaml.safe_dump_all(claims)
    found = ask(pages, "simulate-text", text=text)
    (tmp_path / "text.yaml").write_text(text, encoding="utf-8")
    given = ["-f", str(tmp_path / "text.yaml"), "--inventory", str(tmp_path / "cluster.yaml")]
    main(["simulate", *given, "--compare", "kube-scheduler,best-fit", "-o", "json"])
    assert found.pop("moreObjects") == 0
    assert [each.pop("morePlacements") for each in found["runs"]] == [0, 0]
    assert found == json.loads(capsys.readouterr().out)
    assert [each["placed"] for each in found["runs"]] == [2, 2]
    monkeypatch.setattr(texts, "MOST_PLACEMENTS", 1)
    monkeypatch.setattr(texts, "MOST_WORKLOADS", 2)
    found = ask(pages, "simulate-text", text=f"{text}\n")
    assert (found["moreObjects"], found["runs"][0]["morePlacements"]) == (1, 1)
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "team"},
        "spec": {
            "replicas": 9,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "containers": [{"name": "c", "image": "i"}],
                    "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "pair"}],
                },
            },
        },
    }
    found = ask(pages, "simulate-text", text=json.dumps(deployment))
    assert [len(each) for each in (found["runs"][0]["left"], found["unplaced"][0]["pods"])] == [1, 1]
    monkeypatch.setattr(texts, "SECONDS", 1e-9)
    with pytest.raises(HTTPError) as error:
        ask(pages, "simulate-text", text=f"{text}\n\n")
    assert error.value.code == 503


def test_a_text_with_a_million_pods_is_not_simulated(pages: ClusterPages) -> None:
    """Nor told pod by pod."""
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t"},
        "spec": {"spec": _claim(1)["spec"]},
    }
    pod = {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
    }

    def text(replicas: int) -> str:
        labels = {"app": "d"}
        spec = {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        }
        deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
        return yaml.safe_dump_all([template, deployment])

    with pytest.raises(HTTPError, match="more than 2,000 pods") as error:
        ask(pages, "simulate-text", text=text(1_000_000))
    assert error.value.code == 422
    assert ask(pages, "simulate-text", text=text(3))["pods"] == 3


@pytest.mark.parametrize("case", CASES, ids=[each["case"] for each in CASES])
def test_each_remedy_can_be_tried(case: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pod gets devices that it did not have on a node on which the remedy helps; the map is that of the cluster after it."""
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*case["cluster"], *case["asked"]]), encoding="utf-8")
    pages = _of_command(["--inventory", str(file), *case.get("options", ())], monkeypatch)
    [pod] = [
        each
        for found in ask(pages, "doctor")["findings"]
        if found["code"] == "CD001"
        for each in found["objects"]
    ]
    name = {"namespace": pod["namespace"], "name": pod["name"]}
    now = ask(pages, "map")
    [explained] = ask(pages, "explain", **name)["objects"]
    for number, remedy in enumerate(explained.get("remedies", ())):
        found = ask(pages, "remedy", number=str(number), **name)
        assert found["remedy"] == remedy
        assert found["node"] in remedy["names"]
        got = {(each["driver"], each["pool"], each["device"]) for each in found["devices"]}
        assert got, remedy["text"]
        statuses = {each["status"] for each in _squares(found["map"])}
        assert statuses & {"allocated", "shared"}
        changed = {(each["driver"], each["pool"], each["device"]) for each in found["changes"]}
        assert changed or remedy["kind"] in ("capacity", "release", "class", "count"), remedy["text"]
    assert ask(pages, "map") == now
    for wrong in ("99", "x", "-1"):
        with pytest.raises(HTTPError) as error:
            ask(pages, "remedy", number=wrong, **name)
        assert error.value.code == 404


def _squares(found: Any) -> list[Any]:
    return [device for group in (*found["groups"], *found["elsewhere"]) for device in group["devices"]]


def test_trying_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no time, it is said."""
    case = CASES[0]
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*case["cluster"], *case["asked"]]), encoding="utf-8")
    pages = _of_command(["--inventory", str(file), *case.get("options", ())], monkeypatch)
    monkeypatch.setattr(remedies, "SECONDS", 1e-9)
    [waiting] = [
        each
        for found in ask(pages, "doctor")["findings"]
        if found["code"] == "CD001"
        for each in found["objects"]
    ]
    with pytest.raises(HTTPError) as error:
        ask(pages, "remedy", namespace=waiting["namespace"], name=waiting["name"], number="0")
    assert error.value.code in (404, 503)
