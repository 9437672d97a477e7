"""Every rule states its objection, and that says the same as the predicate that the search uses."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import random
import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

import allocator.rules
from allocator.attempt import Attempt
from allocator.demand import Alternative, read_claim
from allocator.devices import Device
from allocator.errors import AllocationError
from allocator.explaining.snapshot import ClusterContent, Snapshot
from allocator.features import GATES, Features
from allocator.pools import pools_of
from allocator.rules import RULES
from allocator.rules.capacity import Capacity
from allocator.rules.constraints import Constraints
from allocator.rules.rule import Cause, Evidence, Objection, Rule, because
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.scheduling import Mode
from allocator.selection import Selectors
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.objects import (
    DRIVER,
    claim,
    counter_slice,
    device,
    device_class,
    draws,
    exactly,
    node,
    slice_of,
)
from tests.allocator.random_clusters import NODES, on_every_node, random_claim, random_node, random_slice

PROFILES = {
    "all": Features(GATES),
    "upstream": Features(GATES, group_snapshots=False),
    "1.36": Features(GATES, 36, group_snapshots=False),
    "1.35": Features(GATES, 35, group_snapshots=False),
    "no-groups": Features(GATES - {"DRADeviceCompatibilityGroups"}),
    "no-partitions": Features(GATES - {"DRAPartitionableDevices", "DRADeviceBindingConditions"}),
    "stable": Features({"DRAAdminAccess", "DRADeviceTaints", "DRAPrioritizedList"}, group_snapshots=False),
}
SEEDS = 12


def rules_in_modules() -> set[type[Rule]]:
    """All rules that the package's modules define, but for those that only others are made from."""
    modules = [
        import_module(f"allocator.rules.{each.name}")
        for each in pkgutil.iter_modules(allocator.rules.__path__)
    ]
    return {
        found
        for module in modules
        for name, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Rule) and found is not Rule and not name.startswith("_")
    }


def test_every_rule_is_listed() -> None:
    """What a module defines is explained as well."""
    assert set(RULES) == rules_in_modules()
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_an_objection(rule: type[Rule]) -> None:
    """A rule that only the search knows cannot be explained."""
    assert not inspect.isabstract(rule)
    assert rule.objection is not Rule.objection
    assert rule.__doc__
    assert rule.title


def test_a_rule_without_objection_is_none() -> None:
    """Python refuses to make one."""

    class Silent(Rule):
        name = "silent"

        @staticmethod
        def admits(state: object, alternative: object, device: object) -> bool:
            return True

    with pytest.raises(TypeError, match="objection"):
        Silent()  # type: ignore[abstract]


def _partitions(draw: random.Random) -> list[Object]:
    """A pool whose devices draw from counters: some with compatibility groups, some shared, of several sizes."""
    parts = []
    for index in range(5):
        fields: Object = {"attributes": {"root": draw.choice([1, 2, {"ints": [1, 2]}])}}
        groups = draw.choice([None, None, ["g"], ["h"], ["g", "h"]])
        fields["consumesCounters"] = [
            draws(each, {"m": draw.choice("12")}, groups) for each in draw.choice(["s", "t", "st"])
        ]
        if draw.random() < 0.5:
            policy = {"default": "1", "validRange": {"min": "1", "step": "1"}}
            fields["capacity"] = {"memory": {"value": "4", "requestPolicy": policy}}
            fields["allowMultipleAllocations"] = True
        parts.append(device(f"part-{index}", **fields))
    sets = {each: {"m": draw.choice("234")} for each in "st"}
    place: Object = {"pool": "parts", "count": 2}
    return [slice_of(*parts, name="parts", **place), counter_slice(sets, name="sets", **place)]


def _special(draw: random.Random) -> Object:
    """A claim that is an error on some devices: an attribute that cannot be derived, an amount beyond 64 bits."""
    name = f"{DRIVER}/derived"
    source = f"device.attributes['{DRIVER}'].model"
    fields: Object = {"derivedAttributes": [{"name": name, "expression": source}]}
    if draw.random() < 0.5:
        fields = {"capacity": {"memory": "9223372036854775808"}}
    constraints = [{"matchAttribute": name}] if "derivedAttributes" in fields else []
    return claim(exactly(**fields), constraints=constraints, name="special")


