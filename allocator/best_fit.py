"""The objective `best-fit`: of the ways to serve a pod the one that wastes least, never with worse alternatives.

kube-scheduler takes the first solution (first-fit). Here some more are looked at: on each kind of node the search runs
again with devices in other orders, those first whose loss costs least (`allocator.fitting.waste`), and for pods that want
several devices also with one counter set or topology group after the other in front. Rank comes before waste: KEP-4816
adds up how far down the lists the chosen alternatives are; a solution is only considered if that sum is not larger than
that of first-fit, and if no alternative is worse before one is better. First-fit's own solution is always among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allocator.allocated import AllocatedState
from allocator.allocation import Allocator, Arrangement
from allocator.attempt_state import Taken
from allocator.demand import ClaimContents, ClaimDemand, Content
from allocator.devices import Device
from allocator.errors import AllocationError, NodeError
from allocator.fitting.waste import NodeWaste, Waste, Worths
from allocator.ledgers import PoolState
from allocator.nodes import NodeEntry, Nodes
from allocator.plans import Outcome, Plan, Plans, Solution, picks_of
from allocator.results import ResultTemplate
from allocator.time_limit import TimeLimit

#: So many counter sets or topology groups are tried as the first one at most.
MAX_GROUPS = 8
#: Searches for one pod beside first-fit's own on each kind of node; then those have to do.
MAX_SEARCHES = 1_000

Rank = tuple[int, tuple[int, ...]]
"""How far down the lists the alternatives are, all together and request by request."""


class Proposal(Outcome):
    """An outcome with what it is worth."""

    __slots__ = ("rank", "waste")

    def __init__(self, templates: tuple[ResultTemplate, ...], rank: Rank, waste: Waste) -> None:
        super().__init__(templates)
        self.rank = rank
        self.waste = waste


class BestPlans(Plans):
    """Plans that are served with as little waste as possible."""

    def __init__(
        self, allocator: Allocator, nodes: Nodes, contents: ClaimContents, allocated: AllocatedState
    ) -> None:
        super().__init__(allocator, nodes, contents)
        self._allocated = allocated
        self._left = MAX_SEARCHES
        self._worths = Worths()

    def begin(self) -> None:
        """Another pod is asked for."""
        self._left = MAX_SEARCHES

    def _dropped(self, key: tuple[Content, ...]) -> None:
        super()._dropped(key)
        if not self._plans:
            self._worths = Worths()

    def _find(self, plan: Plan, entry: NodeEntry, time_limit: TimeLimit) -> Outcome:
        states = self._nodes.view_of(entry).states()
        first = self._first(plan, entry, states, time_limit)
        if isinstance(first, Outcome):
            return first
        waste = NodeWaste(states, self._allocated, _attributes(plan.demand), self._worths, time_limit)
        limit = rank_of(plan.demand, first)
        best = first
        key = (limit, waste.of(_flat(first)))
        for arrange in _arrangements(waste, sum(map(len, first))):
            if self._left <= 0:
                break
            self._left -= 1
            found = self._again(entry, states, plan.demand, time_limit, arrange)
            if found is None or not is_within(rank_of(plan.demand, found), limit):
                continue
            other = (rank_of(plan.demand, found), waste.of(_flat(found)))
            if other < key:
                best, key = found, other
        return Proposal(self._templates(plan, best, picks_of(states, best)), *key)

    def _again(
        self,
        entry: NodeEntry,
        states: Sequence[PoolState],
        demand: list[ClaimDemand],
        time_limit: TimeLimit,
        arrange: Arrangement,
    ) -> Solution | None:
        """A search in another order may take too long, or meet an error that the first did not reach."""
        try:
            return self._search(entry, states, demand, time_limit, arrange)
        except (AllocationError, NodeError):
            return None


def rank_of(demand: Sequence[ClaimDemand], solution: Solution) -> Rank:
    """The rank of a solution."""
    places = []
    for claim, taken in zip(demand, solution, strict=True):
        served = {each.alternative.main: each.alternative for each in taken}
        for request in claim.requests:
            if len(request.alternatives) > 1:
                chosen = served.get(request.name)
                places.append(request.alternatives.index(chosen) if chosen is not None else 0)
    return sum(places), tuple(places)


def is_within(rank: Rank, limit: Rank) -> bool:
    """Whether a rank is not worse, neither in sum nor in the first request that is served otherwise."""
    return rank[0] <= limit[0] and rank[1] <= limit[1]


def _flat(solution: Solution) -> list[Taken]:
    return [each for taken in solution for each in taken]


def _attributes(demand: Sequence[ClaimDemand]) -> list[str]:
    return [each.attribute for claim in demand for each in claim.constraints if not each.distinct]


def _arrangements(waste: NodeWaste, devices: int) -> Iterator[Arrangement]:
    """Orders of devices to try: those first that cost least, and with several to find, one group in front of all."""
    costs: dict[Device, Waste] = {}

    def by_cost(candidates: list[Device]) -> list[Device]:
        for device in candidates:
            costs[device] = waste.of_device(device)
        return sorted(candidates, key=costs.__getitem__)

    yield by_cost
    if devices > 1:
        for group in _groups(waste, costs):
            yield lambda candidates, group=group: sorted(  # type: ignore[misc]
                candidates, key=lambda device: (group not in waste.groups_of(device), costs[device])
            )


def _groups(waste: NodeWaste, costs: dict[Device, Waste]) -> list[object]:
    """Groups to begin with: those whose devices cost least, of several that look alike the first."""
    members: dict[object, list[Waste]] = {}
    for device, cost in costs.items():
        for group in waste.groups_of(device):
            members.setdefault(group, []).append(cost)
    alike: dict[tuple[Waste, ...], object] = {}
    for group, wastes in members.items():
        alike.setdefault(tuple(sorted(wastes)), group)
    return [alike[wastes] for wastes in sorted(alike)][:MAX_GROUPS]
