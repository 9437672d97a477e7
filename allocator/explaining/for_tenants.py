"""Explanations for tenants: who runs a pod may be allowed to read neither ResourceSlices nor what is in other namespaces.

So they are told no values of devices, only that less would do, and which compatibility groups are in the way; of ResourceSlicePatches
only those that have given what the claim itself asks about; and of the claims of other namespaces only how many they are.
Events are written in these words. Who asks by ``claimcheck explain`` has read all of it with rights of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from allocator.demand import Alternative
from allocator.explaining import in_words
from allocator.explaining.explanation import MISFIT, Explanation
from allocator.explaining.finder import PATCH, RELEASE, Remedy
from allocator.explaining.holders import Holder, released
from allocator.explaining.patched_values import PatchedValue
from allocator.explaining.steps import Step
from allocator.rules.capacity import Capacity
from allocator.rules.constraints import Constraints
from allocator.rules.selectors import RequestSelectors
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.phrases import number

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
        causes = list(_conflict(explanation))
    causes += list(dict.fromkeys(groups_in_the_way(explanation)))[:MOST_CAUSES]
    causes += islice(
        in_words.patched(patched_values_in_claims(explanation), in_words.MAX_PATCHES), MOST_CAUSES
    )
    found = list(islice(in_words.remedies(list(remedies(explanation, namespace))), MOST_REMEDIES))
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


def _ask(namespace: str, name: str) -> str:
    """The command that has more time."""
    return f"ask `claimcheck explain pod/{name} -n {namespace}`"


def _conflict(explanation: Explanation) -> Iterator[str]:
    """What cannot be met together; that alone says little where there is a plainer cause."""
    if explanation.conflict is not None:
        members = ", ".join(each.text for each in explanation.conflict.members)
        yield f"conflict: {members}: {in_words.what_cannot_be(explanation.conflict, 'on any node')}"


def remedies(explanation: Explanation, namespace: str) -> Iterator[Remedy]:
    """The remedies in words for the tenants of a namespace; those that read the same become one."""
    named = {each.patch for each in patched_values_in_claims(explanation)}
    found: dict[str, Remedy] = {}
    for remedy in explanation.remedies:
        shown = _shown(remedy, explanation.claim_users, namespace, named)
        same = found.get(shown.text)
        nodes = dict.fromkeys((*same.nodes, *shown.nodes)) if same else shown.nodes
        found[shown.text] = shown._replace(nodes=tuple(nodes))
    yield from found.values()


def patched_values_in_claims(explanation: Explanation) -> Iterator[PatchedValue]:
    """What patches have given of that for which the claims themselves refuse devices, rather than a class or the devices."""
    for kind in explanation.kinds:
        for request in kind.short:
            for step in request.steps:
                yield from _named_in_claim(step, request.alternative)
        for check in kind.constraint_checks:
            yield from check.patched


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


def _named_in_claim(step: Step, alternative: Alternative) -> Iterator[PatchedValue]:
    if step.rule in (RequestSelectors.name, Constraints.name):
        yield from step.patched
    elif step.rule == Capacity.name:
        for each in step.patched:
            if any(f"/{each.name}".endswith(f"/{name}") for name in alternative.capacity):
                yield each


def _shown(remedy: Remedy, users: Mapping[str, Holder], namespace: str, named: Collection[str]) -> Remedy:
    """A remedy as tenants may read it.

    :param named: the patches that they may know.
    """
    if remedy.kind == PATCH and remedy.subject not in named:
        return remedy._replace(text=f"if an administrator deleted a {RESOURCE_SLICE_PATCH.name}")
    if remedy.kind != RELEASE:
        return remedy._replace(text=remedy.without_values or remedy.text)
    holders = [users[name] for name in sorted(remedy.variation.released or ())]
    own = [each for each in holders if each.claim.startswith(f"{namespace}/")]
    if len(own) == len(holders):
        return remedy
    others = _others(len(holders) - len(own))
    parts = [released(own), others] if own else [others]
    return remedy._replace(text=f"if {', and if '.join(parts)}", short="")


def _others(count: int) -> str:
    whose = "another namespace" if count == 1 else "other namespaces"
    return f"{number(count, 'claim')} of {whose} were released"
