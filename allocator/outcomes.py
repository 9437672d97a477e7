"""How nodes serve the claims of a pod, node by node."""

from __future__ import annotations

from allocator.errors import AWAY, FATAL, NODE
from allocator.node_fit import NO_POD, PodOnNode
from allocator.nodes import NodeClass, NodeEntry, Nodes
from allocator.plans import FatalOutcome, Outcome, Plan, Plans
from allocator.pod_claims import ClaimsOnNode, PodClaims
from allocator.shared_pools import SharedPools
from allocator.time_limit import TimeLimit

AWAY_OUTCOME = Outcome(error=AWAY, error_kind=NODE)


class _Asked:
    """The plan for claims, and the outcomes so far by class of nodes."""

    __slots__ = ("outcomes", "plan")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.outcomes: dict[NodeClass, Outcome] = {}


class Outcomes:
    """The outcomes for one pod, in the present state of the cluster."""

    def __init__(
        self,
        nodes: Nodes,
        plans: Plans,
        pod: PodClaims,
        time_limit: TimeLimit,
        on_node: PodOnNode = NO_POD,
        *,
        filters: bool = True,
    ) -> None:
        """Ask no node yet.

        :param on_node: the pod as nodes see it beside its claims.
        :param filters: whether errors count on nodes, too, where an allocated claim is not available, as with kube-scheduler.
        """
        self._nodes = nodes
        self._plans = plans
        self._pod = pod
        self._on_node = on_node
        self._time_limit = time_limit
        self._filters = filters
        self._devices_take_of_nodes = nodes.devices_take_of_nodes
        self._asked: dict[int, _Asked] = {}
        #: what nodes share that have been asked
        self.shared: set[SharedPools] = set()

    def on(self, entry: NodeEntry) -> Outcome:
        """The outcome on a node.

        :raises OutOfTime: if the time is over.
        """
        pod = self._pod
        claims = pod.on.get(entry.name, pod.elsewhere) if pod.on else pod.elsewhere
        is_away = False
        if claims.choose_nodes:
            self._time_limit.check()  # as of the slices below
            is_away = claims.is_away_from(entry.node)
            if is_away and not (self._filters and claims.unallocated):
                return AWAY_OUTCOME
        what = self._asked.get(id(claims)) or self._ask(claims)
        node_class = entry.node_class or self._class_of(entry)
        outcome = what.outcomes.get(node_class) or self._find(what, claims, entry, node_class)
        if is_away:
            return outcome if outcome.error_kind == FATAL else AWAY_OUTCOME
        if self._devices_take_of_nodes and outcome.fits:
            return fitted(self._on_node, claims, entry, outcome)
        return outcome

    def _ask(self, claims: ClaimsOnNode) -> _Asked:
        what = self._asked[id(claims)] = _Asked(self._plans.plan(claims.unallocated, self._time_limit))
        return what

    def _class_of(self, entry: NodeEntry) -> NodeClass:
        self._time_limit.check()  # slices may select nodes with thousands of requirements
        return self._nodes.class_of(entry)

    def _find(self, what: _Asked, claims: ClaimsOnNode, entry: NodeEntry, node_class: NodeClass) -> Outcome:
        outcome = self._plans.known(what.plan, entry, node_class)
        if outcome is None:
            self._time_limit.check()
            outcome = self._plans.search(what.plan, entry, node_class, self._time_limit)
        if isinstance(outcome, FatalOutcome):
            outcome = outcome.of(claims.unallocated)
        what.outcomes[node_class] = outcome
        assert entry.view is not None
        self.shared.add(entry.view.layout.shared)
        return outcome


def fitted(on_node: PodOnNode, claims: ClaimsOnNode, entry: NodeEntry, outcome: Outcome) -> Outcome:
    """An outcome that fits, or why it does not after all, as the node lacks what the devices take of it."""
    view = entry.view
    assert view is not None
    pools = [state.pool.devices for state in view.states()]
    held = [
        claim.allocated(template.result(pools, view.selector, str))
        for claim, template in zip(claims.unallocated, outcome.templates or (), strict=True)
    ]
    return on_node.refusal(view.name, [*claims.allocated, *held], view.device) or outcome
