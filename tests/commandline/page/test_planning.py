"""How much is free after a change, and which nodes to buy: the page says what the commands say of a cluster that is so already."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from claimcheck.answers.impact import devices_afterwards
from commandline.main import main
from commandline.page import planning
from commandline.page.cluster_pages import ClusterPages
from serving.routes import HTTPError
from tests.commandline.page.test_capacity import CLASS, CLUSTER, _claim, _gpu, _held
from tests.commandline.page.test_cluster_pages import _node, _of_command, _slice, ask

Json = dict[str, Any]


def _rule(effect: str, **selector: str) -> Json:
    spec = {"deviceSelector": selector, "taint": {"key": "example.com/hot", "effect": effect}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "hot"},
        "spec": spec,
    }


def _pod(name: str, node: str, claim: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "uid": name},
        "spec": {
            "nodeName": node,
            "containers": [{"name": "c"}],
            "resourceClaims": [{"name": "g", "resourceClaimName": claim}],
        },
        "status": {"phase": "Running"},
    }


HELD = _held("gpu-0")
HELD["status"]["reservedFor"] = [{"resource": "pods", "name": "user", "uid": "user"}]
USED = [*(each for each in CLUSTER if each["metadata"]["name"] != "held"), HELD, _pod("user", "n0", "held")]


def _patch(model: str) -> Json:
    chosen = {"driver": "gpu.example.com", "pool": "n3"}
    attributes = {"gpu.example.com/model": {"string": model}}
    return {
        "apiVersion": "claimcheck.example.com/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": "model"},
        "spec": {"devices": {"filter": chosen, "attributes": attributes}},
    }


def _pages(path: Path, monkeypatch: pytest.MonkeyPatch, objects: list[Json], *options: str) -> ClusterPages:
    (path / "cluster.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    return _of_command(["--inventory", str(path / "cluster.yaml"), *options], monkeypatch)


def _summary(path: Path, objects: list[Json], capsys: pytest.CaptureFixture[str], *options: str) -> Json:
    """What `claimcheck devices --summary` says of a cluster."""
    (path / "after.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    assert (
        main(["devices", "--summary", "--inventory", str(path / "after.yaml"), "-o", "json", *options]) == 0
    )
    found: Json = json.loads(capsys.readouterr().out)
    return found


def _without(*names: str) -> list[Json]:
    return [each for each in USED if each["metadata"]["name"] not in names]


RULE = _rule("NoSchedule", driver="gpu.example.com", pool="n1")
EVICTING = _rule("NoExecute", driver="gpu.example.com", pool="n0")
NEW = [_node("n9"), _slice("n9", *(_gpu(each, 0) for each in range(8)))]
OTHER_CLASS = {
    **CLASS,
    "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
}
RELEASED = [*_without("held"), {**_claim(1, name="held")}]
CHANGES: dict[str, tuple[Json, list[Json], list[str]]] = {
    "cordon": (
        {"cordon": "n1"},
        [
            *_without("n1"),
            {**_node("n1"), "spec": {"unschedulable": True}},
            *(each for each in USED if each["kind"] == "ResourceSlice" and each["metadata"]["name"] == "n1"),
        ],
        [],
    ),
    "taint": ({"applied": json.dumps(RULE)}, [*USED, RULE], []),
    "eviction": ({"applied": json.dumps(EVICTING)}, [*RELEASED, EVICTING], ["team/user"]),
    "class": ({"applied": json.dumps(OTHER_CLASS)}, [*_without("gpu"), OTHER_CLASS], []),
    "slices": ({"applied": yaml.safe_dump_all(NEW)}, [*USED, *NEW], []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_free_after_a_change(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As much as the command says of files in which the change is made; pods that leave have what they held no more."""
    asked, after, leaving = CHANGES[name]
    pages = _pages(tmp_path, monkeypatch, USED)
    before = ask(pages, "capacity")
    found = ask(pages, "changed-capacity", **asked)
    assert found.pop("leaving") == leaving
    assert found.pop("moreLeaving") == 0
    assert found == _summary(tmp_path, after, capsys)
    assert found["classes"] != before["classes"]
    assert ask(pages, "capacity") == before
    if name == "eviction":
        (tmp_path / "rule.yaml").write_text(json.dumps(EVICTING), encoding="utf-8")
        main(
            [
                "impact",
                str(tmp_path / "rule.yaml"),
                "--inventory",
                str(tmp_path / "cluster.yaml"),
                "-o",
                "json",
            ]
        )
        assert [each["pod"] for each in json.loads(capsys.readouterr().out)["leaving"]] == leaving


