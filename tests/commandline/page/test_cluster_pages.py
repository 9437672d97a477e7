"""What the page is told of a cluster: the words of the commands, and its devices as a map."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator.time_limit import OutOfTime
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.doctor.examination import examine
from commandline.main import main
from commandline.page import cluster_pages, openapi
from commandline.page.cluster_pages import LANES, OTHERS, ClusterPages
from commandline.reading import read_named
from resourceapi.releases import Profile
from serving.routes import HTTPError

CASES: list[Any] = list(
    yaml.safe_load_all(Path(__file__).parents[1].joinpath("explain", "on_call.yaml").read_text("utf-8"))
)


def _slice(node: str, *devices: dict[str, Any], driver: str = "gpu.example.com") -> dict[str, Any]:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {"driver": driver, "nodeName": node, "pool": pool, "devices": list(devices)},
    }


def _node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


@pytest.fixture
def pages(tmp_path: Path) -> Callable[..., ClusterPages]:
    """Makes the pages of objects."""

    def make(
        *objects: dict[str, Any], version: Callable[[], int] = lambda: 0, has_lanes: bool = False
    ) -> ClusterPages:
        (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")

        def read() -> Any:
            state = ClusterState(Profile(), "default")
            return state, state.learn(read_named("--inventory", [str(tmp_path / "cluster.yaml")]))

        return ClusterPages("cluster.yaml", read, version, is_live=False, seconds=60, has_lanes=has_lanes)

    return make


def ask(pages: ClusterPages, path: str, **query: str) -> Any:
    return json.loads(pages.answers[f"/api/v1/{path}"](query))


GPU = {"name": "gpu-0", "attributes": {"model": {"string": "a100"}}}
OTHER = {"name": "gpu-0", "attributes": {"model": {"string": "h100"}}}
TAINTED = {**GPU, "taints": [{"key": "example.com/hot", "effect": "NoSchedule"}]}


@pytest.mark.parametrize("case", CASES, ids=[each["case"] for each in CASES])
def test_cause_is_found_in_two_steps(
    case: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list names each pod that waits, and the pod has the sentence and the remedy that `explain` and `doctor` have."""
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*case["cluster"], *case["asked"]]), encoding="utf-8")
    options = ["--inventory", str(file), *case.get("options", ())]
    pages = _of_command(options, monkeypatch)
    main(["doctor", *options, "-o", "json"])
    findings = ask(pages, "doctor")
    assert findings == json.loads(capsys.readouterr().out)
    [pod] = [each for found in findings["findings"] if found["code"] == "CD001" for each in found["objects"]]
    assert ask(pages, "cluster")["waiting"] == 1
    explained = ask(pages, "explain", namespace=pod["namespace"], name=pod["name"])
    main(["explain", f"pod/{pod['name']}", "-n", pod["namespace"], *options, "-o", "json"])
    assert explained == json.loads(capsys.readouterr().out)
    [told] = explained["objects"]
    assert [words for words in case["firstLine"] if words not in told["said"]] == []
    helps = " ".join(each["text"] for each in told.get("remedies", ()))
    assert helps or told["verdict"] == "waits" or told["findings"]


def _of_command(options: list[str], monkeypatch: pytest.MonkeyPatch) -> ClusterPages:
    """The pages that the command shows with these options."""
    shown = []

    async def show(listener: socket.socket, pages: ClusterPages, *, opens: bool) -> None:
        listener.close()
        assert not opens
        shown.append(pages)

    monkeypatch.setattr("commandline.ui._show", show)
    assert main(["ui", "--port", "0", *options]) == 0
    return shown[0]


def test_equal_nodes_are_one_group(pages: Callable[..., ClusterPages]) -> None:
    """Nodes whose devices differ in nothing that can be seen are told once, the largest group first."""
    names = [f"n{number}" for number in range(5)]
    shown = pages(
        *map(_node, names),
        _slice("n0", OTHER),
        _slice("n1", GPU),
        _slice("n2", GPU),
        _slice("n3", TAINTED),
        _slice("n4", GPU),
    )
    found = ask(shown, "map")
    assert [(each["count"], each["names"]) for each in found["groups"]] == [
        (3, ["n1", "n2", "n4"]),
        (1, ["n0"]),
        (1, ["n3"]),
    ]
    assert [each["devices"][0]["tainted"] for each in found["groups"]] == [False, False, True]
    assert [(each["driver"], each["count"], each["attributes"]) for each in found["kinds"]] == [
        ("gpu.example.com", 1, {"model": "h100"}),
        ("gpu.example.com", 4, {"model": "a100"}),
    ]
    assert ask(shown, "cluster") == {
        "source": "cluster.yaml",
        "kubeVersion": "1.37",
        "isLive": False,
        "version": 0,
        "nodes": 5,
        "devices": 5,
        "free": 5,
        "waiting": 0,
        "failures": [],
        "notes": [],
    }


