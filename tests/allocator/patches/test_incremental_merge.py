"""However objects came, changed and went: the devices are those that one would merge from scratch."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from allocator.devices import Slice
from allocator.inventory import Inventory
from allocator.scheduling import Mode, SchedulingState
from allocator.time_limit import UNLIMITED, TimeLimit
from cluster.store import Value
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import EvaluationError, program
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import DeviceClass
from resourceapi.records.taints import DeviceTaintRule
from resourceapi.spelling import canonical
from tests.allocator.objects import ALL_FEATURES, DRIVER, claim, device, device_class, exactly, node, slice_of
from tests.allocator.patches.objects import patch, rule

CHANGES = 1_000
NIC = "nic.example.com"
MODEL = f'device.attributes["{DRIVER}"].model'
EXPRESSIONS = (
    "true",
    f'device.driver == "{NIC}"',
    f'{MODEL} == "a"',  # fails where there is none
    f'has({MODEL}) && {MODEL} == "b"',
    f'{MODEL} == "a" && device.attributes["{DRIVER}"].index > 1',
    f'device.attributes["{DRIVER}"].uuid == "u1"',
    f'device.capacity["{DRIVER}"].memory.compareTo(quantity("2Gi")) >= 0',
    f'"{DRIVER}" in device.attributes',
    f'size(device.attributes["{DRIVER}"]) > 2',
    f'device.attributes["{DRIVER}"].?model.orValue("a") == "a"',
    "device.allowMultipleAllocations",
    "device.nope",
    f'{MODEL} + "x"',
)
NAMES = ("model", "index", "memory", "fresh")
POOLS = ("p1", "p2", "p3")
CLASSES = ("any", "models", "failing", "never")


class RandomCluster:
    """An inventory that follows changes, and everything to make another one from."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.slices: dict[str, Object] = {}
        self.patches: dict[str, Object] = {}
        self.rules: dict[str, DeviceTaintRule] = {}
        self.classes: dict[str, DeviceClass] = {}
        self.state = SchedulingState(ALL_FEATURES, [node("n")], {}, ())
        self.inventory = self.state.inventory
        self.inventory.listeners.append(self.noted)
        self.known: dict[str, Slice] = {}

    def noted(self, old: Slice | None, new: Slice | None) -> None:
        """Listeners are told of every change, and of what was there before."""
        name = (old or new).name  # type: ignore[union-attr]
        assert self.known.get(name) is old
        if new is None:
            del self.known[name]
        else:
            self.known[name] = new

    def step(self) -> None:
        self.draw.choice([self.slice, self.slice, self.patch, self.patch, self.rule, self.device_class])()

    def _change(
        self,
        objects: dict[str, Value],
        name: str,
        make: Callable[[str], Value],
        put: Callable[[Value], None],
        remove: Callable[[str], None],
    ) -> None:
        if self.draw.random() < 0.3:
            objects.pop(name, None)
            remove(name)
        else:
            objects[name] = make(name)
            put(objects[name])

    def slice(self) -> None:
        name = f"s{self.draw.randrange(8)}"
        state = self.state
        self._change(self.slices, name, self._slice, state.put_slice, state.remove_slice)

    def patch(self) -> None:
        name = f"p{self.draw.randrange(12)}"
        state = self.state
        self._change(self.patches, name, self._patch, state.put_patch, state.remove_patch)

    def rule(self) -> None:
        name, state = f"r{self.draw.randrange(3)}", self.state
        self._change(self.rules, name, self._rule, state.put_rule, state.remove_rule)

    def device_class(self) -> None:
        name, state = self.draw.choice(CLASSES[:3]), self.state
        self._change(self.classes, name, self._class, state.put_class, state.remove_class)

    def _slice(self, name: str) -> Object:
        draw = self.draw
        devices = []
        for index in range(draw.randrange(4)):
            attributes: Object = {"index": index, "uuid": f"u{draw.randrange(3)}"}
            if draw.random() < 0.7:
                attributes[draw.choice(["model", f"{DRIVER}/model", "other.example.com/model"])] = (
                    draw.choice("ab")
                )
            fields: Object = {"attributes": attributes}
            if draw.random() < 0.6:
                fields["capacity"] = {
                    draw.choice(["memory", f"{DRIVER}/memory"]): {"value": draw.choice(["1Gi", "4Gi"])}
                }
                fields["allowMultipleAllocations"] = draw.random() < 0.5
            if draw.random() < 0.2:
                fields["taints"] = [{"key": "own", "effect": "None"}]
            devices.append(device(f"d{index}", **fields))
        pool, driver = draw.choice(POOLS), draw.choice([DRIVER, DRIVER, NIC])
        return slice_of(*devices, name=name, pool=pool, driver=driver, count=2)

    def _patch(self, name: str) -> Object:
        draw = self.draw
        filter: Object = {}
        if draw.random() < 0.3:
            filter["driver"] = draw.choice([DRIVER, NIC])
        if draw.random() < 0.3:
            filter["pool"] = draw.choice(POOLS)
        if draw.random() < 0.3:
            filter["device"] = f"d{draw.randrange(3)}"
        if draw.random() < 0.3:
            filter["deviceClassName"] = draw.choice(CLASSES)
        given = {f"{draw.choice([DRIVER, NIC, 'x.example.com'])}/{each}": self._value() for each in NAMES}
        chosen = draw.sample(sorted(given), draw.randrange(4))
        return patch(
            name,
            filter,
            selectors=tuple(draw.sample(EXPRESSIONS, draw.choice([0, 0, 1, 1, 2]))),
            priority=draw.choice([None, 0, -1, 1]),
            created=self._created(name),
            attributes={each: given[each] for each in chosen},
            capacity={f"{DRIVER}/memory": draw.choice(["0", "8Gi"])} if draw.random() < 0.3 else None,
        )

    def _created(self, name: str) -> str | None:
        """An update keeps the time; a patch that was deleted meanwhile and is made anew has another."""
        draw = self.draw
        before = self.patches.get(name)
        if before is not None and draw.random() < 0.7:
            created: str | None = before["metadata"].get("creationTimestamp")
            return created
        return draw.choice([None, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])

    def _value(self) -> Any:
        return self.draw.choice([None, "a", "b", 1, True, ["a", "b"]])

    def _rule(self, name: str) -> DeviceTaintRule:
        selector = {"driver": DRIVER, "pool": self.draw.choice(POOLS), "device": "d0"}
        chosen: list[Object | None] = [None, {}, {"pool": "p1"}, selector]
        return rule(name, self.draw.choice(chosen), key=self.draw.choice("xyz"))

    def _class(self, name: str) -> DeviceClass:
        return device_class(name, self.draw.sample(EXPRESSIONS, self.draw.randrange(3)))

    # --- from scratch

    def from_scratch(self) -> SchedulingState:
        """A state to which all objects come in another order."""
        state = SchedulingState(ALL_FEATURES, [node("n")], {}, ())
        changes: list[tuple[Callable[[Any], None], Any]] = [
            *((state.put_slice, each) for each in self.slices.values()),
            *((state.put_patch, each) for each in self.patches.values()),
            *((state.put_class, each) for each in self.classes.values()),
        ]
        self.draw.shuffle(changes)
        for put, each in changes:
            put(each)
        for taint_rule in self.rules.values():
            state.put_rule(taint_rule)
        return state

    def check(self) -> None:
        fresh = self.from_scratch().inventory
        assert described(self.inventory) == described(fresh)
        assert self.inventory.failures == fresh.failures
        assert {name: id(each) for name, each in self.known.items()} == {
            each.name: id(each) for each in self.inventory
        }
        for slice in self.slices.values():
            self.check_slice(slice)

    def check_slice(self, slice: Object) -> None:
        """The same by rules that are written as the KEP says them, device by device."""
        (merged,) = [each for each in self.inventory if each.name == slice["metadata"]["name"]]
        for published, found in zip(slice["spec"].get("devices", ()), merged.devices, strict=True):
            for kind, entries in (("attributes", found.attributes), ("capacity", found.capacity)):
                expected = self.expected(slice["spec"], published, kind)
                assert canonical(sorted(qualified(entries, slice).items())) == canonical(
                    sorted(expected.items())
                )

    def expected(self, spec: Object, published: Object, kind: str) -> Object:
        values = qualified(published.get(kind) or {}, {"spec": spec})
        patches = [each for each in self.patches.values() if self.chooses(each, spec, published)]
        for each in sorted(patches, key=_order, reverse=True):
            values |= each["spec"]["devices"].get(kind) or {}
        return {name: value for name, value in values.items() if "null" not in value}

    def chooses(self, patch: Object, spec: Object, published: Object) -> bool:
        filter = patch["spec"]["devices"].get("filter") or {}
        names = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": published["name"]}
        if any(filter.get(each, name) != name for each, name in names.items()):
            return False
        expressions = [each["cel"]["expression"] for each in filter.get("selectors") or ()]
        if "deviceClassName" in filter:
            if filter["deviceClassName"] not in self.classes:
                return False
            expressions += self.classes[filter["deviceClassName"]].expressions
        return all(evaluates(each, spec["driver"], published) for each in expressions)