def test_a_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What it says of the devices counts for classes; a patch that is there already comes before one of the same priority."""
    gates = ("--feature-gates", "DRAAdminControlledDeviceAttributes=true")
    pages = _pages(tmp_path, monkeypatch, USED, *gates)
    patch = _patch("H100")
    found = ask(pages, "changed-capacity", applied=json.dumps(patch))
    assert found["classes"][0]["devices"] == 13
    del found["leaving"], found["moreLeaving"]
    assert found == _summary(tmp_path, [*USED, patch], capsys, *gates)
    older = {**_patch("B200"), "metadata": {"name": "z"}}
    pages = _pages(tmp_path, monkeypatch, [*USED, older], *gates)
    found = ask(pages, "changed-capacity", applied=json.dumps(patch))
    assert found["classes"][0]["devices"] == 12


def test_new_nodes_of_a_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are as the node was meant to be: without claims, not cordoned."""
    pages = _pages(tmp_path, monkeypatch, USED)
    kinds = ask(pages, "capacity")["nodeKinds"]
    assert kinds == [
        {"node": "n0", "nodes": 3, "devices": [{"driver": "gpu.example.com", "model": "H100", "devices": 4}]},
        {"node": "n3", "nodes": 1, "devices": [{"driver": "gpu.example.com", "model": "@A1", "devices": 1}]},
    ]
    before = ask(pages, "capacity")["classes"][0]
    found = ask(pages, "changed-capacity", like="n2", nodes="3")["classes"][0]
    assert (found["devices"], found["free"], found["wholeNodes"]) == (
        before["devices"] + 12,
        before["free"] + 12,
        before["wholeNodes"] + 3,
    )


def test_room_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted in the cluster as it would be."""
    pages = _pages(tmp_path, monkeypatch, USED)

    def copies(**change: str) -> list[int]:
        found = ask(pages, "room", deviceClass="gpu", count="4", **change)
        return [each["copies"] for each in found["objectives"]]

    assert copies() == [1, 1]
    assert copies(cordon="n1") == [0, 0]
    assert copies(like="n1", nodes="2") == [3, 3]
    assert copies(applied=json.dumps(RULE)) == [0, 0]
    assert copies() == [1, 1]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"cordon": "n7"}, "Node n7 is not in the cluster"),
        ({"like": "n7", "nodes": "1"}, "Node n7 is not in the cluster"),
        ({"like": "n1"}, "nodes is missing"),
        ({"like": "n1", "nodes": "101"}, "nodes: expected a number from 1 to 100"),
        ({"applied": "{"}, "line 1"),
        ({"applied": json.dumps({**RULE, "spec": {}})}, "spec.taint"),
        ({"applied": json.dumps(_node("n1"))}, "Node n1 is in the cluster already: claimcheck impact"),
        ({"applied": json.dumps(_claim(1))}, "what can be tried are DeviceClass, DeviceTaintRule"),
        (
            {"applied": "{apiVersion: example.com/v1, kind: DeviceClass, metadata: {name: x}}"},
            "what can be tried",
        ),
    ],
)
def test_what_is_no_change(
    asked: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said what is wrong with it."""
    pages = _pages(tmp_path, monkeypatch, USED)
    with pytest.raises(HTTPError) as error:
        ask(pages, "changed-capacity", **asked)
    assert message in error.value.message
    assert error.value.code in (400, 422)


def _template(name: str, count: int) -> list[Json]:
    return [_node(name), _slice(name, *(_gpu(each, 0) for each in range(count)))]