def test_devices_of_no_node(pages: Callable[..., ClusterPages]) -> None:
    """They are told by their pool."""
    everywhere = _slice("fabric", {"name": "port"}, driver="net.example.com")
    del everywhere["spec"]["nodeName"]
    everywhere["spec"]["allNodes"] = True
    found = ask(pages(_node("n0"), everywhere), "map")
    assert found["groups"] == []
    [group] = found["elsewhere"]
    assert (group["names"], group["devices"][0]["name"]) == (["fabric"], "port")


@pytest.mark.parametrize(
    ("expression", "kinds", "error"),
    [
        ('device.attributes["gpu.example.com"].model == "a100"', [1], None),
        ("true", [0, 1], None),
        ("device.driver ==", [], (1, 17)),
        ("device.nothing", [], (1, 7)),
    ],
)
def test_selector(
    pages: Callable[..., ClusterPages], expression: str, kinds: list[int], error: tuple[int, int] | None
) -> None:
    """It lights up the kinds that it chooses, or says where it is wrong."""
    found = ask(pages(_slice("n0", OTHER), _slice("n1", GPU)), "select", expression=expression)
    assert found["kinds"] == kinds
    place = found["error"] and (found["error"]["line"], found["error"]["column"])
    assert place == error, found


def test_selector_that_fails(pages: Callable[..., ClusterPages]) -> None:
    """The kinds on which it fails are told with the error."""
    found = ask(
        pages(_slice("n0", GPU)), "select", expression='device.attributes["gpu.example.com"].nothing == 1'
    )
    assert (found["kinds"], found["error"]) == ([], None)
    assert found["failing"] == [{"kind": 0, "error": "no such key: nothing"}]


@pytest.mark.parametrize(
    ("path", "query", "code"),
    [
        ("node", {"name": "nowhere"}, 404),
        ("node", {}, 400),
        ("device", {"driver": "gpu.example.com", "pool": "n0", "device": "gpu-7"}, 404),
        ("explain", {"namespace": "default", "name": "nobody"}, 404),
        ("select", {}, 400),
    ],
)
def test_what_is_not_there(
    pages: Callable[..., ClusterPages], path: str, query: dict[str, str], code: int
) -> None:
    with pytest.raises(HTTPError) as raised:
        ask(pages(_node("n0"), _slice("n0", GPU)), path, **query)
    assert raised.value.code == code


