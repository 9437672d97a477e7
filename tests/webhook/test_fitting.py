"""Warnings about claims whose requests no node can satisfy together."""

from __future__ import annotations

import copy
import gc
import random
import threading
import time
from typing import Any

import pytest

from allocator.devices import Slice
from allocator.features import Features
from allocator.scheduling import SchedulingState
from allocator.time_limit import UNLIMITED, TimeLimit
from cluster.store import Collection
from resourceapi.objects import Object
from resourceapi.records.nodes import read_node
from tests.allocator import objects, random_clusters
from tests.webhook.running import PATIENCE_SECONDS
from tests.webhook.test_feasibility import (
    CLASSES,
    PROFILE,
    SERIAL,
    claim,
    device,
    either,
    exactly,
    model,
    one,
    slice_of,
    warnings,
)
from webhook import feasibility, fitting
from webhook.devices import DeviceIndex
from webhook.feasibility import Feasibility

ROOT = "resource.kubernetes.io/pcieRoot"


def node(name: str, **labels: str) -> Object:
    return {"metadata": {"name": name, "labels": labels}}


def at_root(name: str, root: str, model: str = "a100") -> Object:
    found = device(name, model)
    found["attributes"][ROOT] = {"string": root}
    return found


SLICES = [
    slice_of("node-1", at_root("gpu-0", "a"), at_root("gpu-1", "b"), at_root("gpu-2", "b", "h100")),
    slice_of("node-2", at_root("gpu-0", "a"), at_root("gpu-1", "b")),
]
NODES = ("node-1", "node-2")
TOGETHER = "spec: no node can satisfy these together, even if nobody else used its devices: "


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> DeviceIndex:
    monkeypatch.setattr(feasibility, "SECONDS", 60.0)
    monkeypatch.setattr(feasibility, "MOST_SAVED", 600.0)
    nodes = Collection(read_node)
    nodes.replace(map(node, NODES))
    devices = DeviceIndex(PROFILE, nodes)
    devices.slices.replace(copy.deepcopy(SLICES))
    devices.device_classes.replace(copy.deepcopy(CLASSES))
    devices.patches.replace([])
    return devices


@pytest.fixture
def policy(known: DeviceIndex) -> Feasibility:
    return Feasibility("Warn", known, PROFILE)


def requests(*details: Object, **constraint: Any) -> Object:
    obj = claim(*({"name": f"r{index}", "exactly": each} for index, each in enumerate(details)))
    if constraint:
        obj["spec"]["devices"]["constraints"] = [constraint]
    return obj


def test_what_fits_together_passes(policy: Feasibility) -> None:
    """Two devices of one node, on one root."""
    both = requests(exactly("gpu", model("h100")), exactly("gpu", model("a100")), matchAttribute=ROOT)
    assert warnings(policy, both) == []


IMPOSSIBLE = {
    "more-than-any-node-has": (
        requests(exactly("gpu", count=2), exactly("gpu", count=2)),
        TOGETHER + "request 'r0', request 'r1'",
    ),
    "constraint": (
        requests(exactly("gpu", model("a100"), count=2), exactly("gpu", model("h100")), matchAttribute=ROOT),
        TOGETHER + f"request 'r0', matchAttribute '{ROOT}'",
    ),
    "only-what-constraint_checks-is-named": (
        requests(exactly("gpu", model("h100")), exactly("gpu"), exactly("gpu", model("h100"))),
        TOGETHER + "request 'r0', request 'r2'",
    ),
}


