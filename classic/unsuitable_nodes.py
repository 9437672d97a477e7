"""``status.resourceClaims`` of a PodSchedulingContext: the nodes for which claims cannot be allocated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from classic.driver import ClaimAllocation
from resourceapi import limits
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object

#: All names of nodes together: a part of what API servers accept for an object (1.5 MiB), as other drivers write there, too.
MOST_CHARACTERS = 256 * 1024


def nodes_to_check(context: Object) -> list[str]:
    """The potential nodes; the selected one is added if the scheduler has not listed it."""
    spec = mapping(context, "spec")
    nodes = [node for node in entries(spec, "potentialNodes") if isinstance(node, str)]
    selected = text(spec, "selectedNode")
    return nodes if not selected or selected in nodes else [*nodes, selected]


def reported(unsuitable: Iterable[str], checked: Sequence[str], selected_node: str) -> list[str]:
    """What the API server is told of a driver's answer: the nodes that were asked about, once each, and not too many.

    Of too many the last ones are told, and the selected one in any case: the scheduler must not select it again.
    """
    asked = frozenset(checked)
    nodes = [node for node in dict.fromkeys(unsuitable) if node in asked]
    kept = nodes[-limits.CLASSIC_NODES_PER_LIST :]
    if selected_node in nodes and selected_node not in kept:
        kept = [selected_node, *kept[1:]]
    return kept


def with_unsuitable_nodes(
    context: Object, claims: Iterable[tuple[str, ClaimAllocation]], checked: Sequence[str]
) -> Object | None:
    """The context with what a driver says of its claims; None if it says that already.

    :param claims: with the name that the pod has for each.
    """
    selected = text(mapping(context, "spec"), "selectedNode")
    before = entries(mapping(context, "status"), "resourceClaims")
    after = {text(entry, "name"): entry for entry in before}
    nodes_of = {name: reported(claim.unsuitable_nodes, checked, selected) for name, claim in claims}
    for name, nodes in _fitting(nodes_of).items():
        if name not in after or entries(after[name], "unsuitableNodes") != nodes:
            after[name] = {"name": name, **({"unsuitableNodes": nodes} if nodes else {})}
    if list(after.values()) == before:
        return None
    return {**context, "status": {**mapping(context, "status"), "resourceClaims": list(after.values())}}


def _fitting(nodes_of: dict[str, list[str]]) -> dict[str, list[str]]:
    """The nodes of each claim; of too many, each node once: the scheduler avoids nodes that do not suit any of the claims."""
    if sum(len(node) for nodes in nodes_of.values() for node in nodes) <= MOST_CHARACTERS:
        return nodes_of
    told: set[str] = set()
    fitting = {}
    for name, nodes in nodes_of.items():
        fitting[name] = [node for node in nodes if node not in told]
        told.update(nodes)
    return fitting
