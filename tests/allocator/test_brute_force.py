"""The search finds the same as brute force, on random small inventories."""

from __future__ import annotations

from random import Random

import pytest

from allocator.scheduling import FATAL
from resourceapi.objects import Object
from tests.allocator.brute_force import Claim, Option, Part, Request, first_of_all, first_solution
from tests.allocator.objects import (
    DRIVER,
    alternative,
    ask,
    claim,
    cluster,
    counter_slice,
    device,
    draws,
    exactly,
    first_of,
    held,
    slice_of,
)

MODEL = f"{DRIVER}/model"
SETS = ("s", "t")
EXAMPLES = 2_500


def inventory_of(random: Random) -> tuple[list[Part], dict[str, int]]:
    """Up to six devices of one pool, and its counters."""
    counters = {name: random.randint(1, 6) for name in random.sample(SETS, random.randint(0, 2))}
    with_groups = random.random() < 0.4
    return [
        _part(random, f"d{index}", sorted(counters), with_groups) for index in range(random.randint(2, 6))
    ], counters


def _part(random: Random, name: str, sets: list[str], with_groups: bool) -> Part:
    drawn = random.sample(sets, random.randint(0, len(sets)))
    return Part(
        name,
        random.choice((None, 0, 0, 1, 1, 2)),
        {each: random.randint(1, 2) for each in drawn},
        frozenset(random.sample("abc", random.choice((0, 1, 1, 2, 2)))) if with_groups else frozenset(),
        random.random() < 0.1,
        random.choice((None, None, None, 2, 4)),
    )


def pod_of(random: Random) -> list[Claim]:
    """One or two claims with up to three requests each."""
    return [_claim(random) for _ in range(random.choice((1, 1, 2)))]


def _claim(random: Random) -> Claim:
    requests = []
    for name in "pqr"[: random.choice((1, 2, 2, 3))]:
        options = tuple(_option(random, f"w{index}") for index in range(random.choice((1, 1, 2))))
        requests.append(Request(name, options, len(options) == 1 and random.random() < 0.1))
    rule = random.choice(("", "", "match", "distinct"))
    return Claim(
        tuple(requests), rule, frozenset(random.sample(("p", "q", "q/w1"), random.choice((0, 0, 1, 2))))
    )


def _option(random: Random, name: str) -> Option:
    return Option(
        name,
        random.choice((1, 1, 1, 2, 2, 3, None)),
        random.choice((None, None, None, 0, 1)),
        random.random() < 0.5,
        random.choice((1, 1, 2)),
    )


def slices_of(parts: list[Part], counters: dict[str, int]) -> list[Object]:
    devices = []
    for part in parts:
        fields: Object = {}
        if part.model is not None:
            fields["attributes"] = {"model": part.model}
        if part.draws:
            fields["consumesCounters"] = [
                draws(name, {"m": str(amount)}, sorted(part.groups)) for name, amount in part.draws.items()
            ]
        if part.tainted:
            fields["taints"] = [{"key": "k", "effect": "NoSchedule"}]
        if part.memory is not None:
            fields |= {
                "allowMultipleAllocations": True,
                "capacity": {"memory": {"value": str(part.memory)}},
            }
        else:
            fields["capacity"] = {"memory": {"value": "1000"}}
        devices.append(device(part.name, **fields))
    sets = {name: {"m": str(amount)} for name, amount in counters.items()}
    return [counter_slice(sets), slice_of(*devices, count=2)] if sets else [slice_of(*devices)]


def claim_of(described: Claim, name: str) -> Object:
    requests = []
    for request in described.requests:
        if len(request.options) == 1:
            requests.append(exactly(request.name, request.options[0].count, **_fields(request.options[0])))
            if request.admin:
                requests[-1]["exactly"]["adminAccess"] = True
        else:
            options = (
                alternative(option.name, option.count, **_fields(option)) for option in request.options
            )
            requests.append(first_of(request.name, *options))
    constraints = []
    if described.rule:
        constraints.append({f"{described.rule}Attribute": MODEL, "requests": sorted(described.named)})
    return claim(*requests, name=name, constraints=constraints)


def _fields(option: Option) -> Object:
    fields: Object = {"capacity": {"memory": str(option.memory)}}
    if option.model is not None:
        own = f"device.attributes['{DRIVER}']"
        fields["selectors"] = [f"'model' in {own} && {own}.model == {option.model}"]
    if option.tolerates:
        fields["tolerations"] = [{"operator": "Exists"}]
    return fields


def holder(part: Part) -> Object:
    """The claim that holds a device, as it has been allocated: with the groups that the device has."""
    snapshot = {name: sorted(part.groups) for name in part.draws} if part.groups else {}
    return held(part.name, name=part.name, compatibilityGroups=snapshot)


def compare(inventory: tuple[list[Part], dict[str, int]], pod: list[Claim], taken: list[str]) -> None:
    parts, counters = inventory
    # Whole devices only: a share that is held comes with an ID and capacity, which the rules' own tests cover.
    held_parts = [part for part in parts if part.name in taken and part.memory is None]
    whole = [part.name for part in held_parts]
    state = cluster(*slices_of(parts, counters), holders=[holder(part) for part in held_parts])
    answer = ask(state, *(claim_of(each, f"c{index}") for index, each in enumerate(pod)))
    if answer.error_kind == FATAL:
        assert "cannot add device" in answer.error, answer.error
        return  # a constraint that refuses one of all devices is an error, and ends the search early
    found = None
    if answer.result is not None:
        found = [
            f"{index} {each['request']} {each['device']}"
            for index, result in enumerate(answer.result)
            for each in result["devices"].get("results", ())
        ]
    assert found == first_solution(parts, counters, whole, pod)


@pytest.mark.parametrize("block", range(8))
def test_first_solution(block: int) -> None:
    """The same devices and alternatives as the first of all solutions, and none only where there is none."""
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        random = Random(seed)
        inventory = inventory_of(random)
        taken = [f"d{random.randint(0, 5)}" for _ in range(random.choice((0, 0, 1, 2)))]
        compare(inventory, pod_of(random), taken)


def test_shortcut_of_the_brute_force() -> None:
    """Pruning the brute force loses no solution."""
    for seed in range(300):
        random = Random(seed)
        parts, counters = inventory_of(random)
        pod = [_claim(random)]
        pod[0] = Claim(pod[0].requests[:2], pod[0].rule, pod[0].named)
        taken = [part.name for part in parts[: random.randint(0, 2)] if part.memory is None]
        assert first_solution(parts, counters, taken, pod) == first_of_all(parts, counters, taken, pod)