def _cluster(draw: random.Random, features: Features) -> Snapshot:
    """A cluster in which some claims hold devices."""
    slices: dict[str, Object] = {}
    for _ in range(10):
        slice = random_slice(draw)
        for each in on_every_node(slice) if draw.random() < 0.5 else [slice]:
            slices[each["metadata"]["name"]] = each
    slices |= {each["metadata"]["name"]: each for each in _partitions(draw)}
    nodes = [random_node(draw, name) for name in NODES]
    classes = {"any": device_class(), "gpu": device_class("gpu", ["device.driver == 'gpu.example.com'"])}
    # With all gates on, so that claims remember groups that the profile does not know.
    before = Snapshot(PROFILES["all"], ClusterContent(nodes, classes, slices.values()), time_limit=UNLIMITED)
    claims = [random_claim(draw, f"holder-{index}") for index in range(6)]
    placed = [before.cluster.place([Claim(each)], Mode.SCHEDULER, UNLIMITED).allocated for each in claims]
    holders = [claim.allocated(allocation) for each in placed for claim, allocation in each.items()]
    return Snapshot(features, ClusterContent(nodes, classes, slices.values(), holders), time_limit=UNLIMITED)


def _alternatives(snapshot: Snapshot, claims: list[Object]) -> Iterator[Alternative]:
    for each in claims:
        demand = read_claim(Claim(each), snapshot.classes, snapshot.features, UNLIMITED)
        for request in demand.requests:
            if not demand.problem and not request.problem:
                yield from (found for found in request.alternatives if not found.problem)


def _admits(rule: type[Rule], attempt: Attempt, asked: Alternative, device: Device) -> bool | None:
    """What the predicate says; None if the search ends with an error."""
    mark = attempt.mark()
    try:
        return rule.admits(attempt, asked, device)
    except AllocationError:
        return None
    finally:
        attempt.undo(mark)


def _objection(rule: type[Rule], evidence: Evidence, asked: Alternative, device: Device) -> Objection | None:
    found = (part.objection(evidence, asked, device) for part in rule.parts(asked))
    return next((each for each in found if each is not None), None)


def _can_take(attempt: Attempt, asked: Alternative, device: Device) -> bool:
    mark = attempt.mark()
    try:
        is_candidate = list(attempt.candidates(asked, [device])) == [0]
        return is_candidate and attempt.take(asked, device, must=False)
    except AllocationError:
        return False
    finally:
        attempt.undo(mark)


def _compare(snapshot: Snapshot, claims: list[Object], draw: random.Random, seen: Counter[str]) -> None:
    """Hold predicates to objections on all nodes, before and after some devices have been taken."""
    for name, at in snapshot.nodes.items():
        pools = pools_of(snapshot.inventory, at, snapshot.features)
        devices = [each for pool in pools if pool.usable for each in pool.devices]
        asked = list(_alternatives(snapshot, claims))
        selectors = Selectors()
        attempt = Attempt(at, pools, snapshot.allocated, snapshot.features, selectors, UNLIMITED)
        evidence = Evidence(attempt, snapshot.holders, SelectorOutcomes(UNLIMITED, UNLIMITED))
        for _ in range(3):
            for each in asked:
                for device_ in devices:
                    answers = []
                    for rule in RULES:
                        answer = _admits(rule, attempt, each, device_)
                        objection = _objection(rule, evidence, each, device_)
                        place = name, str(device_.id), each.name, rule.name
                        assert (answer is True) == (objection is None), (place, objection)
                        assert (answer is None) == (objection is not None and objection.failed), place
                        answers.append(answer)
                        if objection is not None:
                            assert objection.causes or objection.claims
                            seen[rule.name] += 1
                    assert _can_take(attempt, each, device_) == all(answers), (name, device_.id, each.name)
            if asked and devices:
                chosen, device_ = draw.choice(asked), draw.choice(devices)
                if _can_take(attempt, chosen, device_):
                    attempt.take(chosen, device_, must=False)


#: Rules that never object to anything while their feature is off, or that need two features.
_SILENT = {
    "all": {"gate"},
    "upstream": {"gate", "node"},
    "1.36": {"gate", "node"},
    "1.35": {"gate", "node"},
    "no-groups": {"gate", "node"},
    "no-partitions": {"node", "counters", "groups"},
    "stable": {"node", "capacity", "counters", "groups", "operations"},
}


@pytest.mark.parametrize("profile", PROFILES)
def test_predicates_and_objections_agree(profile: str) -> None:
    """Over random clusters each rule admits just the devices that it has nothing to say against; so does the search."""
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        draw = random.Random(f"{profile} {seed}")
        snapshot = _cluster(draw, PROFILES[profile])
        claims = [*(random_claim(draw, f"asks-{index}") for index in range(3)), _special(draw)]
        _compare(snapshot, claims, draw, seen)
    assert {rule.name for rule in RULES} - _SILENT[profile] <= set(seen), seen


