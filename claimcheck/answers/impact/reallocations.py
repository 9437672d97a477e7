"""Which allocated claims would not get their devices again."""

from __future__ import annotations

from collections.abc import Iterable

from allocator.attempt import Attempt
from allocator.explaining.reallocation import Refused, refused_again
from allocator.pools import Pool, pools_of
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.time_limit import TimeLimit
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from resourceapi.node_selection import selects
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from resourceapi.records.pools import PoolId


class Reallocations:
    """Asks whether claims could be allocated to their devices as the cluster is now."""

    def __init__(self, devices: ClusterDevices, limit: TimeLimit) -> None:
        """`limit`: how long all questions may take."""
        self._limit = limit
        self._cluster = devices.cluster
        self._inventory = devices.inventory
        self._features = devices.state.features
        self._outcomes = SelectorOutcomes(limit, limit, self._features.minor)
        self._pools: dict[str, list[Pool]] = {}

    def refused(self, claims: Iterable[Claim]) -> list[tuple[Claim, Refused]]:
        """Those of allocated claims that could not, each with the first device that it would not get.

        :raises OutOfTime: if the time is over before all have been looked at.
        """
        found = ((claim, self._refused(claim)) for claim in claims)
        return [(claim, refused) for claim, refused in found if refused is not None]

    def _refused(self, claim: Claim) -> Refused | None:
        node = self._node(claim)
        if node is None:
            return None
        with self._cluster.without([claim.key]):
            attempt = Attempt(
                node,
                self._pools_of(node),
                self._cluster.allocated,
                self._features,
                self._outcomes.selectors,
                self._limit,
            )
            demand = self._cluster.demand([claim], self._limit)[0]
            return refused_again(attempt, self._outcomes, demand, claim)

    def _pools_of(self, node: Node) -> list[Pool]:
        found = self._pools.get(node.name)
        if found is None:
            found = self._pools[node.name] = pools_of(self._inventory, node, self._features)
        return found

    def _node(self, claim: Claim) -> Node | None:
        """The first node from which all devices of the claim can be used."""
        selector = None if claim.allocation is None else claim.allocation.node_selector
        named = {
            slice.node_name
            for result in claim.results
            for slice in self._inventory.of_pool(PoolId(*result.device[:2]))
        }
        nodes = self._cluster.nodes
        known = [nodes[name] for name in named if name in nodes] if len(named) == 1 else []
        for node in known or nodes.values():
            self._limit.check()  # selectors may have tens of thousands of requirements
            if selector is None or selects(selector, node):
                return node
        return None
