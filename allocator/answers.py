"""The answers of nodes for a pod. Of thousands often one is read, so each is made on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, overload

from allocator.errors import UNDECIDED
from allocator.ledgers import PoolState
from allocator.node_fit import ClaimFootprint
from allocator.node_resources import Shortage
from allocator.nodes import View
from allocator.plans import Outcome
from allocator.scheduling_outcome import SchedulingOutcome
from allocator.shared_pools import SharedPools
from resourceapi.caches import remember
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pools import PoolId

#: So many answers are known without what they allocate.
MOST_KNOWN = 10_000


class NodeAnswer(NamedTuple):
    """The answer of a node for a pod. Without `result` and `error`, the pod's claims do not fit.

    :param result: one AllocationResult (v1, normal form) for each claim that was not allocated yet. Results may share
        parts, so do not change them.
    :param error_kind: FATAL if other nodes cannot help, NODE if they may.
    :param fix: advice on the error.
    :param unnamed: the error without names of devices and pools, for readers who may not list ResourceSlices.
    :param shortages: what the node lacks for the devices of the claims.
    """

    node: str
    result: list[Object] | None = None
    error: str = ""
    error_kind: str = ""
    fix: str = ""
    unnamed: str = ""
    shortages: Sequence[Shortage] = ()

    @property
    def fits(self) -> bool:
        """Whether the claims fit on the node."""
        return self.result is not None

    @property
    def is_undecided(self) -> bool:
        """Whether the search was given up, or its time was over."""
        return self.error in UNDECIDED


class KnownAnswers:
    """Answers without what they allocate: one object for thousands of pods that fit on a node, or do not."""

    def __init__(self) -> None:
        self._answers: dict[object, NodeAnswer] = {}

    def kept(self, answer: NodeAnswer) -> NodeAnswer:
        """As much of an answer as is told."""
        key = (answer.node, answer.fits, answer.error, answer.error_kind, answer.fix, tuple(answer.shortages))
        found = self._answers.get(key)
        if found is None:
            found = answer._replace(result=[] if answer.fits else None, unnamed="")
            remember(self._answers, key, found, MOST_KNOWN)
        return found


class Answers(Sequence[NodeAnswer]):
    """The answers of nodes in the order in which they were asked, for the state of the cluster at that time."""

    def __init__(self, share_id: Callable[[], str]) -> None:
        self._share_id = share_id
        self._places: list[View | str] = []
        #: the outcomes from which answers are made
        self.outcomes: list[Outcome] = []
        self._shared: dict[SharedPools, Mapping[PoolId, PoolState]] = {}
        self._made: dict[int, NodeAnswer] = {}

    def add(self, place: View | str, outcome: Outcome) -> None:
        """Add the answer of the next node.

        :param place: what the node sees, or only its name if the outcome has no results.
        """
        self._places.append(place)
        self.outcomes.append(outcome)

    @property
    def names(self) -> list[str]:
        """The names of the nodes."""
        return [place if isinstance(place, str) else place.name for place in self._places]

    def remember(self, shared: SharedPools) -> None:
        """Keep the present state of pools that several nodes share, for making answers later."""
        self._shared[shared] = shared.states

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> NodeAnswer: ...

    @overload
    def __getitem__(self, index: slice) -> list[NodeAnswer]: ...

    def __getitem__(self, index: int | slice) -> NodeAnswer | list[NodeAnswer]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [self._answer(each) for each in numbers]
        return self._answer(numbers)

    def first_error(self, kind: str) -> NodeAnswer:
        """The first answer that is an error of this kind, where there is one."""
        return self._answer(
            next(index for index, each in enumerate(self.outcomes) if each.error_kind == kind)
        )

    def _answer(self, index: int) -> NodeAnswer:
        made = self._made.get(index)
        if made is None:
            made = self._made[index] = self._make(self._places[index], self.outcomes[index])
        return made

    def _make(self, place: View | str, outcome: Outcome) -> NodeAnswer:
        if isinstance(place, str):
            return _refused(place, outcome, outcome.error)
        name = place.name
        if outcome.templates is None and not outcome.error:
            return NodeAnswer(name)
        states = place.states(self._shared[place.layout.shared])
        if outcome.templates is None:
            error = outcome.error_on(states)
            return _refused(name, outcome, error)
        pools = [state.pool.devices for state in states]
        return NodeAnswer(
            name, [template.result(pools, place.selector, self._share_id) for template in outcome.templates]
        )


def _refused(node: str, outcome: Outcome, error: str) -> NodeAnswer:
    """The answer of a node on which claims do not fit; `error`: in full."""
    kind, fix, short = outcome.error_kind, outcome.fix, outcome.shortages
    return NodeAnswer(node, None, error, kind, fix, outcome.error, short)


class PodAnswer(NamedTuple):
    """What became of a pod.

    :param placed: the node whose result was kept, if any.
    :param outcome: how scheduling ends, as far as nodes were asked.
    :param error: the first answer that fails the attempt.
    :param refusal: why kube-scheduler refuses the pod before it looks at nodes.
    :param allocated: what each claim has got, for those without an allocation before.
    :param equal: other nodes that kube-scheduler may choose as well, in mode PREFERRED.
    :param footprints: what the claims take of the node that is chosen.
    :param reasons: what kube-scheduler says of nodes, with their number, for a pod that is not placed.
    """

    nodes: Answers
    placed: str = ""
    outcome: SchedulingOutcome = SchedulingOutcome.MISFIT
    error: NodeAnswer | None = None
    refusal: str = ""
    equal: tuple[str, ...] = ()
    allocated: Mapping[Claim, Object] = MappingProxyType({})
    reasons: Mapping[str, int] = MappingProxyType({})
    footprints: Sequence[ClaimFootprint] = ()
