"""Families of pods that are too large for brute force, described once for the allocator and for a constraint solver.

Each family is known to make a plain search explode: many alike devices, constraints that few combinations satisfy,
counters that must be packed tightly. Families can be combined: their requests then compete in one pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
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


@dataclass(frozen=True)
class Part:
    """A device with its attributes, and what it draws, by counter set and counter.

    One with `memory` is shared: so much of it can be given away.
    """

    name: str
    attributes: dict[str, int]
    draws: dict[str, dict[str, int]] = field(default_factory=dict)
    memory: int = 0


@dataclass(frozen=True)
class Option:
    """How many devices, which attributes they must have, and how much memory of each."""

    count: int = 1
    select: dict[str, int] = field(default_factory=dict)
    memory: int = 0


@dataclass(frozen=True)
class Request:
    name: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class Rule:
    """A constraint: on which attribute, whether values must be distinct, for which requests."""

    attribute: str
    distinct: bool
    requests: tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    requests: tuple[Request, ...]
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Scene:
    """Devices of a pool with its counters, and the claims of a pod."""

    parts: tuple[Part, ...]
    claims: tuple[Claim, ...]
    counters: dict[str, dict[str, int]] = field(default_factory=dict)


# --- families


def requests_of(count: int, select: dict[str, int] | None = None, name: str = "r") -> tuple[Request, ...]:
    return tuple(Request(f"{name}{number}", (Option(1, select or {}),)) for number in range(count))


def pigeonhole(size: int, missing: int = 1) -> Scene:
    """Identical devices, and more requests than devices."""
    parts = tuple(Part(f"d{number}", {}) for number in range(size))
    wanted = size + missing
    claims = tuple(Claim(requests_of(min(16, wanted - start))) for start in range(0, wanted, 16))
    return Scene(parts, claims)


def match(requests: int, candidates: int, last: bool) -> Scene:
    """One value for all requests; only the last candidates agree, or (not `last`) none do."""
    parts = []
    for owner in range(requests):
        for number in range(candidates):
            spot = number if owner < requests - 1 else candidates - 1 if last else candidates
            parts.append(Part(f"d{owner}-{number}", {"owner": owner, "spot": spot}))
    asked = tuple(Request(f"r{owner}", (Option(1, {"owner": owner}),)) for owner in range(requests))
    rule = Rule("spot", False, tuple(each.name for each in asked))
    return Scene(tuple(parts), (Claim(asked, (rule,)),))


def distinct(size: int, missing: int = 1) -> Scene:
    """Fewer values than devices that must differ."""
    values = size - missing
    parts = tuple(Part(f"d{number}", {"slot": number % values}) for number in range(2 * values))
    return Scene(parts, (Claim((Request("r", (Option(size),)),), (Rule("slot", True, ("r",)),)),))


def topology(roots: int, per_root: int, count: int, missing: int = 0) -> Scene:
    """Two kinds of devices on one root; only the last root has enough of both, or with `missing` not even that."""
    parts = []
    for root in range(roots):
        second = count - missing if root == roots - 1 else count - 1
        parts += [Part(f"g{root}-{number}", {"kind": 0, "root": root}) for number in range(per_root)]
        parts += [Part(f"n{root}-{number}", {"kind": 1, "root": root}) for number in range(second)]
    asked = (Request("g", (Option(count, {"kind": 0}),)), Request("n", (Option(count, {"kind": 1}),)))
    return Scene(tuple(parts), (Claim(asked, (Rule("root", False, ("g", "n")),)),))


def memory(parents: int, missing: int = 1) -> Scene:
    """Parts of three units on parents of eight: two fit on each."""
    parts = tuple(
        Part(f"p{parent}-{number}", {"parent": parent}, {f"set-{parent}": {"memory": 3}})
        for parent in range(parents)
        for number in range(4)
    )
    counters = {f"set-{parent}": {"memory": 8} for parent in range(parents)}
    wanted = 2 * parents + missing
    claims = tuple(Claim(requests_of(min(16, wanted - start))) for start in range(0, wanted, 16))
    return Scene(parts, claims, counters)


PROFILES = {7: ((0,), 8), 4: ((0,), 4), 3: ((0, 4), 4), 2: ((0, 2, 4), 2), 1: ((0, 1, 2, 3, 4, 5, 6), 1)}
"""Compute slices of a partition: where it may start, and how many slots of memory it takes."""

LAYOUTS = ((7,), (4, 3), (4, 2, 1), (3, 3), (2, 2, 2, 1), (1,) * 7, (3, 2, 1, 1), (4, 1, 1, 1))


def partitions(parents: int, random: Random, missing: int = 0) -> Scene:
    """Partitions that fill all parents exactly; with `missing` one more of the smallest."""
    parts = []
    for parent in range(parents):
        for profile in sorted(PROFILES):
            starts, width = PROFILES[profile]
            for start in starts:
                drawn = {"compute": profile} | {f"slot-{slot}": 1 for slot in range(start, start + width)}
                parts.append(
                    Part(f"p{parent}-{profile}-{start}", {"profile": profile}, {f"set-{parent}": drawn})
                )
    counters = {
        f"set-{parent}": {"compute": 7, **{f"slot-{slot}": 1 for slot in range(8)}}
        for parent in range(parents)
    }
    wanted = [profile for _ in range(parents) for profile in random.choice(LAYOUTS)] + [1] * missing
    random.shuffle(wanted)
    claims = [
        Claim(
            tuple(
                Request(f"r{number}", (Option(1, {"profile": profile}),))
                for number, profile in enumerate(wanted[start : start + 16])
            )
        )
        for start in range(0, len(wanted), 16)
    ]
    return Scene(tuple(parts), tuple(claims), counters)


def alternatives(requests: int, options: int, devices: int) -> Scene:
    """Requests with alternatives of one device, two and so on, and one more that cannot be served."""
    parts = tuple(Part(f"d{number}", {"kind": 0}) for number in range(devices))
    asked = tuple(
        Request(f"r{number}", tuple(Option(1 + option, {"kind": 0}) for option in range(options)))
        for number in range(requests)
    )
    return Scene(parts, (Claim((*asked, Request("last", (Option(1, {"kind": 1}),)))),))


def pairs(roots: int, claims: int) -> Scene:
    """Claims for a device of either kind on one root; roots have two of one kind and one of the other, in turns."""
    parts = []
    for root in range(roots):
        for kind in (0, 1):
            for number in range(2 if root % 2 == kind else 1):
                parts.append(Part(f"d{root}-{kind}-{number}", {"kind": kind, "root": root}))
    asked = (Request("a", (Option(1, {"kind": 0}),)), Request("b", (Option(1, {"kind": 1}),)))
    return Scene(tuple(parts), tuple(Claim(asked, (Rule("root", False, ("a", "b")),)) for _ in range(claims)))


def bins(count: int, missing: int = 1) -> Scene:
    """Shared devices with eight units of memory, of which three are wanted: two requests fit on each."""
    parts = tuple(Part(f"d{number}", {}, memory=8) for number in range(count))
    return Scene(parts, tuple(_in_claims([Option(memory=3)] * (2 * count + missing))))


def full_bins(count: int, missing: int = 0) -> Scene:
    """Shared devices that three sizes fill exactly if each gets one of each; the small ones come first."""
    parts = tuple(Part(f"d{number}", {}, memory=12) for number in range(count))
    options = [Option(memory=size) for size in (3, 4, 5) for _ in range(count)] + [Option(memory=1)] * missing
    return Scene(parts, tuple(_in_claims(options)))


def _in_claims(options: list[Option]) -> Iterable[Claim]:
    for start in range(0, len(options), 16):
        yield Claim(
            tuple(Request(f"r{n}", (option,)) for n, option in enumerate(options[start : start + 16]))
        )


def links(roots: int, missing: int = 1) -> Scene:
    """Claims for a device and a share of the one link beside it; a link bears one of them."""
    parts = []
    for root in range(roots):
        parts += [Part(f"g{root}-{number}", {"kind": 0, "root": root}) for number in range(2)]
        parts.append(Part(f"n{root}", {"kind": 1, "root": root}, memory=10))
    asked = (Request("g", (Option(1, {"kind": 0}),)), Request("n", (Option(1, {"kind": 1}, 6),)))
    return Scene(
        tuple(parts),
        tuple(Claim(asked, (Rule("root", False, ("g", "n")),)) for _ in range(roots + missing)),
    )


def levels(roots: int, claims: int) -> Scene:
    """Claims for two devices on one root and on one of two sides of it; each root has two of one side, one of the other."""
    parts = tuple(
        Part(f"d{root}-{number}", {"root": root, "side": number % 2})
        for root in range(roots)
        for number in range(3)
    )
    asked = requests_of(2)
    rules = tuple(Rule(name, False, ("r0", "r1")) for name in ("root", "side"))
    return Scene(parts, tuple(Claim(asked, rules) for _ in range(claims)))


def crossed(roots: int, models: int, missing: int = 1) -> Scene:
    """Three devices of one root and one model, wanted last; there are only two, but on the last root if none is `missing`.

    Those that come first could have any, of several sizes, so that hardly two devices are alike.
    """
    parts = []
    for root in range(roots):
        for model in range(models):
            last = root == roots - 1 and model == models - 1
            for number in range(3 if last and not missing else 2):
                values = {"root": root, "model": model, "size": (root * model + number) % 3}
                parts.append(Part(f"d{root}-{model}-{number}", values))
    free = tuple(Request(f"f{number}", (Option(1, {"size": number % 3}),)) for number in range(6))
    bound = (Request("x", (Option(1),)), Request("y", (Option(2),)))
    rules = tuple(Rule(name, False, ("x", "y")) for name in ("root", "model"))
    return Scene(tuple(parts), (Claim((*free, *bound), rules),))


# --- variations


def combined(*scenes: Scene) -> Scene:
    """All of them in one pod; devices of one are none for the others, unless its requests select nothing."""
    parts: list[Part] = []
    claims: list[Claim] = []
    counters: dict[str, dict[str, int]] = {}
    for number, scene in enumerate(scenes):
        sets = {name: f"s{number}-{name}" for name in scene.counters}
        counters |= {sets[name]: each for name, each in scene.counters.items()}
        for part in scene.parts:
            drawn = {sets[name]: each for name, each in part.draws.items()}
            attributes = {**part.attributes, "scene": number}
            parts.append(replace(part, name=f"s{number}-{part.name}", attributes=attributes, draws=drawn))
        for each in scene.claims:
            asked = tuple(
                replace(
                    request,
                    options=tuple(replace(w, select={**w.select, "scene": number}) for w in request.options),
                )
                for request in each.requests
            )
            claims.append(replace(each, requests=asked))
    return Scene(tuple(parts), tuple(claims), counters)


def renamed_and_permuted(scene: Scene, random: Random) -> Scene:
    """Devices with other names, in another order, and requests in another order."""
    names = list(range(len(scene.parts)))
    random.shuffle(names)
    parts = [replace(part, name=f"x{name}") for part, name in zip(scene.parts, names, strict=True)]
    parts.sort(key=lambda part: part.name)
    claims = [
        replace(each, requests=tuple(random.sample(each.requests, len(each.requests))))
        for each in scene.claims
    ]
    random.shuffle(claims)
    return replace(scene, parts=tuple(parts), claims=tuple(claims))


# --- as objects of the API


def slices_of(scene: Scene) -> list[Object]:
    devices = [
        device(
            part.name,
            attributes=dict(part.attributes),
            **({"consumesCounters": _draws(part)} if part.draws else {}),
            **(_shared(part.memory) if part.memory else {}),
        )
        for part in scene.parts
    ]
    sets = [
        {name: {counter: str(amount) for counter, amount in counters.items()}}
        for name, counters in scene.counters.items()
    ]
    count = len(sets) + 1
    return [
        slice_of(*devices, count=count),
        *(counter_slice(each, name=f"counters-{n}", count=count) for n, each in enumerate(sets)),
    ]


def _shared(memory: int) -> Object:
    capacity = {"value": str(memory), "requestPolicy": {"default": "1"}}
    return {"allowMultipleAllocations": True, "capacity": {"memory": capacity}}


def _draws(part: Part) -> list[Object]:
    return [
        draws(name, {counter: str(amount) for counter, amount in counters.items()})
        for name, counters in part.draws.items()
    ]


def claims_of(scene: Scene) -> list[Object]:
    return [_claim(each, f"c{number}") for number, each in enumerate(scene.claims)]


def _claim(described: Claim, name: str) -> Object:
    requests = []
    for request in described.requests:
        if len(request.options) == 1:
            option = request.options[0]
            requests.append(exactly(request.name, option.count, **_details(option)))
            continue
        options = (
            alternative(f"w{number}", option.count, **_details(option))
            for number, option in enumerate(request.options)
        )
        requests.append(first_of(request.name, *options))
    constraints = [
        {
            f"{'distinct' if rule.distinct else 'match'}Attribute": f"{DRIVER}/{rule.attribute}",
            "requests": list(rule.requests),
        }
        for rule in described.rules
    ]
    return claim(*requests, name=name, constraints=constraints)


def _details(option: Option) -> Object:
    return {
        "selectors": list(_selectors(option)),
        **({"capacity": {"memory": str(option.memory)}} if option.memory else {}),
    }


def _selectors(option: Option) -> Iterable[str]:
    own = f"device.attributes['{DRIVER}']"
    for name, value in option.select.items():
        yield f"'{name}' in {own} && {own}.{name} == {value}"
