"""Search for remedies: variations of the problem, each of which is confirmed on all nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from allocator.explaining.changes import Claims, Part, parts
from allocator.explaining.steps import NodeView
from allocator.explaining.trials import Trials, Variation
from allocator.scheduling_outcome import SchedulingOutcome
from deviceselectors.spelling import Texts

#: What remedies change, besides the requirements that they leave out (the kinds of :class:`~allocator.explaining.conflicts.Member`).
NAME, CLASS, COUNT, CAPACITY, SELECTOR, ALTERNATIVE = (
    "name",
    "class",
    "count",
    "capacity",
    "selector",
    "alternative",
)
#: Two changes together.
PAIR = "pair"
NODE, REQUESTS, PREEMPTION, TOLERATION, TAINT, PATCH, RELEASE, GATE = (
    "node",
    "requests",
    "preemption",
    "toleration",
    "taint",
    "patch",
    "release",
    "gate",
)
#: What only who administers the cluster changes; who holds devices releases them, and all else is up to who asks for them.
_OF_ADMINISTRATORS = frozenset((TAINT, PATCH, GATE))
USER, HOLDER, ADMINISTRATOR = "user", "holder", "administrator"


class Remedy(NamedTuple):
    """A change that makes the pod fit.

    :param kind: what changes: one of the kinds above, or a requirement that is left out.
    :param text: completes the sentence "it would fit …".
    :param subject: the name of what changes: a request, claim, taint, patch or gate; the pods that are evicted.
    :param value: the new count, amount or expression.
    :param nodes: the nodes on which the pod would fit.
    :param short: a name for what could be left out or end, in a list of several.
    :param parts: the changes of which it consists, if they are several.
    :param without_values: the text for those who may read neither ResourceSlices nor DeviceClasses, if it has what is in them.
    """

    kind: str
    text: str
    subject: str
    value: object
    nodes: tuple[str, ...]
    variation: Variation
    short: str = ""
    without_values: str = ""
    parts: tuple[Remedy, ...] = ()

    @property
    def who(self) -> str:
        """Who can make the change: of several together, whoever is hardest to move."""
        if self.parts:
            return max((each.who for each in self.parts), key=(USER, HOLDER, ADMINISTRATOR).index)
        if self.kind in _OF_ADMINISTRATORS:
            return ADMINISTRATOR
        return HOLDER if self.kind == RELEASE else USER


def together(first: Sequence[Remedy], second: Remedy, nodes: tuple[str, ...]) -> Remedy:
    """Changes that are enough together.

    :param first: some that are not enough by themselves.
    :param second: one more, or several that go together.
    :param nodes: where the pod would fit.
    """
    text = ", and ".join(each.text for each in (*first, second))
    return second._replace(
        kind=PAIR,
        text=text,
        nodes=nodes,
        short="",
        without_values="",
        parts=(*first, *(second.parts or (second,))),
    )


class Finder:
    """Searches for remedies on some nodes, and confirms them on all."""

    def __init__(
        self,
        trials: Trials,
        views: dict[str, NodeView],
        failing: Sequence[str] = (),
        made_for: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Prepare a search.

        :param views: the nodes on which remedies are searched for, the most promising first.
        :param failing: nodes with an error that fails the attempt.
        :param made_for: what kube-scheduler makes a request for by itself (an extended resource), by `claim:request`.
        """
        self.trials = trials
        self.views = views
        self.nodes = list(views)
        self.failing = failing
        self.made_for = made_for
        #: changes that were probably meant, but are not enough by themselves
        self.first_changes: list[Remedy] = []

    @cached_property
    def texts(self) -> Texts:
        """The texts that devices of the nodes that are searched have; looking at them may raise OutOfTime."""
        devices = [each.prepared for view in self.views.values() for each in view.devices()]
        return Texts(devices, self.trials.snapshot.inventory.unpatched, self.trials.time_limit.check)

    @cached_property
    def capacities(self) -> dict[str, None]:
        """The names of capacities that devices of these nodes have."""
        devices = (device for view in self.views.values() for device in view.devices())
        return dict.fromkeys(name for device in devices for name in device.capacity)

    def subject(self, part: Part) -> str:
        """The name of a request or alternative: `namespace/claim:main/sub`."""
        return f"{self.trials.claims[part.claim].key}:{part.name}"

    def title(self, part: Part) -> str:
        """A request or alternative in a sentence, or what it is made for."""
        kind = "request" if part.sub is None else "alternative"
        named = f"{kind} {part.name} of claim {self.trials.claims[part.claim].key}"
        return self.made_for.get(self.subject(part), named)

    def written_parts(self) -> list[Part]:
        """The requests and alternatives that somebody has written and can change."""
        return [part for part in parts(self.trials.claims) if self.subject(part) not in self.made_for]

    def works(self, variation: Variation) -> bool:
        """Whether a variation fits on one of the nodes that are searched."""
        return self.trials.first_fit(self.nodes, variation) is not None

    def claims_work(self, claims: Claims) -> bool:
        """Whether the pod fits on one of the nodes that are searched with these claims instead of its own."""
        return self.works(Variation(claims))

    def correct(
        self,
        kind: str,
        text: str,
        subject: str,
        value: object,
        claims: Claims,
        without_values: str = "",
    ) -> Iterator[Remedy]:
        """The remedy of claims with what was probably meant; if that is not enough, it may be with another change."""
        if self.claims_work(claims):
            yield from self.confirm(
                kind, text, subject, value, Variation(claims), without_values=without_values
            )
        else:
            first = Remedy(kind, text, subject, value, (), Variation(claims), "", without_values)
            self.first_changes.append(first)

    def after(self, change: Remedy) -> Finder:
        """A finder for the pod with a change."""
        trials = self.trials
        changed = Trials(
            trials.snapshot,
            change.variation.claims,
            trials.nodes,
            trials.time_limit,
            trials.instead,
            trials.spared,
        )
        return Finder(changed, self.views, self.failing, self.made_for)

    def confirm(
        self,
        kind: str,
        text: str,
        subject: str,
        value: object,
        variation: Variation,
        short: str = "",
        without_values: str = "",
    ) -> Iterator[Remedy]:
        """The remedy, if kube-scheduler would then place the pod; an error on any node prevents that."""
        answers = self.trials.everywhere(variation)
        if self.trials.outcome(answers) is SchedulingOutcome.FITS:
            nodes = tuple(answer.node for answer in answers if answer.result is not None)
            yield Remedy(kind, text, subject, value, nodes, variation, short, without_values)