def test_one_request_is_not_together(policy: Feasibility, known: DeviceIndex) -> None:
    """A single request that no node can satisfy: its devices take the same counters."""
    used = {"consumesCounters": [{"counterSet": "memory", "counters": {"memory": {"value": "1"}}}]}
    for name in NODES:
        devices = [{**at_root(f"gpu-{index}", "a"), **used} for index in range(2)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
        counters = slice_of(name)
        counters["metadata"]["name"] += "-counters"
        counters["spec"]["sharedCounters"] = [{"name": "memory", "counters": {"memory": {"value": "1"}}}]
        for each in (slice_of(name, *devices), counters):
            each["spec"]["pool"] = pool
            known.slices.put(each)
    expected = "spec: no node can satisfy this, even if nobody else used its devices: request 'r'"
    assert warnings(policy, one("gpu", count=2)) == [expected]


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_does_not_fit_is_warned_about(policy: Feasibility, name: str) -> None:
    """The warning names the smallest set of demands that is impossible; asked again the answer is the same."""
    obj, expected = IMPOSSIBLE[name]
    assert warnings(policy, obj) == [expected]
    assert warnings(policy, obj) == [expected]


def test_errors_that_end_scheduling(policy: Feasibility, known: DeviceIndex) -> None:
    """A selector that fails on a device ends a pod's attempt, whatever other devices there are."""
    for name in NODES:
        devices = [at_root("gpu-0", "a", "h100"), at_root("gpu-1", "a"), at_root("gpu-2", "a")]
        known.slices.put(slice_of(name, *devices))
    fails_on_some = f"{model('h100')} ? device.attributes['gpu.example.com'].none == 1 : true"
    (warning,) = warnings(policy, one("gpu", fails_on_some, count=2))
    assert warning.startswith(
        "spec: kube-scheduler will give up on its pods because of request 'r': kube-scheduler "
    )
    assert "guard what some devices lack" in warning


@pytest.mark.parametrize(
    "expression",
    [
        f"{{'a': true}}[{SERIAL}]",
        f"[true][{SERIAL}.endsWith('4') ? 1234 : 0]",
        f"timestamp({SERIAL}) < timestamp('2026-01-01T00:00:00Z')",
    ],
)
def test_errors_tell_no_values(policy: Feasibility, known: DeviceIndex, expression: str) -> None:
    """Messages of errors quote what they were about, which who asks may not be allowed to read."""
    for name in NODES:
        secret = at_root("gpu-0", "a")
        secret["attributes"]["serial"] = {"string": "SECRET-1234"}
        known.slices.put(slice_of(name, secret, at_root("gpu-1", "a", "h100")))
    (warning,) = warnings(policy, one("gpu", f"{model('h100')} ? true : {expression}", count=1))
    assert "will give up" in warning
    assert "1234" not in warning


def test_alternatives(policy: Feasibility) -> None:
    """One alternative that fits with the rest is enough."""
    obj = either(exactly("gpu", count=3), exactly("gpu", count=2))
    obj["spec"]["devices"]["requests"].append({"name": "more", "exactly": exactly("gpu", model("h100"))})
    assert warnings(policy, obj) == []
    obj["spec"]["devices"]["requests"].append({"name": "other", "exactly": exactly("gpu", model("h100"))})
    assert warnings(policy, obj) == [TOGETHER + "request 'more', request 'other'"]


def test_taints_do_not_make_impossible(policy: Feasibility, known: DeviceIndex) -> None:
    """They go."""
    tainted = copy.deepcopy(SLICES[0])
    for each in tainted["spec"]["devices"]:
        each["taints"] = [{"key": "k", "effect": "NoExecute"}]
    known.slices.put(tainted)
    assert warnings(policy, one("gpu", model("h100"))) == []


def test_changes_are_noticed(policy: Feasibility, known: DeviceIndex) -> None:
    """Slices, classes and nodes that come and go change the answer."""
    wanted = requests(exactly("gpu", count=2), exactly("gpu", count=2))
    assert known.nodes is not None
    assert warnings(policy, wanted)
    more = slice_of("node-3", *(at_root(f"gpu-{index}", "a") for index in range(4)))
    known.slices.put(more)
    assert warnings(policy, wanted)  # there is no such node yet
    known.nodes.put(node("node-3"))
    assert warnings(policy, wanted) == []
    known.nodes.remove(node("node-3"))
    assert warnings(policy, wanted)
    known.nodes.put(node("node-3"))
    known.slices.remove(more)
    assert warnings(policy, wanted)
    known.slices.replace([*copy.deepcopy(SLICES), more])
    assert warnings(policy, wanted) == []


def test_pools_that_are_being_updated(policy: Feasibility, known: DeviceIndex) -> None:
    """While a pool lacks slices nothing is said: what is missing may be what is needed."""
    partial = copy.deepcopy(SLICES[1])
    partial["spec"]["pool"].update(generation=2, resourceSliceCount=2)
    known.slices.put(partial)
    assert warnings(policy, IMPOSSIBLE["constraint"][0]) == []


def test_unknown_nodes(policy: Feasibility, known: DeviceIndex) -> None:
    """Without nodes the allocator is not asked."""
    assert known.nodes is not None
    known.nodes.lose()
    assert warnings(policy, IMPOSSIBLE["constraint"][0]) == []


def test_answer_that_comes_late(
    policy: Feasibility, known: DeviceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A review does not wait for long: the next one of the same demands gets the answer."""
    monkeypatch.setattr(feasibility, "SECONDS", 0.001)
    busy = threading.Event()
    known.fitting.change(lambda cluster: busy.wait(PATIENCE_SECONDS))
    wanted = IMPOSSIBLE["constraint"][0]
    assert warnings(policy, wanted) == []
    assert warnings(policy, wanted) == []
    busy.set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not warnings(policy, wanted):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_questions_are_bounded(known: DeviceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many demands come while the allocator is busy, only some of them wait."""
    asked: list[Object] = []

    def record(cluster: SchedulingState, spec: Object, limit: TimeLimit) -> str:
        asked.append(spec)
        return ""

    monkeypatch.setattr(fitting, "_problem", record)
    busy = threading.Event()
    known.fitting.change(lambda cluster: busy.wait(PATIENCE_SECONDS))
    for count in range(1, 200):
        if count % 30 == 0:
            assert known.nodes is not None
            known.nodes.put(node("another", number=str(count)))
        assert known.fitting.problem(requests(exactly("gpu", count=count))["spec"], 0.0) == ""
    busy.set()
    wait_for_answers(known)
    assert len(asked) == fitting.MOST_PENDING


def wait_for_answers(known: DeviceIndex) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while known.fitting._results._pending:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_changes_do_not_wait_for_questions(known: DeviceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices that are published while many questions wait, which take long, are not all kept until these are answered."""
    done: list[int] = []

    def answer(cluster: SchedulingState, spec: Object, limit: TimeLimit) -> str:
        done.append(-1)
        return ""

    monkeypatch.setattr(fitting, "_problem", answer)
    busy = threading.Event()
    known.fitting.change(lambda cluster: busy.wait(PATIENCE_SECONDS))
    for number in range(3):
        known.fitting.problem(requests(exactly("gpu", count=1 + number))["spec"], 0.0)
        known.fitting.change(lambda cluster, number=number: done.append(number))  # type: ignore[misc]
    busy.set()
    wait_for_answers(known)
    assert done == [0, 1, 2, -1, -1, -1]


def test_mistakes_of_ours_end_nothing(
    policy: Feasibility, known: DeviceIndex, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception is logged, and the thread goes on."""

    def fail(cluster: SchedulingState) -> None:
        raise ValueError("ours")

    known.fitting.change(fail)
    assert warnings(policy, IMPOSSIBLE["constraint"][0]) == [IMPOSSIBLE["constraint"][1]]
    assert "ours" in caplog.text


def test_what_is_remembered_is_bounded(
    policy: Feasibility, known: DeviceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many selectors come, only so many outcomes are kept; answers are the same."""
    monkeypatch.setattr(fitting, "MAX_EVALUATIONS", 100)
    sizes: list[int] = []

    def look(cluster: SchedulingState) -> None:
        shapes = {device.shape for slice in cluster.inventory for device in slice.devices}
        sizes.append(sum(len(shape.properties.matches) for shape in shapes))

    for index in range(60):
        chosen = f"{model('h100')} && {index} >= 0"
        assert warnings(policy, requests(exactly("gpu", chosen), exactly("gpu", model("a100")))) == []
        known.fitting.change(look)
    assert warnings(policy, IMPOSSIBLE["constraint"][0]) == [IMPOSSIBLE["constraint"][1]]
    assert max(sizes) <= 150


def test_questions_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large claims wait for an answer one after the other; of those that are answered their text is not kept."""
    monkeypatch.setattr(fitting, "PENDING_BYTES", 1000)
    results = fitting._Results()
    first, second, third = (results.ask(key, {}, 600) for key in (b"1", b"2", b"3"))
    assert first is not None
    assert second is not None
    assert third is None
    first.finish("no")
    assert results.get(b"1") == "no"
    assert results.ask(b"3", {}, 600) is not None
    known = fitting.Fitting(frozenset())
    spec = {"devices": {"requests": [{"name": "r" * 10_000}]}}
    monkeypatch.setattr(fitting, "_serve", lambda queue, features: queue.get().finish("none"))
    assert known.problem(spec, PATIENCE_SECONDS) == "none"
    assert known.problem(spec, 0) == "none"
    assert known._results._known.bytes < 1000


def test_inventories_that_are_replaced_leave_nothing_behind(known: DeviceIndex) -> None:
    """However often all slices are read anew, those of before are gone."""

    def count() -> int:
        done = threading.Event()
        known.fitting.change(lambda cluster: done.set())
        assert done.wait(PATIENCE_SECONDS)
        gc.unfreeze()
        return sum(isinstance(obj, Slice) for obj in gc.get_objects())

    known.fitting.start()
    known.slices.replace(copy.deepcopy(SLICES))
    before = count()
    for _ in range(5):
        known.slices.replace(copy.deepcopy(SLICES))
    assert count() <= before


def test_what_is_named_is_a_smallest_set() -> None:
    """In random clusters: what is named is impossible by itself, and possible without any part of it."""
    draw = random.Random(11)
    classes = {"any": objects.device_class("any")}
    features = Features(PROFILE.gates - {"DRADeviceTaints"})
    named = 0
    for _ in range(150):
        nodes = [random_clusters.random_node(draw, name) for name in random_clusters.NODES]
        slices = [random_clusters.random_slice(draw) for _ in range(6)]
        cluster = SchedulingState(features, nodes, classes, slices)
        for _ in range(6):
            spec = random_clusters.random_claim(draw, "c")["spec"]
            parts = list(fitting._parts(spec))
            if fitting._refusal(cluster, spec, UNLIMITED) != "" or len(parts) < 2:
                continue
            named += 1
            smallest = fitting._smallest(cluster, spec, parts, UNLIMITED)
            assert fitting._refusal(cluster, fitting._only(spec, smallest), UNLIMITED) is not None
            for part in smallest:
                rest = [other for other in smallest if other != part]
                if any(kind == "requests" for kind, _ in rest):
                    assert fitting._refusal(cluster, fitting._only(spec, rest), UNLIMITED) is None
    assert named > 50
