"""Warnings about claims that no device of the inventory can satisfy: when, why, and at what cost."""

from __future__ import annotations

import copy
import gc
import itertools
import random
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from allocator.devices import Slice
from allocator.features import Features
from allocator.scheduling import Mode, SchedulingState
from allocator.time_limit import UNLIMITED, OutOfTime
from cluster.store import Collection
from deviceselectors.request_budget import RequestBudget
from deviceselectors.runtime.program import Program
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import read_node
from resourceapi.releases import Profile
from serving.routes import Caller
from tests.allocator import objects, random_clusters
from tests.webhook.examples import admission, context
from tests.webhook.running import PATIENCE_SECONDS
from webhook import device_search, feasibility
from webhook.devices import DeviceIndex
from webhook.feasibility import Feasibility
from webhook.validating import validate

DRIVER = "gpu.example.com"
PROFILE = Profile("1.37", {})


def device(name: str, model: str = "a100", memory: str = "40Gi", **more: Any) -> Object:
    return {
        "name": name,
        "attributes": {"model": {"string": model}},
        "capacity": {"memory": {"value": memory}},
        **more,
    }


def slice_of(node: str, *devices: Object, generation: int = 1, **placement: Any) -> Object:
    spec = {
        "driver": DRIVER,
        "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
        "devices": list(devices),
        **(placement or {"nodeName": node}),
    }
    metadata = {"name": f"{node}-{generation}"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec}


def device_class(name: str, *expressions: str) -> Object:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors},
    }


CLASSES = [
    device_class("gpu", f"device.driver == '{DRIVER}'"),
    device_class("nic", "device.driver == 'nic.example.com'"),
    device_class("any"),
    device_class("broken", "device.attributes['x'].y == 'z'"),
]
SHARED = device("shared", "shared", "10Gi", allowMultipleAllocations=True)
SLICES = [
    slice_of("node-1", device("gpu-0"), device("gpu-1"), device("gpu-2", "h100", "80Gi")),
    slice_of("node-2", device("gpu-0")),
    slice_of("rack", device("far-0", "far"), device("far-1", "far"), allNodes=True),
    slice_of("node-3", SHARED),
]


@pytest.fixture
def known() -> DeviceIndex:
    devices = DeviceIndex(PROFILE)
    devices.slices.replace(copy.deepcopy(SLICES))
    devices.device_classes.replace(copy.deepcopy(CLASSES))
    devices.patches.replace([])
    return devices


@pytest.fixture
def policy(known: DeviceIndex, monkeypatch: pytest.MonkeyPatch) -> Feasibility:
    monkeypatch.setattr(feasibility, "SECONDS", 60.0)
    monkeypatch.setattr(feasibility, "MOST_SAVED", 600.0)
    return Feasibility("Warn", known, PROFILE)


def exactly(class_name: str = "gpu", *expressions: str, **more: Any) -> Object:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {"deviceClassName": class_name, **({"selectors": selectors} if selectors else {}), **more}


def claim(*requests: Object) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "team"},
        "spec": {"devices": {"requests": list(requests)}},
    }


def one(class_name: str = "gpu", *expressions: str, **more: Any) -> Object:
    return claim({"name": "r", "exactly": exactly(class_name, *expressions, **more)})


def either(*alternatives: Object) -> Object:
    named = [{"name": f"a{index}", **alternative} for index, alternative in enumerate(alternatives)]
    return claim({"name": "r", "firstAvailable": named})


def model(name: str) -> str:
    return f"device.attributes['{DRIVER}'].model == '{name}'"


def memory(amount: str) -> Object:
    return {"requests": {"memory": amount}}


def warnings(policy: Feasibility | None, obj: Object, **more: Any) -> list[str]:
    judged = context(rules=False, feasibility=policy)
    response = validate(admission(obj, **more), judged)["response"]
    assert response["allowed"]
    found: list[str] = response.get("warnings", [])
    assert response.get("auditAnnotations", {}) == ({"feasibility": "warned"} if found else {})
    return found


