"""What is reported: a negotiation, and how the same pods fare with structured parameters."""

from __future__ import annotations

from typing import NamedTuple

from claimcheck.answers.outcome import Failure
from classic.simulation.scenario import Scenario
from classic.simulation.simulation import Outcome, PodOutcome


class Report(NamedTuple):
    """A simulated scenario.

    :ivar name: of a scenario that comes with claimcheck; else empty.
    :ivar structured: what becomes of the same pods with structured parameters.
    """

    name: str
    scenario: Scenario
    outcome: Outcome
    structured: list[PodOutcome]
    failures: list[Failure]

    def structured_of(self, pod: str) -> PodOutcome | None:
        """What becomes of a pod with structured parameters."""
        return next((each for each in self.structured if each.pod == pod), None)
