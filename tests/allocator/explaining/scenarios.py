"""Random small scenarios that need explaining, and a way to ask about them that shares nothing with the explanation."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import NamedTuple

from allocator.explaining.snapshot import ClusterContent, Snapshot
from allocator.features import GATES, Features
from allocator.scheduling import FATAL, Mode, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from tests.allocator.objects import (
    DRIVER,
    alternative,
    claim,
    counter_slice,
    device,
    device_class,
    draws,
    exactly,
    first_of,
    held,
    node,
    slice_of,
)

OWN = f"device.attributes['{DRIVER}']"
SELECTORS = (f"{OWN}.model == 1", f"'model' in {OWN} && {OWN}.model == 0", f"{OWN}.model > 5")


class Scenario(NamedTuple):
    """A cluster of two nodes, allocated claims, and the claims of a pod."""

    nodes: list[Node]
    slices: list[Object]
    holders: list[Object]
    claims: list[Object]

    def snapshot(self) -> Snapshot:
        features = Features(GATES - {"DRAOptionalNodeOperations"})
        return Snapshot(
            features,
            ClusterContent(self.nodes, {"any": device_class()}, self.slices, map(Claim, self.holders)),
            time_limit=UNLIMITED,
        )


def scenario(seed: int) -> Scenario:
    """One of them. Most do not fit, as more is asked than is there."""
    random = Random(seed)
    nodes = [node(f"n{index}") for index in range(2)]
    slices, holders = [], []
    for index in range(2):
        with_groups = random.random() < 0.3
        sets = {"s": {"m": str(random.randint(1, 4))}}
        devices = [_device(random, f"d{place}", with_groups) for place in range(random.randint(1, 5))]
        place: Object = {"pool": f"p{index}", "nodeName": f"n{index}", "count": 2}
        slices.append(counter_slice(sets, name=f"counters-{index}", **place))
        slices.append(slice_of(*devices, name=f"devices-{index}", **place))
        whole = [each["name"] for each in devices if not each.get("allowMultipleAllocations")]
        for number, name in enumerate(random.sample(whole, min(len(whole), random.choice((0, 1, 1, 2))))):
            holders.append(held(name, pool=f"p{index}", name=f"h{index}-{number}"))
    return Scenario(nodes, slices, holders, _claims(random))


def _device(random: Random, name: str, with_groups: bool) -> Object:
    fields: Object = {"capacity": {"memory": {"value": str(random.choice((2, 4, 8)))}}}
    if random.random() < 0.8:
        fields["attributes"] = {"model": random.choice((0, 0, 1))}
    if random.random() < 0.5:
        groups = random.sample("abc", random.randint(1, 2)) if with_groups else None
        fields["consumesCounters"] = [draws("s", {"m": str(random.randint(1, 2))}, groups)]
    if random.random() < 0.2:
        fields["taints"] = [{"key": random.choice("kl"), "value": "v", "effect": "NoSchedule"}]
    if random.random() < 0.2:
        fields["allowMultipleAllocations"] = True
    return device(name, **fields)


def _claims(random: Random) -> list[Object]:
    claims = []
    for index in range(random.choice((1, 1, 2))):
        requests = [_request(random, name) for name in "pqr"[: random.choice((1, 2, 2, 3))]]
        constraints = []
        if random.random() < 0.4:
            kind = random.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
            constraints.append({kind: f"{DRIVER}/model"})
        claims.append(claim(*requests, name=f"c{index}", constraints=constraints))
    return claims


def _request(random: Random, name: str) -> Object:
    if random.random() < 0.3:
        ways = [_details(random) for _ in range(2)]
        return first_of(
            name, *(alternative(f"w{place}", count, **more) for place, (count, more) in enumerate(ways))
        )
    count, fields = _details(random)
    return exactly(name, count, **fields)


def _details(random: Random) -> tuple[int | None, Object]:
    fields: Object = {}
    if random.random() < 0.4:
        fields["selectors"] = random.sample(SELECTORS, random.choice((1, 1, 2)))
    if random.random() < 0.3:
        fields["capacity"] = {"memory": str(random.choice((1, 3, 6, 9)))}
    return random.choice((1, 1, 2, 3, None)), fields


def fits(
    snapshot: Snapshot,
    claims: Iterable[Claim],
    released: Iterable[str] = (),
    only: str | None = None,
) -> bool:
    """Whether claims fit: kube-scheduler would place a pod with them on one of the nodes, or on this one.

    It looks at all of so few nodes, and an error on one of them ends the attempt.
    """
    cluster = SchedulingState(
        snapshot.features, snapshot.nodes.values(), snapshot.classes, snapshot.slices.values()
    )
    for held_claim in snapshot.claims.values():
        if held_claim.key not in set(released):
            cluster.hold(held_claim)
    answers = list(cluster.place(list(claims), Mode.ALL_NODES, UNLIMITED, only).nodes)
    return any(each.result is not None for each in answers) and all(
        each.error_kind != FATAL for each in answers
    )