FEASIBLE = {
    "of-the-class": one(),
    "selected": one("gpu", model("h100")),
    "as-many-as-there-are": one("gpu", model("a100"), count=2),
    "with-those-of-all-nodes": one("gpu", f"{model('a100')} || {model('far')}", count=4),
    "all-of-one": one("gpu", model("h100"), allocationMode="All"),
    "shared-any-number": one("gpu", model("shared"), count=30, capacity=memory("1Gi")),
    "capacity": one("gpu", capacity=memory("80Gi")),
    "one-alternative-is-enough": either(exactly("gpu", model("b200")), exactly("gpu", model("a100"))),
    "unguarded-selector-that-fails-on-some": one("any", f"device.driver == '{DRIVER}' && {model('h100')}"),
}
AT = "spec.devices.requests[0]: no device can satisfy this request: "
SEVEN = "none of 7 devices of class 'gpu' "
ANY = "spec.devices.requests[0]: no device can satisfy any of the alternatives: "
B200_IS_FALSE = f'device.attributes["{DRIVER}"].model == "b200" is false'
IMPOSSIBLE = {
    "no-class": (one("gpus"), f"{AT}there is no DeviceClass 'gpus'"),
    "class-without-devices": (
        one("nic"),
        f"{AT}none of 7 devices is of class 'nic'; for example {DRIVER}/node-1/gpu-0: device.driver == ",
    ),
    "selectors": (
        one("gpu", model("b200")),
        f"{AT}{SEVEN}matches the selectors; for example {DRIVER}/node-1/gpu-0: {B200_IS_FALSE}",
    ),
    "class-that-fails-everywhere": (one("broken"), f"{AT}none of 7 devices is of class 'broken'"),
    "more-than-a-node-has": (
        one("gpu", model("a100"), count=3),
        f"{AT}3 devices are requested, but no node has more than 2 that match",
    ),
    "all-of-nothing": (one("gpu", model("b200"), allocationMode="All"), f"{AT}{SEVEN}matches the selectors"),
    "capacity": (
        one("gpu", model("a100"), capacity=memory("41Gi")),
        f"{AT}{SEVEN}that match the selectors has the requested capacity (memory: 41Gi)",
    ),
    "unknown-capacity": (
        one("gpu", capacity={"requests": {"cores": "1"}}),
        f"{AT}{SEVEN}that match the selectors has the requested capacity (cores: 1)",
    ),
    "shared-capacity": (
        one("gpu", model("shared"), capacity=memory("11Gi")),
        f"{AT}{SEVEN}that match the selectors has the requested capacity (memory: 11Gi)",
    ),
    "every-alternative": (
        either(exactly("gpu", model("h100"), count=2), exactly("gpus")),
        f"{ANY}a0: 2 devices are requested, but no node has more than 1 that match; a1: there is no DeviceClass 'gpus'",
    ),
}


@pytest.mark.parametrize("name", FEASIBLE)
def test_possible_claims_pass(policy: Feasibility, name: str) -> None:
    """What some node could serve if nobody else used it is not warned about."""
    assert warnings(policy, FEASIBLE[name]) == []


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_claims_are_warned_about(policy: Feasibility, name: str) -> None:
    """They are admitted, with the reason as a warning; asked again the answer is the same."""
    obj, reason = IMPOSSIBLE[name]
    for _ in range(2):
        (warning,) = warnings(policy, obj)
        assert warning.startswith(reason)


