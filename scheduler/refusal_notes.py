"""Why a pod was refused, and what would make it fit, in one line: what ``claimcheck explain`` says, put short.

Events are read by tenants, who may not see other namespaces, nor list slices and classes: so no values of devices are
told, no lists of names, and nothing of others but how many they are (:mod:`allocator.explaining.for_tenants`).

It is found on a few nodes, one of each reason first, so that it takes no longer in a large cluster; and while a filter needs
the picture, the search waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from time import thread_time
from typing import NamedTuple

from allocator.devices import Slice
from allocator.explaining import for_tenants, in_words
from allocator.explaining.explanation import ERROR, MISFIT, UNDECIDED, PodContext, explain
from allocator.explaining.snapshot import ClusterContent, Snapshot
from allocator.node_fit import NO_POD, PodOnNode
from allocator.pod_claims import CLAIM_SUFFIX, ClaimsOnNode
from allocator.time_limit import OutOfTime, TimeLimit
from resourceapi.node_selection import selects
from resourceapi.records.claims import Allocation, Claim
from resourceapi.records.nodes import Node
from resourceapi.records.pods import Pod
from resourceapi.records.pools import PoolId
from scheduler.cluster_picture import ClusterPicture
from scheduler.filtering import Refused
from scheduler.pod_claims import ClaimProblem, claims_for

#: Of so many nodes an explanation is made.
MOST_NODES = 20
#: How much computing time an explanation may take.
SECONDS = 0.5
#: Why nodes are left out of an explanation: it is about those that were refused.
NOT_REFUSED = "not in question"


class Case(NamedTuple):
    """A refusal as far as it is to be explained.

    :param nodes: some of those that were refused.
    :param refused: how many there were.
    :param made: the claim for extended resources that the pod needs on all of `nodes`.
    :param on_node: the pod as nodes see it beside its claims.
    """

    pod: Pod
    nodes: tuple[str, ...]
    refused: int
    made: Claim | None = None
    on_node: PodOnNode = NO_POD


def case_of(refused: Refused) -> Case:
    """A refusal without what is large about it."""
    verdicts = refused.verdicts
    by_reason: dict[str, list[str]] = {}
    for node, reason in chain(verdicts.failed.items(), verdicts.beyond_preemption.items()):
        alike = by_reason.setdefault(reason, [])
        if len(alike) < MOST_NODES:
            alike.append(node)
    turns = chain.from_iterable(zip_longest(*by_reason.values()))
    sample = tuple(islice((node for node in turns if node is not None), MOST_NODES))
    needed = [refused.needs.by_node.get(node) for node in sample]
    first = needed[0] if needed else None
    if first is None or first.is_made:
        return Case(refused.pod, sample, len(refused.candidates.nodes), on_node=refused.on_node)
    same = tuple(node for node, each in zip(sample, needed, strict=True) if each is first)
    named = first.claim.named(f"{refused.pod.name}{CLAIM_SUFFIX}")
    return Case(refused.pod, same, len(refused.candidates.nodes), named, refused.on_node)


def note_on(case: Case, picture: ClusterPicture, seconds: float = SECONDS) -> str:
    """Why the pod does not fit as things are now; empty if it does by now, or that was not found in time."""
    with picture.lock:
        try:
            claims = claims_for(case.pod, picture.claims)
        except ClaimProblem as problem:
            return str(problem)
        if case.made is not None:
            claims.append(case.made)
        seen = _Seen.of(case, picture)
        on_node = case.on_node
        if on_node is not NO_POD:
            on_node = on_node._replace(resources=picture.room.resources.of(case.nodes))

    def clock() -> float:
        with picture.lock:  # held while a filter is answered
            return thread_time()

    limit = TimeLimit(seconds, clock)
    try:
        snapshot = seen.snapshot(picture, claims, limit)
    except OutOfTime:
        return for_tenants.no_time(case.pod.namespace, case.pod.name)
    others = {name: (NOT_REFUSED,) for name in snapshot.nodes if name not in case.nodes}
    explanation = explain(snapshot, claims, limit, PodContext(others, full=others, on_node=on_node))
    if explanation.verdict in (MISFIT, ERROR) or explanation.refusal:
        nodes = in_words.Nodes(case.refused, len(seen.all_nodes) > case.refused)
        return for_tenants.in_one_line(explanation, case.pod.namespace, case.pod.name, nodes)
    if explanation.verdict == UNDECIDED and not explanation.complete:
        return for_tenants.no_time(case.pod.namespace, case.pod.name)
    return ""


class _Seen(NamedTuple):
    """What matters on some nodes; of claims, all of them, since copying the mapping takes least time.

    :param all_nodes: these and all others.
    :param assumed: the claims whose allocations are being written, with these.
    :param held: what claims hold.
    """

    nodes: Sequence[Node]
    all_nodes: Sequence[Node]
    pools: frozenset[PoolId]
    slices: Sequence[Slice]
    claims: Mapping[str, Claim]
    assumed: Mapping[str, Claim]
    held: Mapping[str, Allocation]

    @classmethod
    def of(cls, case: Case, picture: ClusterPicture) -> _Seen:
        """Look at the nodes; for those who hold the picture's lock."""
        state = picture.state
        known = [name for name in case.nodes if name in state.nodes]
        pools = {slice.pool for name in known for slice in state.inventory.candidates(name)}
        held = dict(state.held)
        for key in picture.group_devices.kept_from(case.pod):  # filter does not count them for the pod
            held.pop(key, None)
        slices = {slice.name for pool in pools for slice in state.inventory.of_pool(pool)}
        return cls(
            [state.nodes[name] for name in known],
            list(state.nodes.values()),
            frozenset(pools),
            [picture.slices.objects[name].slice for name in sorted(slices) if name in picture.slices.objects],
            dict(picture.claim_objects.objects),
            picture.claims.with_assumed(),
            held,
        )

    def snapshot(self, picture: ClusterPicture, claims: Sequence[Claim], limit: TimeLimit) -> Snapshot:
        """The same, as an explanation needs it.

        :param claims: those of the pod; the nodes for which they have devices are there as well.
        """
        pods = picture.pods.objects
        return Snapshot(
            picture.features,
            ClusterContent(
                [*self.nodes, *_nodes_of(claims, self.all_nodes, limit)],
                dict(picture.classes.objects),
                [each.as_object() for each in self.slices],
                self._here(),
                list(picture.rules.objects.values()),
                list(picture.patches.objects.values()),
            ),
            time_limit=limit,
            owner_of=lambda key: (*pod.owner, 0) if (pod := pods.get(key)) and pod.owner else None,
        )

    def _here(self) -> Iterator[Claim]:
        """The claims that hold devices of these pools."""
        known = {**self.claims, **self.assumed}
        for key, claim in known.items():
            held = self.held.get(key)
            if held is not None and any(each.device[:2] in self.pools for each in held.results):
                yield claim.for_a_moment()


def _nodes_of(claims: Sequence[Claim], nodes: Sequence[Node], limit: TimeLimit) -> Iterator[Node]:
    """Those of some nodes for which claims have devices.

    :raises OutOfTime: if the time is over before a node: selectors may have tens of thousands of requirements.
    """
    selectors = ClaimsOnNode.of(claims).selectors
    for node in nodes if selectors else ():
        limit.check()
        if any(selects(each, node) for each in selectors):
            yield node