def _one_pool(*requests: Object, devices: list[Object], **spec: Any) -> tuple[Evidence, Attempt, Any, Any]:
    """An attempt on one node, with the alternatives that are requested and the devices that there are."""
    parts: Object = {"pool": "pool", "count": 2}
    slices = [slice_of(*devices, **parts), counter_slice({"s": {"m": "1"}}, **parts)]
    snapshot = Snapshot(
        PROFILES["all"], ClusterContent([node()], {"any": device_class()}, slices), time_limit=UNLIMITED
    )
    (at,) = snapshot.nodes.values()
    (pool,) = pools_of(snapshot.inventory, at, snapshot.features)
    attempt = Attempt(at, [pool], snapshot.allocated, snapshot.features, Selectors(), UNLIMITED)
    evidence = Evidence(attempt, snapshot.holders, SelectorOutcomes(UNLIMITED, UNLIMITED))
    return evidence, attempt, list(_alternatives(snapshot, [claim(*requests, **spec)])), list(pool.devices)


def test_the_search_asks_nothing_but_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """If all rules admit a device it is taken, whatever it has and however much of that."""
    devices = []
    for size in range(33):
        names = [f"n{number}" for number in range(size)]
        devices.append(
            device(
                f"d{size}",
                attributes=dict.fromkeys(names, "v"),
                capacity={name: {"value": "1"} for name in names},
                taints=[{"key": name, "effect": "NoSchedule"} for name in names],
                consumesCounters=[draws("s", {"m": "9"}, names[:2])] * min(size, 2),
                allowMultipleAllocations=size % 2 == 1,
            )
        )
    constraint = {"distinctAttribute": f"{DRIVER}/none"}
    _, attempt, (asked,), found = _one_pool(exactly(), devices=devices, constraints=[constraint])
    for rule in RULES:
        monkeypatch.setattr(rule, "admits", staticmethod(lambda *_: True))
    assert list(attempt.candidates(asked, found)) == list(range(33))
    for each in found:
        assert attempt.take(asked, each, must=False), each.id
        assert attempt.take(asked, each, must=True), each.id


def test_only_rules_refuse() -> None:
    """Whatever says no in the search is the answer of a rule."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(Attempt._admits))).body
    for node_ in ast.walk(body):
        if isinstance(node_, ast.If) and any(isinstance(each, ast.Return) for each in node_.body):
            assert ".admits(" in ast.unparse(node_.test), ast.unparse(node_)
    returned = [
        ast.unparse(each.value) for each in ast.walk(body) if isinstance(each, ast.Return) and each.value
    ]
    assert [each for each in returned if each != "False"] == ["Capacity.admits(self, alternative, device)"]
    guards = {ast.unparse(each) for each in ast.walk(body) if isinstance(each, ast.Attribute)}
    assert {each for each in guards if not each.endswith(".admits")} == {
        "alternative.constraints",
        "alternative.place",
        "device.consumes",
        "device.slice",
        "device.slice.skips",
        "device.taints",
    }


def test_objection_of_a_constraint() -> None:
    """A value that does not go with those that are taken; without any taken there is nothing against it."""
    devices = [device("a", attributes={"model": 1}), device("b", attributes={"model": 2})]
    name = f"{DRIVER}/model"
    evidence, attempt, (asked,), (one, other) = _one_pool(
        exactly(), devices=devices, constraints=[{"matchAttribute": name}]
    )
    assert _objection(Constraints, evidence, asked, other) is None
    assert attempt.take(asked, one, must=False)
    assert _objection(Constraints, evidence, asked, other) == because(
        f"the value of {name} does not go with those of the devices taken"
    )


def test_objection_of_a_capacity_policy() -> None:
    """The amount is more than any that the policy has."""
    policy = {"default": "1", "validValues": ["1", "2"]}
    capacity = {"memory": {"value": "8", "requestPolicy": policy}}
    shared = device("a", capacity=capacity, allowMultipleAllocations=True)
    evidence, _, (asked,), (found,) = _one_pool(exactly(capacity={"memory": "3"}), devices=[shared])
    assert _objection(Capacity, evidence, asked, found) == Objection(
        (Cause("its policy does not admit 3 of memory", (("", "only 1, 2"),)),)
    )
