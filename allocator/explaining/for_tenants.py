"""Explanations for tenants: who runs a pod may be allowed to read neither ResourceSlices nor what is in other namespaces.

So they are told no values of devices, only that less would do, and which compatibility groups are in the way; no taints of devices and
nodes, and no labels of nodes; of ResourceSlicePatches only those that have given what the claim itself asks about; and of the claims of
other namespaces only how many they are. Remedies have words of their own for them (:class:`allocator.words.Words`), or are not told.
Events are written in these words. Who asks by ``claimcheck explain`` has read all of it with rights of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from allocator.explaining import in_words
from allocator.explaining.explanation import MISFIT, Explanation
from allocator.explaining.finder import Remedy
from allocator.words import for_all

#: So many causes and changes are named in an event.
MOST_CAUSES, MOST_REMEDIES = 2, 3


def in_one_line(
    explanation: Explanation, namespace: str, name: str, nodes: in_words.Nodes | None = None
) -> str:
    """Why a pod fits on no node, and what would help, for an event.

    :param namespace: that of the pod.
    :param name: that of the pod.
    :param nodes: the nodes of the cluster, if the explanation is about some of the eligible ones only.
    """
    causes = list(islice(in_words.findings(explanation, listing=False), MOST_CAUSES))
    if not causes and explanation.verdict == MISFIT and not explanation.refusal:
        causes = list(_lacks(explanation)) or list(_conflict(explanation))
    causes += list(dict.fromkeys(groups_in_the_way(explanation)))[:MOST_CAUSES]
    causes += islice(
        in_words.patched(
            (each for kind in explanation.kinds for each in kind.patched_for_claims), in_words.MAX_PATCHES
        ),
        MOST_CAUSES,
    )
    found = list(islice(in_words.remedies(list(remedies(explanation))), MOST_REMEDIES))
    if found:
        causes.append(f"it would fit {', or '.join(found)}")
    elif explanation.never:
        causes.append("as it is, it would not fit even if no device were in use")
    if not explanation.complete:
        causes.append(f"there was no time to find out more: {_ask(namespace, name)}")
    return "; ".join([in_words.verdict(explanation, nodes, listing=False), *causes]).replace("?; ", "? ")


def no_time(namespace: str, name: str) -> str:
    """That it is not known why a pod fits on no node."""
    return f"there was no time to find out whether it fits: {_ask(namespace, name)}"


def too_large(namespace: str, name: str) -> str:
    """That it is not looked at why a pod fits on no node."""
    return f"it is not looked at, as the pod or its PodGroup or claims are too large: {_ask(namespace, name)}"


def _ask(namespace: str, name: str) -> str:
    """The command that has more time."""
    return f"ask `claimcheck explain pod/{name} -n {namespace}`"


def _lacks(explanation: Explanation) -> Iterator[str]:
    """What the closest node lacks beside devices; not how much of it others have."""
    closest = explanation.kinds[0] if explanation.kinds else None
    if closest is not None and closest.lacks:
        answer = next(each for each in explanation.answers if each.node == closest.nodes[0])
        reasons = " and ".join([each.reason for each in answer.shortages])
        yield f"{reasons} with the devices of its claims" if reasons else closest.lacks


def _conflict(explanation: Explanation) -> Iterator[str]:
    """What cannot be met together; that alone says little where there is a plainer cause."""
    if explanation.conflict is not None:
        members = ", ".join(each.text for each in explanation.conflict.members)
        yield f"conflict: {members}: {in_words.what_cannot_be(explanation.conflict, 'on any node')}"


def remedies(explanation: Explanation) -> Iterator[Remedy]:
    """The remedies that have words for tenants, in these; those that read the same become one."""
    found: dict[str, Remedy] = {}
    for remedy in explanation.remedies:
        words = remedy.words
        if not words.for_tenants:
            continue
        same = found.get(words.for_tenants)
        nodes = (*same.nodes, *remedy.nodes) if same else remedy.nodes
        found[words.for_tenants] = remedy._replace(
            words=for_all(words.for_tenants),
            nodes=tuple(dict.fromkeys(nodes)),
            short=remedy.short if words.for_tenants == words.text else "",
        )
    yield from found.values()


def groups_in_the_way(explanation: Explanation) -> Iterator[str]:
    """Which compatibility groups do not go together, of the devices that a request finds and those that are in use."""
    for kind in explanation.kinds:
        for request in kind.short:
            causes = (cause for step in request.steps for each in step.rejected for cause in each.causes)
            where = f"request {request.alternative.name} of claim {request.alternative.claim.name}"
            yield from (
                f"compatibility groups: {where} finds {cause.for_tenants}"
                for cause in causes
                if cause.for_tenants
            )
    yield from (each.for_tenants for each in explanation.clashes if each.for_tenants)
