"""What an explanation says is true: its remedies help, its conflicts are conflicts, its steps add up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import pairwise

import pytest

from allocator.attempt import Attempt
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.errors import AllocationError
from allocator.explaining.conflicts import ALLOCATED, CONSTRAINT, REQUEST, Conflict, Member
from allocator.explaining.explanation import FITS, Explanation, explain
from allocator.explaining.finder import COUNT, RELEASE, TAINT, TOLERATION, Remedy
from allocator.explaining.snapshot import COUNTERS, GROUPS, ClusterContent, Snapshot
from allocator.explaining.steps import NodeView
from allocator.ledgers import Ledger
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.selection import Selectors
from allocator.time_limit import UNLIMITED
from resourceapi.manifests import key_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.explaining.scenarios import Scenario, fits, scenario

EXAMPLES = 30
Explained = tuple[Scenario, Snapshot, Explanation]


@cache
def explained(block: int) -> list[Explained]:
    """Some random scenarios with what is said about them."""
    found = []
    for seed in range(block * EXAMPLES, (block + 1) * EXAMPLES):
        asked = scenario(seed)
        snapshot = asked.snapshot()
        found.append(
            (asked, snapshot, explain(snapshot, [Claim(each) for each in asked.claims], time_limit=UNLIMITED))
        )
    return found


@pytest.mark.parametrize("block", range(5))
def test_verdicts(block: int) -> None:
    """The verdict is the allocator's."""
    for asked, snapshot, explanation in explained(block):
        assert (explanation.verdict == FITS) == fits(snapshot, [Claim(each) for each in asked.claims])


@pytest.mark.parametrize("block", range(5))
def test_conflicts(block: int) -> None:
    """What is called a conflict does not fit, and fits without any one member."""
    seen = 0
    for asked, snapshot, explanation in explained(block):
        for conflict in [each for each in (explanation.conflict, *explanation.conflicts) if each]:
            seen += 1
            assert not _fits(asked, snapshot, conflict, conflict.members)
            for gone in conflict.members:
                assert _fits(
                    asked, snapshot, conflict, [each for each in conflict.members if each is not gone]
                )
    assert seen > EXAMPLES // 4


def test_there_is_a_conflict() -> None:
    """Whatever does not fit has a conflict, unless an error (which may depend on what else is asked) ends the search."""
    for asked, snapshot, explanation in explained(7):
        if explanation.verdict not in (FITS, "error"):
            assert explanation.conflict is not None, (asked, snapshot)


def _fits(asked: Scenario, snapshot: Snapshot, conflict: Conflict, kept: Iterable[Member]) -> bool:
    """Whether only these demands can be met, in the snapshot that the conflict is about."""
    members = list(kept)
    claims = [_only(claim, index, members) for index, claim in enumerate(asked.claims)]
    released = set() if any(each.kind == ALLOCATED for each in members) else set(snapshot.claims)
    return fits(snapshot, [Claim(each) for each in claims], released, conflict.node or None)


def _only(claim: Object, index: int, members: list[Member]) -> Object:
    """The claim with nothing but these requests and constraints; constraints here are on all requests."""
    devices = claim["spec"]["devices"]
    places = {(each.kind, each.place) for each in members if each.claim == index}
    kept = {
        "requests": [each for place, each in enumerate(devices["requests"]) if (REQUEST, place) in places],
        "constraints": [
            each
            for place, each in enumerate(devices.get("constraints") or ())
            if (CONSTRAINT, place) in places
        ],
    }
    return {**claim, "spec": {"devices": kept}}


def test_clashes() -> None:
    """Where each request finds enough, what is said to be in the way is: without it, all of them fit."""
    seen = set()
    for asked, snapshot, explanation in (each for block in range(5) for each in explained(block)):
        for each in explanation.clashes:
            seen.add(each.kind in (COUNTERS, GROUPS))
            assert not fits(snapshot, [Claim(each) for each in asked.claims], only=each.node)
            if each.kind in (COUNTERS, GROUPS):
                slices = [_stripped(slice, each.kind) for slice in asked.slices]
                assert fits(
                    asked._replace(slices=slices).snapshot(),
                    [Claim(each) for each in asked.claims],
                    only=each.node,
                )
    assert seen == {True, False}


def _stripped(slice: Object, what: str) -> Object:
    """The slice without counters, or without compatibility groups."""
    devices = []
    for device in slice["spec"].get("devices") or ():
        entries = [] if what == COUNTERS else device.get("consumesCounters") or ()
        kept = [{name: each[name] for name in ("counterSet", "counters")} for each in entries]
        devices.append({**device, "consumesCounters": kept})
    return {**slice, "spec": {**slice["spec"], "devices": devices}} if devices else slice


@pytest.mark.parametrize("block", range(5))
def test_conflicts_agree_with_counts(block: int) -> None:
    """If one request cannot be met on a node, the report says what it lacks: devices, or what they share."""
    for _, _, explanation in explained(block):
        clashes = {each.node for each in explanation.clashes}
        counted = {kind.nodes[0]: kind for kind in explanation.kinds}
        for conflict in explanation.conflicts:
            requests = [each for each in conflict.members if each.kind == REQUEST]
            kind = counted[conflict.node]
            if len(conflict.members) == len(requests) == 1 and not kind.error:
                name = requests[0].name
                ways = [each for each in kind.requests if _is_way(each.alternative, name)]
                enough = [each for each in ways if each.left >= each.needed]
                assert not enough or conflict.node in clashes or explanation.errors, name


