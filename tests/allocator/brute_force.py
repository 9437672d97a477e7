"""A second, naive allocator: it tries all ways to serve a pod, and takes the first one that breaks no rule.

It works on plain descriptions, shares no code with the product, and checks whole sets of devices by what the rules mean
rather than what each device changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product


@dataclass(frozen=True)
class Part:
    """A device: what it draws from counter sets, with which groups; `model` is an attribute, None if it has none."""

    name: str
    model: int | None = None
    draws: dict[str, int] = field(default_factory=dict)
    groups: frozenset[str] = frozenset()
    tainted: bool = False
    #: None: not shared
    memory: int | None = None


@dataclass(frozen=True)
class Option:
    """One alternative of a request: `count` None asks for all devices."""

    name: str
    count: int | None = 1
    model: int | None = None
    tolerates: bool = False
    memory: int = 1


@dataclass(frozen=True)
class Request:
    """A request: one option is `exactly` (perhaps with admin access), several are `firstAvailable`."""

    name: str
    options: tuple[Option, ...]
    admin: bool = False


@dataclass(frozen=True)
class Claim:
    """A claim; `rule` is `match`, `distinct` or empty, and holds for the requests in `named` (all if it is empty)."""

    requests: tuple[Request, ...]
    rule: str = ""
    named: frozenset[str] = frozenset()


Pick = tuple[int, Request, Option, Part]
"""Index of the claim, request, option, and a device for it."""


def first_solution(
    parts: Sequence[Part], counters: dict[str, int], held: Sequence[str], claims: Sequence[Claim]
) -> list[str] | None:
    """`claim request/option device` for each device, in order; None if nothing fits."""
    requests = [(index, request) for index, claim in enumerate(claims) for request in claim.requests]
    choices = [list(_ways(parts, index, request)) for index, request in requests]

    def extend(picks: list[Pick], place: int) -> list[Pick] | None:
        if not breaks_no_rule(picks, parts, counters, held, claims):
            return None  # no rule that some picks break can hold once there are more of them
        if place == len(choices):
            return picks
        return next(
            (found for option in choices[place] if (found := extend([*picks, *option], place + 1))), None
        )

    if not all(choices):
        return None
    found = extend([], 0)
    return None if found is None else _described(found)


def first_of_all(
    parts: Sequence[Part], counters: dict[str, int], held: Sequence[str], claims: Sequence[Claim]
) -> list[str] | None:
    """The same without pruning: only whole solutions are checked."""
    requests = [(index, request) for index, claim in enumerate(claims) for request in claim.requests]
    for choice in product(*(list(_ways(parts, index, request)) for index, request in requests)):
        picks = [pick for part in choice for pick in part]
        if breaks_no_rule(picks, parts, counters, held, claims):
            return _described(picks)
    return None


def _described(picks: Sequence[Pick]) -> list[str]:
    return [f"{index} {_name(request, option)} {part.name}" for index, request, option, part in picks]


def _name(request: Request, option: Option) -> str:
    return request.name if len(request.options) == 1 else f"{request.name}/{option.name}"


def _ways(parts: Sequence[Part], index: int, request: Request) -> Iterator[list[Pick]]:
    for option in request.options:
        fitting = [part for part in parts if option.model is None or part.model == option.model]
        if option.count is None:
            fitting = [part for part in fitting if part.memory is None or option.memory <= part.memory]
            if fitting:
                yield [(index, request, option, part) for part in fitting]
            continue
        for devices in combinations(fitting, option.count):
            yield [(index, request, option, part) for part in devices]


def breaks_no_rule(
    picks: Sequence[Pick],
    parts: Sequence[Part],
    counters: dict[str, int],
    held: Sequence[str],
    claims: Sequence[Claim],
) -> bool:
    return (
        all(option.tolerates or not part.tainted for _, _, option, part in picks)
        and _unshared_once(picks, held)
        and _memory_suffices(picks)
        and _counters_suffice(picks, parts, counters, held)
        and _groups_agree(picks, parts, held)
        and all(_rule_holds(claim, index, picks) for index, claim in enumerate(claims))
        and all(sum(pick[0] == index for pick in picks) <= 32 for index in range(len(claims)))
    )


def _unshared_once(picks: Sequence[Pick], held: Sequence[str]) -> bool:
    """Whether a device may be allocated again: with admin access, if the claim itself does not have it."""
    for place, (index, request, _, part) in enumerate(picks):
        earlier = [pick for pick in picks[:place] if pick[3] is part]
        if part.memory is None and any(not request.admin or pick[0] == index for pick in earlier):
            return False
        if part.name in held and not request.admin:
            return False
    return True


def _memory_suffices(picks: Sequence[Pick]) -> bool:
    used: dict[str, int] = {}
    for _, _, option, part in picks:
        if part.memory is not None:
            used[part.name] = used.get(part.name, 0) + option.memory
    return all(used.get(part.name, 0) <= part.memory for _, _, _, part in picks if part.memory is not None)


def _drawing(picks: Sequence[Pick], parts: Sequence[Part], held: Sequence[str]) -> list[Part]:
    """All devices that draw from counters: held ones, shared ones once, others as often as they are taken."""
    taken = [pick[3] for pick in picks]
    once = [
        part
        for place, part in enumerate(taken)
        if part.memory is None or (part not in taken[:place] and part.name not in held)
    ]
    return [part for part in parts if part.name in held] + once


def _counters_suffice(
    picks: Sequence[Pick], parts: Sequence[Part], counters: dict[str, int], held: Sequence[str]
) -> bool:
    if not any(part.draws for _, _, _, part in picks):
        return True
    drawing = _drawing(picks, parts, held)
    return all(
        sum(part.draws.get(name, 0) for part in drawing) <= available for name, available in counters.items()
    )


def _groups_agree(picks: Sequence[Pick], parts: Sequence[Part], held: Sequence[str]) -> bool:
    drawing = _drawing(picks, parts, held)
    for name in {name for _, _, _, part in picks for name in part.draws}:
        groups = [part.groups for part in drawing if name in part.draws]
        if any(groups) and not frozenset.intersection(*groups):
            return False
    return True


def _rule_holds(claim: Claim, index: int, picks: Sequence[Pick]) -> bool:
    if not claim.rule:
        return True
    models = [
        part.model
        for of, request, option, part in picks
        if of == index
        and (not claim.named or request.name in claim.named or _name(request, option) in claim.named)
    ]
    if None in models:
        return False
    return len(set(models)) == len(models) if claim.rule == "distinct" else len(set(models)) <= 1