def test_every_request_counts(policy: Feasibility) -> None:
    """One warning per request that is impossible."""
    requests = [{"name": name, "exactly": exactly(name)} for name in ("gpu", "nic", "gpus")]
    found = warnings(policy, claim(*requests))
    assert [text.partition(":")[0] for text in found] == [
        f"spec.devices.requests[{index}]" for index in (1, 2)
    ]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_enforce_mode_refuses(known: DeviceIndex, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """In Enforce mode what is known to be impossible is refused, with a cause for each request."""
    monkeypatch.setattr(feasibility, "SECONDS", 60.0)
    monkeypatch.setattr(feasibility, "MOST_SAVED", 600.0)
    obj = one("gpus") if version == "v1" else claim({"name": "r", **exactly("gpus")})
    obj["apiVersion"] = f"resource.k8s.io/{version}"
    judged = context(rules=False, feasibility=Feasibility("Enforce", known, PROFILE))
    response = validate(admission(obj), judged)["response"]
    assert response["status"]["code"] == 422
    assert response["status"]["details"]["causes"] == [
        {
            "field": "spec.devices.requests[0]",
            "message": "Forbidden: no device can satisfy this request: there is no DeviceClass 'gpus'",
            "reason": "FieldValueForbidden",
        }
    ]
    assert response["auditAnnotations"] == {"feasibility": "refused"}


@pytest.mark.parametrize("obj", CLASSES[:1] + SLICES[:1], ids=["DeviceClass", "ResourceSlice"])
def test_other_kinds_demand_nothing(policy: Feasibility, obj: Object) -> None:
    """Classes and slices are not looked at."""
    assert warnings(policy, obj) == []


def test_templates_and_versions(policy: Feasibility) -> None:
    """Templates are judged by the claim in them; older versions by what they mean."""
    template = {**one("gpus"), "kind": "ResourceClaimTemplate", "spec": {"spec": one("gpus")["spec"]}}
    assert warnings(policy, template)[0].startswith("spec.spec.devices.requests[0]: no device")
    old = {**claim({"name": "r", **exactly("gpus")}), "apiVersion": "resource.k8s.io/v1beta1"}
    assert warnings(policy, old)[0].startswith("spec.devices.requests[0]: no device")


def test_updates_of_metadata_are_not_looked_at(policy: Feasibility) -> None:
    """It is said once, when the claim is created."""
    assert warnings(policy, one("gpus"), old=one("gpus")) == []


def test_nothing_is_said_about_what_is_not_known(known: DeviceIndex) -> None:
    """Without slices, or without classes, nothing can be told."""
    assert warnings(None, one("gpus")) == []
    assert warnings(Feasibility("Warn", DeviceIndex(PROFILE), PROFILE), one("gpus")) == []
    known.device_classes.lose()
    assert warnings(Feasibility("Warn", known, PROFILE), one("gpus")) == []


def test_cluster_without_devices(policy: Feasibility, known: DeviceIndex) -> None:
    """A cluster that is known to have no devices can satisfy nothing."""
    known.slices.replace([])
    assert warnings(policy, one()) == [f"{AT}the cluster has no devices"]


def test_changes_of_the_inventory_are_noticed(policy: Feasibility, known: DeviceIndex) -> None:
    """Slices and classes come, change and go; while a pool is being updated its old slices count as well."""
    wanted, other = one("gpu", model("b200")), one("gpu", model("c300"))
    assert warnings(policy, wanted)
    known.slices.put(slice_of("node-2", device("gpu-0", "b200"), generation=2))
    assert warnings(policy, wanted) == []
    known.slices.put(slice_of("node-2", device("gpu-0", "c300"), generation=3))
    assert (warnings(policy, wanted), warnings(policy, other)) == ([], [])
    known.slices.remove(slice_of("node-2", generation=2))
    assert warnings(policy, wanted)
    moved = slice_of("node-9", device("gpu-0", "b200"))
    moved["metadata"]["name"] = "node-2-3"
    known.slices.put(moved)
    assert warnings(policy, wanted) == []
    assert warnings(policy, other)
    known.device_classes.remove(device_class("gpu"))
    assert warnings(policy, one()) == [f"{AT}there is no DeviceClass 'gpu'"]
    known.device_classes.put(device_class("gpu", model("b200")))
    assert warnings(policy, one()) == []


def patch(name: str, model: str, **filter: Any) -> Object:
    """A patch that has devices be of another model."""
    devices = {"filter": filter, "attributes": {f"{DRIVER}/model": {"string": model}}}
    return {
        "apiVersion": "claimcheck.example.com/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name},
        "spec": {"devices": devices},
    }


def test_devices_are_as_patches_have_them(policy: Feasibility, known: DeviceIndex) -> None:
    """Whatever comes first of slices, classes and patches; what the allocator is asked about, too."""
    patched, former = one("gpu", model("b200")), one("gpu", model("h100"))
    both = claim(
        {"name": "a", "exactly": exactly("gpu", model("b200"))},
        {"name": "b", "exactly": exactly("gpu", model("far"))},
    )
    known.patches.put(patch("p", "b200", driver=DRIVER, pool="node-1", device="gpu-2"))
    assert (warnings(policy, patched), warnings(policy, both)) == ([], [])
    assert warnings(policy, former)
    known.slices.replace([])
    assert warnings(policy, patched)
    known.slices.replace(copy.deepcopy(SLICES))
    assert warnings(policy, patched) == []
    known.patches.put(patch("p", "b200", deviceClassName="later"))
    assert warnings(policy, patched)
    known.device_classes.put(device_class("later", model("h100")))
    assert warnings(policy, patched) == []
    known.patches.lose()
    assert warnings(policy, patched)
    assert warnings(policy, former) == []


def test_requests_together_are_about_patched_devices(
    policy: Feasibility, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The allocator, which is asked whether a node has all of it, has the same view."""
    nodes = Collection(read_node)
    nodes.replace([{"metadata": {"name": name}} for name in ("node-1", "node-2")])
    known = DeviceIndex(PROFILE, nodes)
    known.slices.replace(copy.deepcopy(SLICES))
    known.device_classes.replace(copy.deepcopy(CLASSES))
    known.patches.replace([])
    policy = Feasibility("Warn", known, PROFILE)
    requests = [exactly("gpu", model("h100")), exactly("gpu", model("b200"))]
    both = claim(*({"name": f"r{index}", "exactly": each} for index, each in enumerate(requests)))
    known.patches.put(patch("p", "b200", pool="node-2"))
    assert any("no node can satisfy these together" in each for each in warnings(policy, both))
    known.patches.put(patch("q", "b200", pool="node-1", device="gpu-0"))
    assert warnings(policy, both) == []


def test_patches_have_no_effect_without_their_gate() -> None:
    known = DeviceIndex(Profile("1.37", {"DRAAdminControlledDeviceAttributes": False}))
    known.slices.replace(copy.deepcopy(SLICES))
    known.patches.put(patch("p", "b200"))
    assert all(group.properties.attributes["model"] != {"string": "b200"} for group in known.groups.values())


def test_unreadable_slices_are_passed_over(policy: Feasibility, known: DeviceIndex) -> None:
    """What no API server can have stored does not count, and harms nothing."""
    known.slices.put({"metadata": {"name": "odd"}, "spec": {"devices": "none"}})
    assert warnings(policy, one("gpu", model("h100"))) == []


@pytest.fixture
def many(known: DeviceIndex) -> DeviceIndex:
    """A cluster of 2,000 devices of which each is of a kind of its own."""
    nodes = range(200)
    known.slices.replace(
        slice_of(f"n{node}", *(device(f"d{n}", f"m{node}-{n}") for n in range(10))) for node in nodes
    )
    return known


def test_time_is_bounded(
    many: DeviceIndex, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A review gets its answer when the time is up; with the next ones the search goes on where it was."""
    ticks = _clock()
    for module in (feasibility, device_search):
        monkeypatch.setattr(module, "perf_counter", lambda: next(ticks))
    monkeypatch.setattr(
        feasibility, "SECONDS", 300.0
    )  # of which the clock lets one pass whenever it is looked at
    monkeypatch.setattr(feasibility, "MOST_SAVED", 1_000_000.0)
    policy = Feasibility("Warn", many, PROFILE)
    wanted = one("gpu", model("none"))
    reviews = [warnings(policy, wanted) for _ in range(40)]
    assert reviews[0] == []
    assert reviews[-1][0].startswith(f"{AT}none of 2,000 devices of class 'gpu' matches the selectors")
    assert [bool(found) for found in reviews] == sorted(bool(found) for found in reviews)


def _clock() -> Iterator[float]:
    now = 0.0
    while True:
        now += 1.0
        yield now


def test_reviews_share_what_time_there_is(known: DeviceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many reviews come, only a share of the time goes into this; what is known already is said for nothing."""
    now = [0.0]
    for module in (feasibility, device_search):
        monkeypatch.setattr(module, "perf_counter", lambda: now[0])
    allowance = feasibility.Allowance()
    spent = 0.0
    for _ in range(1000):
        with allowance as seconds:
            spent += seconds
            now[0] += seconds
        now[0] += 0.001
    assert feasibility.MOST_SAVED <= spent <= feasibility.MOST_SAVED + 1.1 * feasibility.SHARE * now[0]
    policy = Feasibility("Warn", known, PROFILE)
    assert warnings(policy, one("nic"))
    monkeypatch.setattr(feasibility, "SECONDS", -1.0)
    assert warnings(policy, one("nic"))
    assert warnings(policy, one("gpu", model("b200"))) == []


LONG = f"lists.range(300).all(i, lists.range(300).all(j, i + j >= 0)) && {model('b200')}"


def limit_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a tenth of what there is for an evaluation pass whenever somebody looks at the clock."""
    ticks = (place * device_search.EVALUATION_SECONDS / 10 for place in itertools.count())
    monkeypatch.setattr(device_search, "thread_time", lambda: next(ticks))


def test_long_evaluations_are_given_up(policy: Feasibility, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is told then; it is not tried again, and others get their answers."""
    monkeypatch.setattr(device_search, "thread_time", lambda: 0.0)
    assert warnings(policy, one("gpu", LONG))
    limit_evaluations(monkeypatch)
    evaluated = Counter[str]()
    matches = Program.matches

    def counted(program: Program, device: Any) -> bool:
        evaluated["times"] += 1
        return matches(program, device)

    monkeypatch.setattr(Program, "matches", counted)
    long, before = one("gpu", f"{LONG} || false"), 0
    for review in range(3):
        assert warnings(policy, long) == []
        assert evaluated["times"] == before or review == 0
        before = evaluated["times"]
    assert before > 0
    assert warnings(policy, one("gpu", model("b200")))


def test_a_pause_within_an_evaluation_costs_no_answer(
    policy: Feasibility, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Garbage may be collected meanwhile: what takes long once is tried again."""
    raised = Counter[str]()
    matches = Program.matches

    def interrupted(program: Program, device: Any) -> bool:
        raised["times"] += 1
        if raised["times"] == 1:
            raise OutOfTime
        return matches(program, device)

    monkeypatch.setattr(Program, "matches", interrupted)
    assert warnings(policy, one("gpu", model("b200")))


def test_long_explanations_are_left_out(policy: Feasibility, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known is told, without an example."""
    asked = one("gpu", f"device.driver == 'other' && {LONG}")
    monkeypatch.setattr(device_search, "thread_time", lambda: 0.0)
    (whole,) = warnings(policy, asked)
    limit_evaluations(monkeypatch)
    policy._reasons.clear()
    (warning,) = warnings(policy, asked)
    assert whole.startswith(f"{warning}; for example ")
    assert warning == f"{AT}{SEVEN}matches the selectors"


def test_others_are_not_waited_for(
    policy: Feasibility, known: DeviceIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the inventory is being changed, nothing is said."""
    monkeypatch.setattr(feasibility, "SECONDS", 0.001)
    held = threading.Event()
    done = threading.Event()

    def hold() -> None:
        with known.lock:
            held.set()
            done.wait(PATIENCE_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(PATIENCE_SECONDS)
    assert warnings(policy, one("gpus")) == []
    done.set()
    holder.join()


def test_memory_is_bounded(many: DeviceIndex, policy: Feasibility, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many selectors come, what is remembered of them stays within bounds."""
    monkeypatch.setattr(feasibility, "MAX_REMEMBERED", 5_000)
    for index in range(20):
        assert warnings(policy, one("gpu", model(f"none-{index}")))
    remembered = sum(map(len, policy._searches.values()))
    assert remembered <= 5_000 + 2_200


def test_reasons_are_bounded_in_bytes(many: DeviceIndex, policy: Feasibility) -> None:
    """A claim may have more than a megabyte of selectors: a number of claims is no bound."""
    policy._reasons.most_bytes = 50_000
    for index in range(20):
        assert warnings(policy, one("gpu", model(f"none-{index}") + " " * 9_000))
    assert 30_000 < policy._reasons.bytes <= 50_000
    assert len(policy._reasons) < 6


def test_what_is_gone_leaves_nothing_behind(known: DeviceIndex) -> None:
    """Slices that are replaced or removed go at once: nothing has to be found by the garbage collector."""

    def own(obj: Object) -> Object:
        return {**obj, "spec": {**copy.deepcopy(obj["spec"]), "driver": "own.example.com"}}

    def count() -> int:
        """The slices of this test, once the allocator has let go of its own; other tests' threads may not have."""
        done = threading.Event()
        known.fitting.change(lambda cluster: done.set())
        assert done.wait(PATIENCE_SECONDS)
        gc.unfreeze()
        slices = [obj for obj in gc.get_objects() if isinstance(obj, Slice)]
        return sum(each.pool.driver == "own.example.com" for each in slices)

    known.fitting.start()
    known.slices.replace(map(own, SLICES))
    gc.collect()
    gc.disable()
    try:
        before = count()
        assert before >= len(SLICES)
        for generation in range(1, 5):
            known.slices.put(own(slice_of("node-1", device("gpu-0"), generation=1)))
            known.slices.put(own(slice_of("node-9", device("gpu-0"), generation=generation)))
            known.patches.put(patch("p", f"m{generation}", driver="own.example.com"))
            known.slices.remove(own(slice_of("node-9", generation=generation)))
            known.slices.replace(map(own, SLICES))
            known.patches.remove(patch("p", ""))
        assert count() == before
    finally:
        gc.enable()


class NormalForm(DeviceIndex):
    """Gets objects that are decoded already."""

    def _read(self, kind: str, obj: Object) -> Object:
        return obj


def test_never_wrong_in_random_clusters() -> None:
    """What is called impossible the allocator cannot serve either, on any node, with nobody else using devices."""
    draw = random.Random(7)
    features = Features(PROFILE.gates - {"DRADeviceTaints"})
    classes = {name: objects.device_class(name) for name in ("any", "other")}
    called = 0
    for _ in range(400):
        nodes = [random_clusters.random_node(draw, name) for name in random_clusters.NODES]
        slices = {
            item["metadata"]["name"]: item for item in (random_clusters.random_slice(draw) for _ in range(6))
        }
        known = NormalForm(PROFILE)
        known.slices.replace(slices.values())
        known.device_classes.replace(map(objects.class_object, classes))
        known.patches.replace([])
        cluster = SchedulingState(features, nodes, classes, slices.values())
        for _ in range(10):
            wanted = random_clusters.random_claim(draw, "c")
            policy = Feasibility("Warn", known, PROFILE)
            if policy.problems(copy.deepcopy(wanted["spec"]), ("spec",)):
                called += 1
                answers = cluster.place([Claim(wanted)], Mode.ALL_NODES, UNLIMITED).nodes
                assert all(answer.result is None for answer in answers), wanted["spec"]
    assert called > 500


SERIAL = f"device.attributes['{DRIVER}'].serial"
SECRET = "SECRET-1234"


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        pytest.param(f"{SERIAL} == 'a'", 'serial == "a" is false', id="compared"),
        pytest.param(f"!({SERIAL} != 'a')", 'serial != "a" is true', id="negated"),
        pytest.param(SERIAL, "serial is not true", id="as-it-is"),
        pytest.param(f"int({SERIAL}) == 1", f"int({SERIAL}) fails".replace("'", '"'), id="converted"),
        pytest.param(f"device.attributes[{SERIAL}].a == 1", "a fails", id="as-a-key"),
        pytest.param(f"cel.bind(s, {SERIAL}, s == 'a')", 's == "a" is false', id="bound"),
        pytest.param(f"{SERIAL} == 'b' ? true : {SERIAL} == 'a'", 'serial == "a" is false', id="chosen"),
        pytest.param(f"device.attributes['{DRIVER}'].sreial == 'a'", "sreial fails", id="misspelt"),
    ],
)
def test_values_of_devices_are_not_told(
    known: DeviceIndex, policy: Feasibility, expression: str, said: str
) -> None:
    """Who asks may not be allowed to read slices: a warning has what selectors say, and nothing of what devices are."""
    secret = device("gpu-0")
    secret["attributes"]["serial"] = {"string": SECRET}
    known.slices.replace([slice_of("node-1", secret)])
    (warning,) = warnings(policy, one("gpu", expression))
    assert "SECRET" not in warning
    assert "for example" in warning
    assert warning.endswith(said)


def test_strangers_get_no_warnings(
    known: DeviceIndex, policy: Feasibility, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody but an API server is told of devices, or has the service look for them, unless that is configured so."""
    review = admission(one("gpus"))
    nobody = Caller("a client certificate is needed", RequestBudget(60.0, 1_000_000))
    for_all = Feasibility("Warn", known, PROFILE, is_for_known_clients=False)
    assert validate(review, context(rules=False, feasibility=for_all), nobody)["response"]["warnings"]
    judged = context(rules=False, feasibility=policy)
    assert validate(review, judged)["response"]["warnings"]
    monkeypatch.setattr(Feasibility, "problems", None)  # nothing is looked for
    response = validate(review, judged, nobody)["response"]
    assert response["allowed"]
    assert response.keys().isdisjoint(("warnings", "auditAnnotations"))


def test_strangers_are_refused_where_it_is_enforced(known: DeviceIndex, policy: Feasibility) -> None:
    """What cannot be told cannot be admitted either, be it possible or not."""
    judged = context(rules=False, feasibility=Feasibility("Enforce", known, PROFILE))
    stranger = Caller("a client certificate is needed", RequestBudget(60.0, 1_000_000))
    messages = set()
    for obj in (one("gpus"), one("gpu")):
        response = validate(admission(obj), judged, stranger)["response"]
        assert (response["allowed"], response["status"]["code"]) == (False, 403)
        assert response["auditAnnotations"] == {"feasibility": "unknown client"}
        messages.add(response["status"]["message"])
    assert len(messages) == 1