def _is_way(alternative: Alternative, name: str) -> bool:
    return f"{alternative.claim.name}:{alternative.main}" == name


@pytest.mark.parametrize("block", range(5))
def test_remedies(block: int) -> None:
    """What is said to help does, when the change is made by other means than those that found it."""
    kinds = set()
    for asked, snapshot, explanation in explained(block):
        for remedy in explanation.remedies:
            kinds.add(remedy.kind)
            assert _helps(asked, snapshot, remedy), remedy.text
    assert len(kinds) >= 3


def _helps(asked: Scenario, snapshot: Snapshot, remedy: Remedy) -> bool:
    variation = remedy.variation
    if remedy.kind == RELEASE:
        return fits(snapshot, [Claim(each) for each in asked.claims], remedy.subject.split(", "))
    if remedy.kind == TAINT:
        slices = [_untainted(slice, remedy.subject) for slice in asked.slices]
        return fits(asked._replace(slices=slices).snapshot(), [Claim(each) for each in asked.claims])
    if variation.features is not None:
        changed = Snapshot(
            variation.features,
            ClusterContent(asked.nodes, snapshot.classes, asked.slices, map(Claim, asked.holders)),
            time_limit=UNLIMITED,
        )
        return fits(changed, [Claim(each) for each in asked.claims])
    assert [each.asked.spelled() for each in variation.claims] != [
        Claim(each).asked.spelled() for each in asked.claims
    ]
    return fits(snapshot, variation.claims)


def _untainted(slice: Object, taint: str) -> Object:
    devices = [
        {
            **device,
            "taints": [each for each in device.get("taints") or () if f"{each['key']}=v:NoSchedule" != taint],
        }
        for device in slice["spec"].get("devices") or ()
    ]
    return {**slice, "spec": {**slice["spec"], "devices": devices}} if devices else slice


@pytest.mark.parametrize("block", range(3))
def test_counts_are_the_largest(block: int) -> None:
    """With one more than the count that is named it does not fit."""
    seen = 0
    for asked, snapshot, explanation in explained(block):
        for remedy in explanation.remedies:
            if remedy.kind == COUNT and "," not in remedy.subject:
                seen += 1
                assert isinstance(remedy.value, int)
                more = [_with_count(claim, remedy, remedy.value + 1) for claim in asked.claims]
                assert not fits(snapshot, [Claim(each) for each in more]), remedy.text
                less = [_with_count(claim, remedy, remedy.value) for claim in asked.claims]
                assert fits(snapshot, [Claim(each) for each in less]), remedy.text
    assert seen


def _with_count(claim: Object, remedy: Remedy, count: int) -> Object:
    name, _, request = remedy.subject.partition(":")
    if key_of(claim) != name:
        return claim
    main, _, sub = request.partition("/")
    requests = []
    for each in claim["spec"]["devices"]["requests"]:
        wanted = {"allocationMode": "ExactCount", "count": count}
        if each["name"] == main and not sub:
            each = {**each, "exactly": {**each["exactly"], **wanted}}
        elif each["name"] == main:
            subs = [
                {**other, **wanted} if other["name"] == sub else other for other in each["firstAvailable"]
            ]
            each = {**each, "firstAvailable": subs}
        requests.append(each)
    return {**claim, "spec": {"devices": {**claim["spec"]["devices"], "requests": requests}}}


def test_tolerations_name_their_taint() -> None:
    """Where tolerating a taint helps, its being gone helps as well."""
    seen = 0
    for _, _, explanation in (each for block in range(5) for each in explained(block)):
        tolerated = {each.subject for each in explanation.remedies if each.kind == TOLERATION}
        gone = {each.subject for each in explanation.remedies if each.kind == TAINT}
        seen += len(tolerated)
        assert tolerated == gone
    assert seen


@pytest.mark.parametrize("block", range(5))
def test_steps(block: int) -> None:
    """Steps follow from each other, and who passes all of them can be taken if nothing else is."""
    for asked, snapshot, _ in explained(block):
        for name in snapshot.nodes:
            view = NodeView(snapshot, name, SelectorOutcomes(UNLIMITED, UNLIMITED))
            for claim in snapshot.demand([Claim(each) for each in asked.claims], UNLIMITED):
                for request in claim.requests:
                    for alternative in request.alternatives:
                        steps, selected, left, _, _ = view.steps(alternative)
                        for before, after in pairwise(steps):
                            assert after.left == before.left - sum(
                                rejection.devices for rejection in after.rejected
                            )
                        assert steps[-1].left == len(left)
                        assert set(left) <= set(selected)
                        for device in view.devices():
                            assert (device in left) == _can_be_taken(snapshot, view, alternative, device)


def _can_be_taken(snapshot: Snapshot, view: NodeView, alternative: Alternative, device: Device) -> bool:
    attempt = Attempt(
        view.node,
        view.pools,
        snapshot.allocated,
        snapshot.features,
        Selectors(),
        UNLIMITED,
        lambda pool: Ledger(pool, snapshot.allocated),
    )
    try:
        return attempt.selects(alternative, device) and attempt.take(alternative, device, must=False)
    except AllocationError:
        return False