def test_changes_are_seen_after_a_rest(
    pages: Callable[..., ClusterPages], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that changes all the time is not looked at all the time, and nobody is told of a version that is not shown."""
    now, newest = [0.0], [1]
    monkeypatch.setattr(cluster_pages, "monotonic", lambda: now[0])
    shown = pages(_node("n0"), _slice("n0", GPU), version=lambda: newest[0])
    monkeypatch.setattr(cluster_pages, "REST", 2.0)
    shown_versions = [ask(shown, "cluster")["version"]]
    shown._lanes[OTHERS].not_before = 10.0
    newest[0] = 2
    shown_versions += [shown.version(), ask(shown, "cluster")["version"]]
    now[0] = 10.0
    shown_versions += [shown.version(), ask(shown, "cluster")["version"]]
    assert shown_versions == [1, 1, 1, 2, 2]


def test_too_little_time(pages: Callable[..., ClusterPages], monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods that there was no time for are not said not to wait, and what took too long is not tried at each question."""
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    claim = {"name": "gpu", "resourceClaimName": "none"}
    shown = pages(_node("n0"), _slice("n0", GPU), {**pod, "spec": {**pod["spec"], "resourceClaims": [claim]}})

    def slow(*_: object) -> None:
        raise OutOfTime

    monkeypatch.setattr("claimcheck.answers.doctor.pods.as_scheduled", slow)
    assert ask(shown, "cluster")["waiting"] is None
    assert ask(shown, "doctor")["unfinished"] == ["pods that wait"]
    made: list[object] = []
    now = [0.0]

    def slower(*_: object) -> None:
        made.append(None)
        now[0] += 5
        raise OutOfTime

    monkeypatch.setattr(cluster_pages, "monotonic", lambda: now[0])
    monkeypatch.setattr(cluster_pages, "Examined", slower)
    other = pages(_node("n0"))
    for _ in range(3):
        with pytest.raises(HTTPError, match="took longer than 60 s"):
            ask(other, "cluster")
    assert len(made) == 1


def test_newest_answers_are_kept(pages: Callable[..., ClusterPages], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a person types, the answers asked for last stay."""
    monkeypatch.setattr(cluster_pages, "MOST_KEPT", 2)
    shown = pages(_node("n0"), _slice("n0", GPU))
    for number in range(3):
        ask(shown, "select", expression=f"{number} == 1")
    look = shown._lanes[OTHERS].look
    assert look is not None
    assert [json.loads(key)[1] for key in look.kept] == [
        [["expression", f"{number} == 1"]] for number in (1, 2)
    ]
    assert look.kept_bytes == sum(each.bytes for each in look.kept.values())


def test_what_takes_long_keeps_nobody_from_the_rest(
    pages: Callable[..., ClusterPages], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While all that is wrong is looked for, devices are shown and searched: each lane has a look of its own."""
    has_begun, may_go_on = threading.Event(), threading.Event()

    def slowly(*arguments: Any) -> Any:
        has_begun.set()
        assert may_go_on.wait(120)
        return examine(*arguments)

    monkeypatch.setattr(cluster_pages, "examine", slowly)
    shown = pages(_node("n0"), _slice("n0", GPU), has_lanes=True)
    with ThreadPoolExecutor(1) as thread:
        slow = thread.submit(ask, shown, "doctor")
        assert has_begun.wait(120)
        assert ask(shown, "map")["groups"]
        assert ask(shown, "capacity")["models"]
        assert not slow.done()
        may_go_on.set()
        assert slow.result(120)["findings"] == []


def test_answers_are_made_once_for_all(
    pages: Callable[..., ClusterPages], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And compressed once, until something changes; then an old one is not taken for a new one."""
    compressed: list[int] = []

    def compress(content: bytes, *_: object, **__: object) -> bytes:
        compressed.append(len(content))
        return b"compressed"

    monkeypatch.setattr(cluster_pages, "REST", 0.0)
    monkeypatch.setattr("serving.browser_pages.gzip.compress", compress)
    monkeypatch.setattr("serving.browser_pages.COMPRESSED_BYTES", 1)
    newest = [1]
    shown = pages(_node("n0"), _slice("n0", GPU), version=lambda: newest[0])
    people = [shown.visitor(name) for name in ("ann", "ben")]
    assert people[0].kept("/api/v1/map", {}) is None
    answers = [each.answers["/api/v1/map"]({}) for each in people for _ in range(2)]
    assert len(compressed) == 1
    assert [each.kept("/api/v1/map", {}) for each in people] == answers[:2]
    assert people[0].kept("/api/v1/map", {"other": ""}) is None
    newest[0] = 2
    assert people[0].kept("/api/v1/map", {}) is None
    assert people[0].answers["/api/v1/map"]({}) != answers[0]


def test_every_lane_is_one_of_a_few(pages: Callable[..., ClusterPages]) -> None:
    """What searches for places, or looks at all that waits, is in none with the map."""
    slow = ("doctor", "cluster", "explain", "remedy", "partitions", "capacity", "capacity.csv")
    posted = (
        cluster_pages.ROOM,
        cluster_pages.CHANGED,
        cluster_pages.NEW_NODES,
        cluster_pages.EXPLAIN_TEXT,
        cluster_pages.SIMULATE_TEXT,
    )
    paths = [f"/api/v1/{name}" for name in openapi.PATHS]
    many, one = pages(has_lanes=True), pages()
    others = {each for each in paths if many.lane_of(each) == OTHERS}
    assert others == set(paths) - {f"/api/v1/{name}" for name in slow} - set(posted)
    assert {many.lane_of(each) for each in paths} == set(LANES)
    assert {one.lane_of(each) for each in paths} == {OTHERS}


@pytest.mark.parametrize("has_lanes", [False, True])
def test_what_has_been_examined_is_told_once_and_for_all(
    pages: Callable[..., ClusterPages], monkeypatch: pytest.MonkeyPatch, has_lanes: bool
) -> None:
    """Whatever else a question has; and again after a change."""
    made: list[object] = []

    def counted(*arguments: Any) -> Any:
        made.append(None)
        return examine(*arguments)

    monkeypatch.setattr(cluster_pages, "examine", counted)
    monkeypatch.setattr(cluster_pages, "REST", 0.0)
    newest = [1]
    shown = pages(_node("n0"), _slice("n0", GPU), version=lambda: newest[0], has_lanes=has_lanes)
    for version in (1, 2):
        newest[0] = version
        for query in ({}, {"a": "1"}, {"a": "2"}):
            assert ask(shown, "doctor", **query)["findings"] == []
            assert ask(shown, "cluster", **query)["nodes"] == 1
        assert len(made) == version
