"""What becomes of gangs as a whole: how many of their pods fit together, and which do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from allocator.gangs import Gang
from allocator.scheduling import Mode
from allocator.simulation import Limits, Placement, Simulation
from allocator.time_limit import POD_SECONDS, TimeLimit
from claimcheck.answers.scenario import Scenario
from claimcheck.answers.tried import Placed, Tried, ends_of, scheduling_state, tried_of, withdrawn_by_gang
from cluster.workloads import Workload
from resourceapi.manifests import mapping, text


class GangAnswer(NamedTuple):
    """What becomes of a gang.

    :param known: how many pods it has.
    :param tried: those that are on no node, with what became of each in the same place of `placements`; none if they are too
        few, or too many to be tried.
    """

    gang: Gang
    known: int
    tried: Sequence[Tried]
    placements: Sequence[Placement]

    @property
    def waits(self) -> str:
        """What it waits for before kube-scheduler looks at it; empty if it has enough pods."""
        return self.gang.waits(self.known) if self.known < self.gang.min_count else ""

    @property
    def fitting(self) -> int:
        """How many of its pods fit together, those on nodes included."""
        return self.gang.running + sum(bool(each.node or each.withdrawn) for each in self.placements)

    @property
    def fits(self) -> bool:
        """Whether its pods are bound that fit."""
        return any(each.node for each in self.placements)

    @property
    def is_undecided(self) -> bool:
        """Whether there was no time to find out."""
        return not self.fits and any(each.undecided for each in self.placements)

    @property
    def misfits(self) -> list[Tried]:
        """The pods that fit nowhere beside the others."""
        pairs = zip(self.tried, self.placements, strict=True)
        return [tried for tried, each in pairs if not (each.node or each.withdrawn or each.untried)]

    @property
    def fellows(self) -> list[Placed]:
        """The pods that would fit, had the others fit as well."""
        return withdrawn_by_gang(self.tried, self.placements).get(self.gang.name, [])

    def said(self, workload: Workload) -> str:
        """What kube-scheduler says of the first of a workload's pods."""
        pairs = zip(self.tried, self.placements, strict=True)
        return next((each.reason for tried, each in pairs if tried.workload is workload), "")

    @property
    def headline(self) -> str:
        """How many of its pods fit, and how many it needs."""
        gang = self.gang
        return f"of PodGroup {gang.name}, {self.fitting} of {self.known} pods fit, and it needs {gang.min_count} (minCount)"


def gang_answers(scenario: Scenario, limit: TimeLimit) -> dict[str, GangAnswer]:
    """What becomes of each gang of a scenario by itself, as if the others did not exist, by its name.

    A PodGroup with the policy `basic`, or one that has as many pods on nodes as it needs, is no gang.
    """
    workloads = [*scenario.fellows, *scenario.workloads]
    members: dict[str, list[Workload]] = {}
    for each in workloads:
        if each.gang is not None and each.gang.running < each.gang.min_count > 1:
            members.setdefault(each.gang.name, []).append(each)
    limits = Limits(limit, POD_SECONDS)
    found = {}
    for name, its in members.items():
        gang = next(each.gang for each in its if each.gang is not None)
        can_be_tried = [each for each in sorted(its, key=_age) if not each.problem and not each.waits_for]
        found[name] = _answer(scenario, gang, can_be_tried, limits)
    return found


def _age(workload: Workload) -> tuple[bool, str, str]:
    """By which those come first that kube-scheduler tries first: the oldest, and what is not in the cluster yet last."""
    created = text(mapping(workload.manifest.value, "metadata"), "creationTimestamp")
    return not created, created, workload.name if created else ""


def _answer(scenario: Scenario, gang: Gang, members: Sequence[Workload], limits: Limits) -> GangAnswer:
    known = gang.running + sum(max(0, each.copies - len(each.running)) for each in members)
    if known < gang.min_count:
        return GangAnswer(gang, known, (), ())
    resources = scenario.node_resources
    tried = tried_of(
        scenario, members, ends_of(members, [each.copies for each in members]), resources, limits
    )
    pods = [each.pod for each in tried]
    if gang.running + len(pods) < gang.min_count:
        error = f"only {len(pods):,} of its {gang.min_count:,} pods (minCount) are tried"
        placements = [Placement(each.name, "", {}, error, undecided=True, gang=gang) for each in pods]
        return GangAnswer(gang, known, tried, placements)
    simulation = Simulation(scheduling_state(scenario.snapshot, resources), limits)
    return GangAnswer(gang, known, tried, simulation.run(pods, Mode.PREFERRED))
