"""Search for remedies: variations of the problem, each of which is confirmed on all nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from allocator.explaining.changes import Claims, Part, details_of, parts
from allocator.explaining.steps import NodeView
from allocator.explaining.trials import Trials, Variation
from allocator.scheduling_outcome import SchedulingOutcome
from allocator.words import Words, for_all, joined
from deviceselectors.spelling import MAX_KNOWN, MAX_WRONG, Texts, similar_capacity
from resourceapi.phrases import nearest

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
    :param words: completes the sentence "it would fit …"; tenants are told of the remedy only if it has words for them.
    :param subject: the name of what changes: a request, claim, taint, patch or gate; the pods that are evicted.
    :param value: the new count, amount or expression.
    :param nodes: the nodes on which the pod would fit.
    :param short: a name for what could be left out or end, in a list of several.
    :param parts: the changes of which it consists, if they are several.
    """

    kind: str
    words: Words
    subject: str
    value: object
    nodes: tuple[str, ...]
    variation: Variation
    short: str = ""
    parts: tuple[Remedy, ...] = ()

    @property
    def who(self) -> str:
        """Who can make the change: of several together, whoever is hardest to move."""
        if self.parts:
            return max((each.who for each in self.parts), key=(USER, HOLDER, ADMINISTRATOR).index)
        if self.kind in _OF_ADMINISTRATORS:
            return ADMINISTRATOR
        return HOLDER if self.kind == RELEASE else USER

    @property
    def text(self) -> str:
        """The words for those who may read everything."""
        return self.words.text


def together(first: Sequence[Remedy], second: Remedy, nodes: tuple[str, ...]) -> Remedy:
    """Changes that are enough together.

    :param first: some that are not enough by themselves.
    :param second: one more, or several that go together.
    :param nodes: where the pod would fit.
    """
    return second._replace(
        kind=PAIR,
        words=joined([each.words for each in (*first, second)], ", and "),
        nodes=nodes,
        short="",
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
        self._meant_classes: dict[str, str] = {}
        self._meant_capacities: dict[str, str] = {}
        #: the selectors of the claims as somebody has written them, before a change that is tried
        self.written_selectors = frozenset(
            selector
            for part in parts(trials.claims)
            for selector in details_of(trials.claims, part).selectors
        )

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

    def meant_class(self, name: str) -> str:
        """The class that is meant by the name of none; empty if none is similar, or too many names have been looked at."""
        if name not in self._meant_classes and len(self._meant_classes) < MAX_WRONG:
            self._meant_classes[name] = nearest(name, self.trials.snapshot.classes)
        return self._meant_classes.get(name, "")

    def meant_capacity(self, name: str) -> str:
        """The capacity of a device that is meant by the name of none; empty for one that there is, and if none is similar.

        :raises OutOfTime: if the time of the explanation is over.
        """
        if name not in self._meant_capacities:
            self.trials.time_limit.check()
            known = self.capacities
            is_compared = name not in known and len(known) <= MAX_KNOWN
            self._meant_capacities[name] = similar_capacity(name, known) if is_compared else ""
        return self._meant_capacities[name]

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
        self, kind: str, words: Words, subject: str, value: object, claims: Claims
    ) -> Iterator[Remedy]:
        """The remedy of claims with what was probably meant; if that is not enough, it may be with another change."""
        if self.claims_work(claims):
            yield from self.confirm(kind, words, subject, value, Variation(claims))
        else:
            self.first_changes.append(Remedy(kind, words, subject, value, (), Variation(claims)))

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
        after = Finder(changed, self.views, self.failing, self.made_for)
        after.written_selectors = self.written_selectors
        return after

    def quoting(self, text: str, selector: str, unquoted: str) -> Words:
        """Words that quote a selector; tenants are told the others if it is not as written: it may have values of devices."""
        return for_all(text) if selector in self.written_selectors else Words(text, unquoted)

    def confirm(
        self,
        kind: str,
        words: Words,
        subject: str,
        value: object,
        variation: Variation,
        short: str = "",
    ) -> Iterator[Remedy]:
        """The remedy, if kube-scheduler would then place the pod; an error on any node prevents that."""
        answers = self.trials.everywhere(variation)
        if self.trials.outcome(answers) is SchedulingOutcome.FITS:
            nodes = tuple(answer.node for answer in answers if answer.result is not None)
            yield Remedy(kind, words, subject, value, nodes, variation, short)
