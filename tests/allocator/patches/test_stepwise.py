"""Changes that are made bit by bit get done whatever the time limit, and no device is seen without what applies to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from allocator.devices import Slice
from allocator.inventory import Inventory
from allocator.patches.criterion import Expression
from allocator.time_limit import OutOfTime, TimeLimit
from deviceselectors.runtime.device import Device as PreparedDevice
from resourceapi.objects import Object
from resourceapi.records.taints import DeviceTaintRule
from tests.allocator.objects import DRIVER, device, device_class, slice_of
from tests.allocator.patches.objects import patch, rule

PATCHES, DEVICES = 8, 4
ONES = "[" + ",".join(["1"] * 36) + "]"
#: 1,296 rounds: somebody looks at the clock meanwhile
LONG = f"{ONES}.all(a, {ONES}.all(b, a == b))"


class OverAtOnce(TimeLimit):
    """The time is over whenever somebody looks."""

    def check(self) -> None:
        raise OutOfTime


def index_above(number: int) -> str:
    return f'device.attributes["{DRIVER}"].index > {number}'


def numbered(number: int, value: str = "v") -> Object:
    """A patch of devices whose index is above a number."""
    selectors = (f"{number} < 100", index_above(number))
    return patch(f"p{number}", selectors=selectors, attributes={f"a.example.com/a{number}": value})


def devices(count: int = DEVICES, name: str = "slice") -> Object:
    return slice_of(
        *[device(f"d{index}", attributes={"index": index}) for index in range(count)], name=name, pool=name
    )


def stepwise(*slices: Object) -> Inventory:
    inventory = Inventory(slices)
    inventory.stepwise = True
    return inventory


def calls_until_settled(inventory: Inventory, between: Callable[[], None] = lambda: None) -> int:
    """How many calls it takes if there is no time for more than one evaluation each."""
    for calls in range(1, 1_000):
        if inventory.settle(OverAtOnce()):
            return calls
        between()
    raise AssertionError("no progress")


@pytest.fixture
def evaluations(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[int, str]]:
    """How often each expression has been evaluated to its end on each kind of device."""
    counts: Counter[tuple[int, str]] = Counter()
    outcome = Expression.outcome
    kept: set[Expression] = set()  # so that none gets the id of one before

    def of(self: Expression, prepared: PreparedDevice, *, counted: bool) -> tuple[bool | str, int, int]:
        found = outcome(self, prepared, counted=counted)
        kept.add(self)
        counts[id(self), str(prepared.attributes)] += 1
        return found

    monkeypatch.setattr(Expression, "outcome", of)
    return counts


def attributes(inventory: Inventory) -> list[list[str]]:
    return [sorted(each.attributes) for slice in inventory for each in slice.devices]


def test_each_call_gets_further(evaluations: Counter[tuple[int, str]]) -> None:
    """However many patches there are on one kind of device: nothing is evaluated twice."""
    inventory = stepwise(devices())
    for number in range(PATCHES):
        inventory.put_patch(numbered(number))
    calls = calls_until_settled(inventory)
    assert DEVICES * PATCHES < calls < 4 * DEVICES * PATCHES
    assert set(evaluations.values()) == {1}
    assert attributes(inventory) == [
        [*(f"a.example.com/a{number}" for number in range(index)), "index"] for index in range(DEVICES)
    ]


def test_patches_that_change_meanwhile(evaluations: Counter[tuple[int, str]]) -> None:
    """A patch that gets other values again and again, and keeps its filter, does not have all begin anew."""
    inventory = stepwise(devices())
    for number in range(PATCHES):
        inventory.put_patch(numbered(number))
    values = iter(range(30))

    def change() -> None:
        if (value := next(values, None)) is not None:
            inventory.put_patch(numbered(0, str(value)))

    calls_until_settled(inventory, change)
    assert set(evaluations.values()) == {1}
    assert inventory.failures == {}
    ((first, *_),) = [slice.devices[1:] for slice in inventory]
    assert first.attributes["a.example.com/a0"] == {"string": "29"}


def test_expressions_that_change_meanwhile(evaluations: Counter[tuple[int, str]]) -> None:
    """A patch that gets another expression again and again has that evaluated, and no other one anew."""
    inventory = stepwise(devices())
    for number in range(PATCHES):
        inventory.put_patch(numbered(number))
    for value in range(30):
        for _ in range(12):
            inventory.settle(OverAtOnce())
        inventory.put_patch(patch("other", selectors=(index_above(1_000 + value),)))
    assert attributes(inventory)[-1] == [*(f"a.example.com/a{number}" for number in range(3)), "index"]
    assert set(evaluations.values()) == {1}


def test_patches_that_come_one_by_one_are_kept_in_few_groups() -> None:
    """Each device is looked up in each group: with one for each patch that would take a thousand times as long."""
    inventory = stepwise(devices())
    for number in range(200):
        inventory.put_patch(patch(f"p{number}", selectors=(index_above(number),)))
        calls_until_settled(inventory)
        assert len(inventory._merge.everything._matcher._verdicts) <= 9


@pytest.mark.parametrize("pool", ["slice-0", None], ids=["one-pool", "all-pools"])
def test_changes_again_and_again_do_not_keep_others_from_their_slices(pool: str | None) -> None:
    """A patch of all devices gets to all of them while another one changes before half of them have had their turn."""
    slices = 8
    inventory = stepwise(*[devices(1, f"slice-{number}") for number in range(slices)])
    inventory.put_patch(patch("all", attributes={"a.example.com/all": "v"}))
    for value in range(slices):
        for _ in range(slices // 2):
            inventory.settle(OverAtOnce())
        inventory.put_patch(
            patch("other", {"pool": pool} if pool else {}, attributes={"b.example.com/b": str(value)})
        )
    found = attributes(inventory)
    assert all("a.example.com/all" in each for each in found), found


@pytest.mark.parametrize("in_class", [False, True], ids=["patch", "class"])
def test_expression_that_takes_longer_than_there_is_time(*, in_class: bool) -> None:
    """It is ended once; the next call evaluates it to its end, but only one such."""
    inventory = stepwise(devices(1))
    inventory.put_class(device_class("long", [LONG, f"{LONG} && true"]))
    inventory.put_patch(
        patch(
            filter={"deviceClassName": "long"} if in_class else None,
            selectors=() if in_class else (LONG, f"{LONG} && true"),
            attributes={"a.example.com/a": 1},
        )
    )
    assert 4 <= calls_until_settled(inventory) < 10
    assert attributes(inventory) == [["a.example.com/a", "index"]]


def excluding() -> tuple[Object, DeviceTaintRule]:
    """What forbids the use of devices: a removed attribute, a taint."""
    removing = patch(selectors=("true", index_above(-1)), attributes={f"{DRIVER}/index": None})
    return removing, rule("r", {})


def test_slices_are_not_there_before_they_are_patched() -> None:
    """No slice that comes is shown as it was published, not for a moment; those that are there stay until then."""
    inventory = stepwise()
    removing, taint = excluding()
    inventory.put_patch(removing)
    inventory.put_rule(taint)
    calls_until_settled(inventory)
    seen: list[Slice] = []
    inventory.listeners.append(lambda _, new: seen.append(new) if new is not None else None)
    for count in (DEVICES, 1):
        inventory.put(devices(count, "a"))
        inventory.put(devices(count, "b"))
        assert [len(slice.devices) for slice in inventory] == ([] if count > 1 else [DEVICES] * 2)
        inventory.put(devices(7, "never"))
        inventory.remove("never")
        assert calls_until_settled(inventory) > 1
    assert [(slice.name, len(slice.devices)) for slice in seen] == [("a", 4), ("b", 4), ("a", 1), ("b", 1)]
    for slice in seen:
        assert all(not each.attributes and each.taints for each in slice.devices)


def test_slices_that_wait_for_what_goes() -> None:
    """Without patches there is nothing to wait for."""
    inventory = stepwise()
    removing, _ = excluding()
    inventory.put_patch(removing)
    inventory.put(devices(1, "early"))
    inventory.put(devices(1, "again"))
    inventory.remove_patch("patch")
    inventory.put(devices(2, "again"))
    assert [(slice.name, len(slice.devices)) for slice in inventory] == [("again", 2)]
    calls_until_settled(inventory)
    assert [(slice.name, len(slice.devices)) for slice in inventory] == [("again", 2), ("early", 1)]
    assert attributes(inventory) == [["index"], ["index"], ["index"]]
