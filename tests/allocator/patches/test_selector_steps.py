"""What the selectors of a patch and its class may take on a device; the same for every replica, however fast it is."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from allocator.inventory import Inventory
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime import effort
from deviceselectors.runtime.program import Program, program
from resourceapi.limits import CEL_EXPRESSION_BYTES, DEVICES_WITH_ADVANCED_FEATURES, SELECTORS
from tests.allocator.objects import device_class, slice_of
from tests.allocator.patches.objects import patch

MODEL = 'device.attributes["gpu.example.com"].model'
TAGS = 'device.attributes["gpu.example.com"].tags'
DIGITS = "[0,1,2,3,4,5,6,7,8,9]"
LETTERS = "abcdefg"
TOO_MUCH = "selectors take more than 25,000 steps of evaluation on a device"
NOT_CHOSEN = "not chosen"
TOO_LONG = "selectors are longer than 25,000 characters"


def nested(levels: int) -> str:
    """Goes through ten elements for each of ten others, and so on."""
    text = "a >= 0"
    for variable in reversed(LETTERS[:levels]):
        text = f"{DIGITS}.all({variable}, {text})"
    return text


def reason(own: Iterable[str], of_class: Iterable[str] = ()) -> str:
    """Why a patch does not apply to a device; empty if it does."""
    device = {
        "name": "d",
        "attributes": {"model": {"string": "m" * 64}, "tags": {"strings": [f"tag-{n}" for n in range(48)]}},
    }
    inventory = Inventory([slice_of(device)])
    inventory.put_class(device_class("class", list(of_class)))
    filter_ = {"deviceClassName": "class"}
    inventory.put_patch(patch("p", filter_, selectors=tuple(own), attributes={"x.example.com/a": 1}))
    failure = inventory.failures.get("p")
    ((device_after,),) = [slice.devices for slice in inventory]
    is_patched = "x.example.com/a" in device_after.attributes
    assert not (is_patched and failure)
    return failure.reason if failure else "" if is_patched else NOT_CHOSEN


@pytest.mark.parametrize(
    ("own", "of_class", "expected"),
    [
        ([f'{MODEL} != ""'] * SELECTORS, [f'{MODEL} != ""'] * SELECTORS, ""),
        ([f"{TAGS}.all(a, {TAGS}.exists(b, a == b))"], [], ""),
        ([f'{MODEL}.matches("^(mm|[a-z]{{2}})+$")'], [], ""),
        ([nested(3)], [], ""),
        ([nested(5)], [], TOO_MUCH),
        ([nested(3)] * 4, [], ""),
        ([nested(3)] * 5, [], TOO_MUCH),
        ([nested(3)] * 3, [nested(3)] * 2, TOO_MUCH),
        (["false"], [nested(5)], TOO_MUCH),
        ([f'{MODEL} == "n" && {nested(5)}'], [], NOT_CHOSEN),
        # what CEL's cost does not see
        ([f'{DIGITS}.all(a, {MODEL}.split("").join("{"-" * 50}").split("").size() > a)'], [], TOO_MUCH),
        # a program takes long to make
        ([f'{MODEL} in ["{"m" * (CEL_EXPRESSION_BYTES - 80)}"]'] * 2, [], NOT_CHOSEN),
        ([f'{MODEL} in ["{"m" * (CEL_EXPRESSION_BYTES - 80)}"]'] * 3, [], TOO_LONG),
    ],
)
def test_steps_of_a_patch(own: list[str], of_class: list[str], expected: str) -> None:
    """The sum of all selectors of a patch and its class counts; whoever has more fails."""
    assert [reason(own, of_class) for _ in range(2)] == [expected, expected]


def test_the_same_after_other_evaluations() -> None:
    """Neither do they count what others took, nor do others have less."""
    slow: Program = program(compile_expression(nested(5), Environment("stored")))
    assert slow.cost_bound > 1_000_000
    selectors = ["1 ==", nested(3)]
    inventory = Inventory([slice_of(*(str(n) for n in range(DEVICES_WITH_ADVANCED_FEATURES)))])
    device = next(iter(inventory)).devices[0].prepared
    before = reason(selectors)
    assert slow.matches(device)
    assert effort.spent() > 100_000
    assert reason(selectors) == before
    assert before.startswith("CEL compile error: ")
