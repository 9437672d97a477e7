"""Looking for remedies: changes of a problem, each of which has to be confirmed on all nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allocator.explaining.steps import NodeView
from allocator.explaining.trials import Trials, Variation
from allocator.scheduling_outcome import SchedulingOutcome
from resourceapi.objects import Object


class Remedy(NamedTuple):
    """What would make the pod fit: `text` completes "it would fit …".

    `subject` names what it is about: a request, claim, taint, gate; `value`: the count, amount or expression; `nodes`:
    where the pod would fit, of those that were asked.
    """

    kind: str
    text: str
    subject: str
    value: object
    nodes: tuple[str, ...]
    variation: Variation


class Finder:
    """Looks for remedies on some nodes, and confirms them on all."""

    def __init__(self, trials: Trials, views: dict[str, NodeView], failing: Sequence[str] = ()) -> None:
        """Look at some nodes.

        :param views: the nodes on which remedies are looked for, the most promising first.
        :param failing: nodes on which an error ends the attempt.
        """
        self.trials = trials
        self.views = views
        self.nodes = list(views)
        self.failing = failing

    def works(self, variation: Variation) -> bool:
        """Whether a variation fits on one of the nodes that are looked at."""
        return self.trials.first_fit(self.nodes, variation) is not None

    def claims_work(self, claims: tuple[Object, ...]) -> bool:
        """Whether the pod fits on one of the nodes with these claims instead of its own."""
        return self.works(Variation(claims))

    def confirm(
        self, kind: str, text: str, subject: str, value: object, variation: Variation
    ) -> Iterator[Remedy]:
        """The remedy, if kube-scheduler would place the pod then: errors on other nodes stop it, too."""
        answers = self.trials.everywhere(variation)
        if self.trials.outcome(answers) is SchedulingOutcome.FITS:
            nodes = tuple(answer.node for answer in answers if answer.result is not None)
            yield Remedy(kind, text, subject, value, nodes, variation)