def test_what_to_buy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As `claimcheck simulate --node-template` says: for pasted nodes, or for those like the ones that are there."""
    pages = _pages(tmp_path, monkeypatch, USED)
    asked = {"deviceClass": "gpu", "count": "4", "copies": "3"}
    found = ask(pages, "new-nodes", **asked)
    assert found["placedWithout"] == 1
    assert (found["ways"][0]["nodes"], found["ways"][0]["left"]) == ([{"like": "n0", "count": 2}], 0)
    assert found["ways"][1]["left"] == 2  # no node like n3 has devices of the class
    template = yaml.safe_dump_all(_template("big", 8))
    found = ask(pages, "new-nodes", template=template, **asked)
    assert [(each["nodes"], each["left"]) for each in found["ways"]] == [([{"like": "big", "count": 1}], 0)]
    (tmp_path / "template.yaml").write_text(template, encoding="utf-8")
    pod = {"claims": [{"name": "g", "resourceClaimTemplateName": "four"}]}
    four = {**_claim(4, "ResourceClaimTemplate", "four")}
    del four["spec"]["spec"]["devices"]["constraints"]
    spec = {
        "replicas": 3,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i"}], "resourceClaims": pod["claims"]},
        },
    }
    job = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "team"},
        "spec": spec,
    }
    (tmp_path / "pods.yaml").write_text(yaml.safe_dump_all([four, job]), encoding="utf-8")
    given = ["-f", str(tmp_path / "pods.yaml"), "--inventory", str(tmp_path / "cluster.yaml")]
    main(["simulate", *given, "--node-template", str(tmp_path / "template.yaml"), "-o", "json"])
    [way] = json.loads(capsys.readouterr().out)["newNodes"]["ways"]
    assert (way["nodes"], way["left"]) == ({"big": 1}, [])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"copies": "0"}, "copies: expected"),
        ({"copies": "1001"}, "copies: expected"),
        ({"copies": "1", "template": "{"}, "line 1"),
        ({"copies": "1", "template": json.dumps(_claim(1))}, "there is no Node"),
    ],
)
def test_what_cannot_be_bought(
    asked: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said why."""
    pages = _pages(tmp_path, monkeypatch, USED)
    with pytest.raises(HTTPError) as error:
        ask(pages, "new-nodes", deviceClass="gpu", count="1", **asked)
    assert message in error.value.message


def test_a_rule_about_a_pool_is_not_about_new_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One about all devices of the driver is."""
    for selector, left in ({"pool": "n0"}, 0), ({"driver": "gpu.example.com"}, 9):
        rule = _rule("NoSchedule", **selector)
        pages = _pages(tmp_path, monkeypatch, [*USED, rule])
        found = ask(pages, "new-nodes", deviceClass="gpu", count="4", copies="9")
        assert found["ways"][0]["left"] == left


def test_answers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no time, it is said; kinds of nodes are listed up to a number, and tried up to another."""
    pages = _pages(tmp_path, monkeypatch, USED, "--feature-gates", "DRAAdminControlledDeviceAttributes=true")
    patch = json.dumps(_patch("H100"))
    with monkeypatch.context() as patched:
        patched.setattr(planning, "CHANGE_SECONDS", 1e-9)
        with pytest.raises(HTTPError) as error:
            ask(pages, "changed-capacity", applied=patch)
        assert error.value.code == 503
        patched.setattr(planning, "NEW_NODES_SECONDS", 1e-9)
        with pytest.raises(HTTPError) as error:
            ask(pages, "new-nodes", deviceClass="gpu", count="1", copies="9")
        assert error.value.code == 503
    monkeypatch.setattr(planning, "MOST_KINDS", 1)
    monkeypatch.setattr(planning, "MOST_TEMPLATES", 1)
    pages = _pages(tmp_path, monkeypatch, USED)
    assert len(ask(pages, "capacity")["nodeKinds"]) == 1
    assert len(ask(pages, "new-nodes", deviceClass="gpu", count="1", copies="9")["ways"]) == 1


def test_new_devices_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: a hundred nodes like one with thousands of devices."""
    pages = _pages(tmp_path, monkeypatch, USED)
    monkeypatch.setattr(devices_afterwards, "MOST_NEW_DEVICES", 8)
    assert ask(pages, "changed-capacity", like="n1", nodes="2")["models"][1]["devices"] == 20
    with pytest.raises(HTTPError) as error:
        ask(pages, "changed-capacity", like="n1", nodes="3")
    assert error.value.message == "that many nodes have 12 devices; 8 can be tried"


def test_slices_of_several_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new node has the devices that the slice has for the node alone."""
    devices = [{**_gpu(each, 0), "nodeName": f"n{each // 2}"} for each in range(4)]
    slice = _slice("both", *devices)
    del slice["spec"]["nodeName"]
    slice["spec"]["perDeviceNodeSelection"] = True
    pages = _pages(tmp_path, monkeypatch, [_node("n0"), _node("n1"), slice, CLASS])
    assert ask(pages, "changed-capacity", like="n0", nodes="1")["classes"][0]["devices"] == 6
