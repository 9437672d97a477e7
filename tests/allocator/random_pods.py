"""Random small pods that are hard for their size: tight counters, identical devices, constraints across requests."""

from __future__ import annotations

from random import Random

from resourceapi.objects import Object
from tests.allocator.objects import (
    DRIVER,
    alternative,
    claim,
    counter_slice,
    device,
    draws,
    exactly,
    first_of,
    slice_of,
)

ATTRIBUTES = (f"{DRIVER}/numa", f"{DRIVER}/root", f"{DRIVER}/links")


def random_pod(random: Random) -> tuple[list[Object], list[str], list[Object]]:
    """Slices, names of devices that are held, and the claims of a pod."""
    parents = random.randint(1, 4)
    partitioned = random.random() < 0.5
    devices, sets = [], {}
    for parent in range(parents):
        parts = random.choice(([1, 1, 1], [1, 2, 2], [1, 1, 2, 3], [2, 2], [1, 1], [3, 1]))
        if partitioned:
            size = random.choice((2, 3, 4, 5, 6, 8))
            sets[f"set-{parent}"] = {"memory": str(size), "slot-0": "1", "slot-1": "1"}
        for number, width in enumerate(parts):
            devices.append(_device(random, parent, number, width, partitioned))
    if random.random() < 0.2:
        random.shuffle(devices)
    slices = [slice_of(*devices, count=2 if sets else 1)]
    if sets:
        slices.append(counter_slice(sets))
    held = [
        each["name"]
        for each in devices
        if random.random() < 0.08 and not each.get("allowMultipleAllocations")
    ]
    claims = [_claim(random, f"c{number}") for number in range(random.choice((1, 1, 1, 1, 2, 3)))]
    return slices, held, claims


