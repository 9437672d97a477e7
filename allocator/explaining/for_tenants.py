"""Remedies for tenants: who runs a pod may be allowed to read neither ResourceSlices nor what is in other namespaces.

So they are told no values of devices, only that less would do, and which compatibility groups are in the way; and of the claims of other namespaces only how many they are.
Events are written in these words. Who asks by ``claimcheck explain`` has read all of it with rights of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from allocator.explaining.explanation import Explanation
from allocator.explaining.finder import RELEASE, Remedy
from allocator.explaining.holders import Holder, released
from resourceapi.counting import number


def for_tenants(remedies: Sequence[Remedy], users: Mapping[str, Holder], namespace: str) -> Iterator[Remedy]:
    """The remedies in words for the tenants of a namespace; those that read the same become one.

    :param users: who uses the claims that could be released.
    """
    found: dict[str, Remedy] = {}
    for remedy in remedies:
        shown = _shown(remedy, users, namespace)
        same = found.get(shown.text)
        nodes = dict.fromkeys((*same.nodes, *shown.nodes)) if same else shown.nodes
        found[shown.text] = shown._replace(nodes=tuple(nodes))
    yield from found.values()


def groups_in_the_way(explanation: Explanation) -> Iterator[str]:
    """Which compatibility groups do not go together, of the devices that a request finds and those that are in use."""
    for kind in explanation.kinds:
        for request in kind.requests:
            if request.left < request.needed:
                causes = (cause for step in request.steps for each in step.rejected for cause in each.causes)
                where = f"request {request.alternative.name} of claim {request.alternative.claim.name}"
                yield from (
                    f"compatibility groups: {where} finds {cause.for_tenants}"
                    for cause in causes
                    if cause.for_tenants
                )
    yield from (each.for_tenants for each in explanation.clashes if each.for_tenants)


def _shown(remedy: Remedy, users: Mapping[str, Holder], namespace: str) -> Remedy:
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