def qualified(entries: Mapping[str, Object], slice: Object) -> Object:
    driver = slice["spec"]["driver"]
    return {name if "/" in name else f"{driver}/{name}": value for name, value in entries.items()}


def _order(patch: Object) -> tuple[object, ...]:
    metadata, priority = patch["metadata"], patch["spec"]["devices"].get("priority") or 0
    return -priority, metadata.get("creationTimestamp", "9999"), metadata["name"]


def evaluates(expression: str, driver: str, published: Object) -> bool:
    compiled = compile_expression(expression, Environment("stored"))
    if compiled.error:
        return False
    plain = {**published, "capacity": {}}
    for name, entry in (published.get("capacity") or {}).items():
        plain["capacity"][name] = {"value": str(entry["value"])}
    try:
        return program(compiled).matches(prepare_device(plain, driver))
    except EvaluationError:
        return False


def described(inventory: Inventory) -> dict[str, str]:
    """All that there is of slices, devices and sources, in an order that does not depend on that of the changes."""
    found = {}
    for slice in inventory:
        devices = [
            (each.id, sorted(each.spec.items()), sorted(each.attributes.items()), each.taints)
            for each in slice.devices
        ]
        sources = [str(inventory.sources_in(each)) for each in slice.devices]
        found[slice.name] = canonical([slice.spec, [_sorted(each) for each in devices]]) + str(sources)
    return found


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return sorted((name, _sorted(each)) for name, each in value.items())
    return [_sorted(each) for each in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_changes(seed: int) -> None:
    """After any changes of slices, patches, classes and rules, devices are as if merged from scratch."""
    cluster = RandomCluster(seed)
    for number in range(CHANGES):
        cluster.step()
        if cluster.draw.random() < 0.05 or number == CHANGES - 1:
            cluster.check()


@pytest.mark.parametrize("seed", range(3))
def test_step_by_step(seed: int) -> None:
    """Who has not all the time settles bit by bit, and has the same in the end; meanwhile slices are as before or after."""
    cluster = RandomCluster(seed)
    cluster.inventory.stepwise = True
    ticks = iter(range(10**9))
    calls = 0
    for number in range(CHANGES):
        cluster.step()
        if cluster.draw.random() < 0.3:
            calls += not cluster.state.settle(TimeLimit(cluster.draw.randrange(3), lambda: next(ticks)))
        if cluster.draw.random() < 0.05 or number == CHANGES - 1:
            while not cluster.state.settle(TimeLimit(1, lambda: next(ticks))):
                calls += 1
            cluster.check()
    assert calls > 10


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_a_fresh_state(seed: int) -> None:
    """The next question is answered with what has changed before it."""
    cluster = RandomCluster(100 + seed)
    selectors = [f'has({MODEL}) && {MODEL} in ["a", "b"]']
    for number in range(100):
        cluster.step()
        wanted = claim(exactly(selectors=selectors, count=2, device_class="any"), name=f"c{number}")
        fresh = cluster.from_scratch()
        for state in (cluster.state, fresh):
            state.put_class(device_class())
        cluster.classes["any"] = device_class()
        answers = [
            list(state.place([Claim(wanted)], Mode.ALL_NODES, UNLIMITED).nodes)
            for state in (cluster.state, fresh)
        ]
        assert [each.result is None for each in answers[0]] == [each.result is None for each in answers[1]]