def _device(random: Random, parent: int, number: int, width: int, partitioned: bool) -> Object:
    fields: Object = {"attributes": {"size": width}}
    if random.random() < 0.9:
        fields["attributes"]["numa"] = random.choice((parent, parent, parent % 2))
    if random.random() < 0.9:
        fields["attributes"]["root"] = f"r{parent}" if random.random() < 0.7 else f"r{random.randint(0, 2)}"
    if random.random() < 0.6:
        fields["attributes"]["links"] = {"strings": sorted(random.sample("abc", random.randint(1, 2)))}
    if partitioned and random.random() < 0.9:
        amounts = {"memory": str(width)}
        if random.random() < 0.4:
            amounts[f"slot-{number % 2}"] = "1"
        groups = random.choice(([], ["x"], ["x", "y"], ["y"])) if random.random() < 0.25 else []
        fields["consumesCounters"] = [draws(f"set-{parent}", amounts, groups)]
    if random.random() < 0.12:
        fields |= {
            "allowMultipleAllocations": True,
            "capacity": {"memory": {"value": str(random.choice((2, 3)))}},
        }
    if random.random() < 0.05:
        fields["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    return device(f"d{parent}-{number}", **fields)


def _claim(random: Random, name: str) -> Object:
    names = [f"r{number}" for number in range(random.choice((1, 2, 2, 3, 3, 4)))]
    requests = [_request(random, each) for each in names]
    constraints = []
    names += [f"{each['name']}/{way['name']}" for each in requests for way in each.get("firstAvailable", ())]
    for _ in range(random.choice((0, 0, 1, 1, 1, 2))):
        kind = random.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
        bound = random.sample(names, random.randint(1, len(names))) if random.random() < 0.4 else []
        constraints.append({kind: random.choice(ATTRIBUTES), "requests": bound})
    return claim(*requests, name=name, constraints=constraints)


def _request(random: Random, name: str) -> Object:
    if random.random() < 0.3:
        counts = (1, 2, 3, 3, None) if random.random() < 0.3 else (1, 1, 2, 3)
        ways = range(random.choice((2, 2, 3)))
        return first_of(
            name, *(alternative(f"a{n}", random.choice(counts), **_details(random)) for n in ways)
        )
    request = exactly(name, random.choice((1, 1, 1, 1, 2, 2, 3)), **_details(random))
    if random.random() < 0.05:
        request["exactly"]["adminAccess"] = True
    return request


def _details(random: Random) -> Object:
    details: Object = {}
    own = f"device.attributes['{DRIVER}']"
    if random.random() < 0.4:
        details["selectors"] = [f"{own}.size == {random.randint(1, 3)}"]
    elif random.random() < 0.08:
        details["selectors"] = [f"{own}.numa < 2"]  # an error where there is no such attribute
    if random.random() < 0.15:
        details["capacity"] = {"memory": "1"}
    if random.random() < 0.2:
        details["tolerations"] = [{"operator": "Exists"}]
    return details


def random_pod_with_shared_devices(random: Random) -> tuple[list[Object], list[str], list[Object]]:
    """The same with shared devices, many of them identical: requests of several sizes, capacities that just suffice."""
    size = random.choice((4, 5, 6, 10))
    policy: Object = {"default": "1"}
    if random.random() < 0.4:
        policy["validRange"] = {"min": "1", "max": str(size), "step": random.choice("12")}
    devices = [_shared(random, number, size, policy) for number in range(random.randint(1, 5))]
    if random.random() < 0.3:
        devices.append(device("x", attributes={"size": 0}, capacity={"memory": {"value": "4"}}))
    if random.random() < 0.4:
        random.shuffle(devices)
    drawing = any("consumesCounters" in each for each in devices)
    slices = [slice_of(*devices, count=2 if drawing else 1)]
    if drawing:
        slices.append(counter_slice({"set": {"memory": str(random.randint(1, 4))}}))
    claims = [_claim_of_shares(random, f"c{number}", size) for number in range(random.choice((1, 1, 2, 3)))]
    return slices, [], claims


def _shared(random: Random, number: int, size: int, policy: Object) -> Object:
    memory: Object = {"value": str(size if random.random() < 0.8 else size - 1)}
    if random.random() < 0.8:
        memory["requestPolicy"] = policy
    capacity: Object = {"memory": memory}
    if random.random() < 0.15:
        capacity["band"] = {"value": str(random.choice((2, 3))), "requestPolicy": {"default": "1"}}
    fields: Object = {"attributes": {"numa": number % 2, "root": f"r{number // 2}", "size": number % 2}}
    if random.random() < 0.1:
        fields["consumesCounters"] = [draws("set", {"memory": "1"}, [])]
    return device(f"d{number}", allowMultipleAllocations=random.random() < 0.95, capacity=capacity, **fields)


def _claim_of_shares(random: Random, name: str, size: int) -> Object:
    names = [f"r{number}" for number in range(random.randint(1, 5))]
    requests = [_request_of_shares(random, each, size) for each in names]
    constraints = []
    if random.random() < 0.35:
        kind = random.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
        bound = random.sample(names, random.randint(1, len(names)))
        constraints.append({kind: random.choice(ATTRIBUTES[:2]), "requests": bound})
    return claim(*requests, name=name, constraints=constraints)


def _request_of_shares(random: Random, name: str, size: int) -> Object:
    def asked() -> Object:
        details: Object = {}
        if random.random() < 0.85:
            details["capacity"] = {
                "memory": random.choice(("1", "1500m", "2", "3", str(size // 2), str(size)))
            }
        if random.random() < 0.08:
            details["capacity"] = {"band": "2"}
        if random.random() < 0.45:
            details["selectors"] = [f"device.attributes['{DRIVER}'].size == {random.randint(0, 1)}"]
        return details

    if random.random() < 0.45:
        return first_of(
            name, *(alternative(f"a{n}", random.choice((1, 1, 1, 2)), **asked()) for n in range(2))
        )
    return exactly(name, random.choice((1, 1, 1, 2)), **asked())
