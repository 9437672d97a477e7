"""The part of the report of ``claimcheck explain`` about what would help: changes, and who holds the devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from allocator.explaining import in_words
from allocator.explaining.explanation import Explanation, NodeKind
from allocator.explaining.holders import held_by
from resourceapi.phrases import number

if TYPE_CHECKING:
    from cluster.workloads import Workload

#: Kinds of nodes that are shown.
MAX_KINDS = 4


def remedies(explanation: Explanation, what: str = "it") -> Iterator[str]:
    """Changes that would make the pod fit, or that none has been found.

    :param what: what would fit.
    """
    if explanation.remedies:
        yield f"  {what} would fit:"
        yield from (f"    - {each}" for each in in_words.remedies(explanation.remedies))
    elif explanation.complete:
        yield f"  no single change that was tried makes {'it' if what == 'it' else 'any of them'} fit"
    if explanation.never:
        yield "  as it is, it would not fit even if no device were in use"
    if not explanation.complete:
        yield "  the search for changes stopped at its time limit"


def templates(explanation: Explanation, workload: Workload) -> Iterator[str]:
    """Where to change what remedies change in claims from templates: the spec of a claim that exists is immutable."""
    for index, claim in enumerate(workload.claims):
        template = workload.templates.get(claim.key)
        if template and any(
            changed.devices != claim.devices
            for remedy in explanation.remedies
            for changed in remedy.variation.claims[index : index + 1]
        ):
            yield f"  claim {claim.key} comes from template {template}: change it there, and create the pod anew"


def later(explanation: Explanation | None) -> Iterator[str]:
    """What would be in the way on nodes that are not eligible now."""
    if explanation is not None:
        first, *others = in_words.causes(explanation)
        yield f"  also, once nodes are eligible that are not now: {first}"
        yield from (f"    {line}" for line in others)


def holders(explanation: Explanation) -> Iterator[str]:
    """Who holds what it lacks, on the nodes that lack the fewest devices: `on n0 and 3 nodes like it: claim team/a`."""
    if explanation.never:
        return
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
            yield f"on {like(kind)}: {held_by(list(claims), explanation.claim_users)}"


def like(kind: NodeKind) -> str:
    """The nodes of a kind: `n0`, `n0 and 3 nodes like it`."""
    more = len(kind.nodes) - 1
    return f"{kind.nodes[0]} and {number(more, 'node')} like it" if more else kind.nodes[0]
