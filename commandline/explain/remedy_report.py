"""The part of the report of ``claimcheck explain`` about what would help: changes, and who holds the devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allocator.explaining.conflicts import REQUEST
from allocator.explaining.explanation import Explanation, NodeKind
from allocator.explaining.finder import RELEASE, Remedy
from allocator.explaining.holders import held_by
from resourceapi.counting import number

#: Nodes that are shown, and requests or claims that get a line each.
MAX_KINDS, MAX_REQUESTS = 4, 3


def remedies(explanation: Explanation) -> Iterator[str]:
    """Changes that would make the pod fit, or that none has been found."""
    if explanation.remedies:
        yield "  it would fit:"
        yield from _each_remedy(explanation.remedies)
    elif explanation.complete:
        yield "  no single change that was tried makes it fit"
    if explanation.never:
        yield "  as it is, it would not fit even if no device were in use"
    if not explanation.complete:
        yield "  the search for changes stopped at its time limit"


def holders(explanation: Explanation) -> Iterator[str]:
    """Who holds what it lacks, on the nodes that lack the fewest devices."""
    if explanation.never:
        return
    found = []
    for kind in explanation.kinds[:MAX_KINDS]:
        claims = {
            claim: None
            for request in kind.requests
            if request.left < request.needed
            for step in request.steps
            for rejection in step.rejected
            for claim in rejection.claims
            if claim not in explanation.spared
        }
        if claims:
            found.append(f"    on {like(kind)}: {held_by(list(claims), explanation.claim_users)}")
    if found:
        yield "  who holds devices that it needs:"
        yield from found


def _each_remedy(remedies: Sequence[Remedy]) -> Iterator[str]:
    """One line each; if there are many, requests that could be left out share one, and so do claims to release."""
    groups = [[each for each in remedies if each.kind == kind and each.short] for kind in (REQUEST, RELEASE)]
    shared = [group for group in groups if len(group) > MAX_REQUESTS]
    for remedy in remedies:
        group = next((each for each in shared if remedy in each), None)
        if group is None:
            yield f"    - {remedy.text} ({_on(remedy.nodes)})"
        elif remedy is group[0]:
            what = "without one of these requests" if remedy.kind == REQUEST else "if one of these ended"
            yield f"    - {what}: {', '.join(f'{each.short} ({_on(each.nodes)})' for each in group)}"


def _on(nodes: Sequence[str]) -> str:
    return f"on {nodes[0]}" if len(nodes) == 1 else f"on {len(nodes)} nodes, such as {nodes[0]}"


def like(kind: NodeKind) -> str:
    """The nodes of a kind: `n0`, `n0 and 3 nodes like it`."""
    more = len(kind.nodes) - 1
    return f"{kind.nodes[0]} and {number(more, 'node')} like it" if more else kind.nodes[0]
