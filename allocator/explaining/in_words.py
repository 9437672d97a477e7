"""Parts of an explanation as sentences, for reports and for events about pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from allocator.answers import NodeAnswer
from allocator.explaining.absent_names import AbsentName
from allocator.explaining.conflicts import REQUEST, Conflict
from allocator.explaining.explanation import CHANCE, ERROR, MAX_KINDS, MISFIT, UNDECIDED, Explanation
from allocator.explaining.finder import RELEASE, Remedy
from allocator.explaining.patched_values import PatchedValue
from allocator.explaining.steps import INCOMPLETE
from deviceselectors.spelling import MAX_WRONG
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.phrases import nearest, number, plural

#: Names that are listed in a sentence, and requests or claims that get a sentence each.
MAX_NAMES, MAX_REQUESTS = 6, 3
#: Causes for which a request loses devices.
MAX_REJECTIONS = 3
#: Mistakes that are told.
MAX_MISTAKES = 4
#: Patches that are named.
MAX_PATCHES = 3


class Nodes(NamedTuple):
    """How many nodes are eligible, and whether there are others."""

    eligible: int
    others: bool


def verdict(explanation: Explanation, nodes: Nodes | None = None, listing: bool = True) -> str:
    """The answer in a sentence about a pod that is not surely placed.

    :param nodes: the nodes of the cluster, if the explanation is about some of the eligible ones only.
    :param listing: False for events, which begin as :func:`headline` does but for three things that are left out: what is
        :func:`in_the_way`, a mistake that is not :attr:`~allocator.explaining.mistakes.Mistake.for_tenants`, and the names of
        devices and pools in an error (:attr:`~allocator.answers.NodeAnswer.unnamed`).
    """
    error = explanation.error
    if said := _said(explanation, listing):
        return f"{_outcome(explanation, nodes)}: {said}"
    if explanation.verdict == ERROR and error is not None:
        return f"cannot be scheduled because of {_failure(error, listing)}"
    if explanation.verdict == CHANCE and error is not None:
        return f"fits, but attempts can fail because of {_failure(error, listing)}"
    if explanation.verdict == UNDECIDED:
        return "not decided within the time limit"
    if explanation.refusal:
        return f"cannot be scheduled: {explanation.refusal}"
    return _outcome(explanation, nodes) if explanation.answers else "does not fit: no node is eligible"


def _failure(error: NodeAnswer, listing: bool, effect: str = "") -> str:
    return f"an error on {error.node}{effect}: {error.error if listing else error.unnamed}"


def _said(explanation: Explanation, listing: bool) -> str:
    """The mistake that the verdict tells."""
    if explanation.verdict not in (MISFIT, ERROR) or not explanation.mistakes:
        return ""
    first = explanation.mistakes[0]
    is_said = (listing or first.for_tenants) and (first.refuses or not explanation.refusal)
    return str(first) if is_said else ""


def _outcome(explanation: Explanation, nodes: Nodes | None) -> str:
    """That a pod is not placed, without a reason."""
    if explanation.verdict == ERROR or explanation.refusal:
        return "cannot be scheduled"
    if not explanation.answers:
        return "does not fit"
    count, others = nodes or (len(explanation.answers), bool(explanation.excluded))
    eligible = "eligible " if others else ""
    where = explanation.answers[0].node if count == 1 else f"any of the {count:,} {eligible}nodes"
    return f"does not fit on {where}"


def headline(explanation: Explanation) -> str:
    """The verdict with what is in the way on the closest node, if it does not say that."""
    said = verdict(explanation)
    cause = in_the_way(explanation)
    if not cause:
        return said
    joint = ":" if said == _outcome(explanation, None) else "" if said.endswith("?") else ";"
    return f"{said}{joint} {cause}"


def in_the_way(explanation: Explanation) -> str:
    """What most of the devices that the closest node lacks are refused for, or why no node is eligible.

    Beside a mistake that the verdict tells, only the patches that have given what devices have instead.
    """
    if explanation.refusal:
        return ""
    if _said(explanation, listing=True):
        closest_kind = explanation.kinds[:1] if explanation.verdict == MISFIT else ()
        return next(patched((each for kind in closest_kind for each in kind.patched), MAX_PATCHES), "")
    if explanation.verdict == ERROR and explanation.error is not None:
        failing = explanation.error.node
        patches = (each for kind in explanation.kinds if failing in kind.nodes for each in kind.patched)
        return next(patched(patches, MAX_PATCHES), "")
    if explanation.verdict != MISFIT:
        return ""
    everywhere = _in_the_way_everywhere(explanation)
    if everywhere:
        return everywhere
    if not explanation.kinds:
        reasons = set(explanation.excluded.values())
        return reasons.pop() if len(reasons) == 1 else ""
    closest = explanation.kinds[0]
    where = f" on {closest.nodes[0]}" if len(explanation.answers) > 1 else ""
    if closest.lacks:
        return f"{where and f'{where.strip()}, '}{closest.lacks}"
    few = ""
    for request in closest.short:
        name, claim = request.alternative.name, request.alternative.claim.name
        of_claim = f" of claim {claim}" if len(explanation.demand) > 1 else ""
        finds = (
            f"request {name}{of_claim} finds {request.left:,} of {number(request.needed, 'device')}{where}"
        )
        step = next((each for each in request.steps if each.left < request.needed and each.rejected), None)
        if step is not None:
            why = max(step.rejected, key=lambda each: each.devices).said(explanation.claim_users)
            by = next(patched(step.patched, MAX_PATCHES), "")
            return f"{finds}: {why}{by and f' ({by})'}"
        few = few or finds
    return next((each.text for each in explanation.clashes if each.node == closest.nodes[0]), few)


def _in_the_way_everywhere(explanation: Explanation) -> str:
    """What no node can change: a claim that has devices elsewhere, a constraint on an attribute that no device has."""
    constraints = [each for each in explanation.absent_names if each.constraint is not None]
    return next(chain(away(explanation), _absent_names(constraints, listing=True)), "")


def findings(explanation: Explanation, listing: bool = True) -> Iterator[str]:
    """What is wrong whatever the nodes have, beside what the verdict says: claims that are elsewhere, what is misspelt.

    :param listing: whether names and values that there are may be told, for readers of ResourceSlices and classes.
    """
    said = _said(explanation, listing)
    if said and explanation.error is not None:
        yield _failure(explanation.error, listing, " fails each attempt")
    mistakes = explanation.mistakes[:MAX_MISTAKES] if listing else ()
    in_headline = in_the_way(explanation) if listing else ""
    for line in chain(
        away(explanation),
        unknown_classes(explanation, listing),
        absent_names(explanation, listing),
        map(str, mistakes),
    ):
        if line not in (said, in_headline):
            yield line
    if listing:
        yield from _incomplete_pools(explanation)


def _incomplete_pools(explanation: Explanation) -> Iterator[str]:
    """What to do about pools of the closest nodes that lack slices, which nothing in the pod can change."""
    nodes = [
        node
        for kind in explanation.kinds[:MAX_KINDS]
        if kind.requests
        and any(
            cause.text == INCOMPLETE for each in kind.requests[0].steps[0].rejected for cause in each.causes
        )
        for node in kind.nodes
    ]
    if nodes:
        yield (
            f"wait until the driver has published all slices of the incomplete pool{'s' if len(nodes) > 1 else ''}; "
            f"if that lasts, look at the driver's pod on {_listed(nodes)}"
        )


def causes(explanation: Explanation) -> Iterator[str]:
    """Why a pod fits on no node: the headline, what is wrong on all nodes, and what the closest one lacks."""
    yield headline(explanation)
    yield from findings(explanation)
    yield from summary(explanation)
    for request in explanation.kinds[0].short if explanation.kinds else ():
        lost = [each for step in request.steps for each in step.rejected if each.devices]
        for each in sorted(lost, key=lambda each: -each.devices)[:MAX_REJECTIONS]:
            yield f"  -{each.devices:,} {each.reason or 'in use'}"


def summary(explanation: Explanation) -> Iterator[str]:
    """How many devices of the eligible nodes match each request, and what the closest node lacks."""
    several = len(explanation.demand) > 1
    eligible = " on eligible nodes" if explanation.excluded else ""
    for total in explanation.totals:
        claim = f"{total.alternative.claim.name}:" if several else ""
        yield (
            f"{claim}{total.alternative.name}: {total.selected:,} of {number(total.devices, 'device')}{eligible} "
            f"{'matches' if 1 in (total.selected, total.devices) else 'match'}, {total.left:,} available"
            + (f"; a selector fails with an error on {total.failing:,}" if total.failing else "")
        )
    if explanation.kinds:
        closest = explanation.kinds[0]
        short = [
            f"{f'{request.alternative.claim.name}:' if several else ''}{request.alternative.name} finds "
            f"{request.left:,} of {number(request.needed, 'device')}"
            for request in closest.short
        ]
        if short and any(request.steps[0].left for request in closest.requests):
            yield f"closest node: {closest.nodes[0]}, where {'; '.join(short)}"
        elif not short and explanation.verdict == MISFIT and not (closest.error or closest.lacks):
            yield from _clashes(explanation)


def _clashes(explanation: Explanation) -> Iterator[str]:
    """Why the closest node does not serve everything, although it has enough devices for each request."""
    closest = explanation.kinds[0]
    if len(closest.requests) == 1:
        yield f"on {closest.nodes[0]}, each of these devices could be taken, but not enough of them together"
    else:
        yield "each request finds enough devices by itself, but not all requests together"
    yield from (f"  on {each.node}: {each.text}" for each in explanation.clashes)


def away(explanation: Explanation) -> Iterator[str]:
    """The claims of the pod that have devices elsewhere already."""
    for each in explanation.away:
        if not each.nodes:
            where = "for a node that does not exist"
        elif len(each.nodes) == 1:
            where = f"on {each.nodes[0]}"
        else:
            where = f"for {each.nodes[0]} and {number(len(each.nodes) - 1, 'other node')}"
        yield f"claim {each.holder.claim} is allocated {where} ({each.holder.used_by})"


def unknown_classes(explanation: Explanation, listing: bool = True) -> Iterator[str]:
    """The DeviceClasses that there are not.

    :param listing: whether those that exist are listed if none has a similar name, for readers who may list them.
    """
    known = list(explanation.classes)
    for place, name in enumerate(explanation.unknown_classes):
        meant = nearest(name, known) if place < MAX_WRONG else ""
        instead = f"existing classes: {_listed(known) or 'none'}" if listing else ""
        if meant:
            instead = f"did you mean {meant}?"
        yield f"there is no DeviceClass {name}{instead and f'; {instead}'}"


def absent_names(explanation: Explanation, listing: bool = True) -> Iterator[str]:
    """The attributes and capacities that no device has.

    :param listing: whether those that devices have are listed if none has a similar name, for readers of ResourceSlices.
    """
    return _absent_names(explanation.absent_names, listing)


def _absent_names(names: Iterable[AbsentName], listing: bool) -> Iterator[str]:
    for each in names:
        known = _listed(each.listed) if listing else ""
        instead = f"; did you mean {each.meant}?" if each.meant else f"; they have {known}" if known else ""
        where = f"which {each.place} of claim {each.claim} names"
        yield f"no device ({each.devices:,} looked at) has the {each.kind} {each.qualified}, {where}{instead}"
        for patch, failure in each.idle_patches[:MAX_PATCHES]:
            why = str(failure) if failure is not None and listing else "applies to no device"
            yield f"{RESOURCE_SLICE_PATCH.name} {patch} would give it, but {why}"


def patched(values: Iterable[PatchedValue], most: int | None = None) -> Iterator[str]:
    """Which patches have given, or removed, what devices are refused for.

    :param most: so many patches are named of each value.
    """
    by_value: dict[tuple[str, bool], dict[str, None]] = {}
    for each in values:
        by_value.setdefault((each.name, each.removed), {})[each.patch] = None
    for (name, removed), found in by_value.items():
        patches = list(found)
        kind = RESOURCE_SLICE_PATCH.name if len(patches) == 1 else plural(RESOURCE_SLICE_PATCH.name)
        more = ", …" if most is not None and len(patches) > most else ""
        yield f"{name} {'is removed by' if removed else 'comes from'} {kind} {', '.join(patches[:most])}{more}"


def what_cannot_be(conflict: Conflict, nowhere: str) -> str:
    """What makes it a conflict: it is minimal, so that without any one member the others can be met."""
    if len(conflict.members) == 1:
        return f"this cannot be met {nowhere}"
    others = "other" if len(conflict.members) == 2 else "others"
    if conflict.despite_held:
        return f"these cannot be met together {nowhere}, even if no other claim held devices; without one of them the {others} could be met then"
    return f"these cannot be met together {nowhere}, but without any one of them the {others} can"


def remedies(remedies: Sequence[Remedy]) -> Iterator[str]:
    """Each completes the sentence "it would fit …".

    If there are many, requests that could be left out share a sentence, and so do claims to release.
    """
    groups = [[each for each in remedies if each.kind == kind and each.short] for kind in (REQUEST, RELEASE)]
    shared = [group for group in groups if len(group) > MAX_REQUESTS]
    for remedy in remedies:
        group = next((each for each in shared if remedy in each), None)
        if group is None:
            yield f"{remedy.text} ({_on(remedy.nodes)})"
        elif remedy is group[0]:
            what = "without one of these requests" if remedy.kind == REQUEST else "if one of these ended"
            yield f"{what}: {', '.join(f'{each.short} ({_on(each.nodes)})' for each in group)}"


def _on(nodes: Sequence[str]) -> str:
    return f"on {nodes[0]}" if len(nodes) == 1 else f"on {len(nodes)} nodes, such as {nodes[0]}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")
