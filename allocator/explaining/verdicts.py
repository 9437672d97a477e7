"""Which rules cost devices, how many, and for which reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from allocator.devices import Device

POOL, NODE, GATE, CLASS, SELECTOR, TAINT, ALLOCATED, CAPACITY, COUNTER, GROUP, ATTRIBUTE, OPERATION = (
    "pool",
    "node",
    "gate",
    "class",
    "selector",
    "taint",
    "allocated",
    "capacity",
    "counters",
    "groups",
    "attribute",
    "operations",
)
#: These say which devices are asked for; what comes after says which of them can be had.
SELECTING = (POOL, NODE, GATE, CLASS, SELECTOR)


class Loss(NamedTuple):
    """Why devices drop out: `devices` of them, the first being `example`, for a reason; `claims` hold what is missing."""

    reason: str
    devices: int
    example: str = ""
    claims: tuple[str, ...] = ()


class Step(NamedTuple):
    """A rule that costs devices: `left` pass it. `about`: the expression, class, constraint, … that it is about.

    `failed`: of the devices that drop out, those on which a selector fails rather than gives false.
    """

    rule: str
    about: str
    left: int
    lost: tuple[Loss, ...]
    failed: int = 0
    missing: str = ""


class Verdict(NamedTuple):
    """Why a device drops out."""

    reason: str
    claims: tuple[str, ...] = ()
    missing: str = ""
    failed: bool = False


Judge = Callable[[Device], Verdict | None]


def named(claims: Sequence[str]) -> str:
    """`claim a/b`, `claims a/b, c/d and 4 more`."""
    if not claims:
        return "a claim that is not known"
    shown = ", ".join(claims[:3])
    more = f" and {len(claims) - 3} more" if len(claims) > 3 else ""
    return f"claim{'s' if len(claims) > 1 else ''} {shown}{more}"


class Judged(NamedTuple):
    """The step of a rule, the devices that pass it, and those on which it fails."""

    step: Step
    left: list[Device]
    failing: list[Device]


def judged(rule: str, about: str, judge: Judge, devices: Sequence[Device]) -> Judged:
    """Asks a rule about devices."""
    left: list[Device] = []
    failing: list[Device] = []
    lost: dict[tuple[str, tuple[str, ...]], list[Device]] = {}
    missing = ""
    for device in devices:
        verdict = judge(device)
        if verdict is None:
            left.append(device)
            continue
        lost.setdefault((verdict.reason, verdict.claims), []).append(device)
        if verdict.failed:
            failing.append(device)
        missing = missing or verdict.missing
    losses = tuple(
        Loss(reason, len(members), str(members[0].id), claims) for (reason, claims), members in lost.items()
    )
    return Judged(Step(rule, about, len(left), losses, len(failing), missing), left, failing)
