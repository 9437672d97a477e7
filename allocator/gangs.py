"""Pods that kube-scheduler places together: the pods of a PodGroup, of which some number has to fit, or none is bound.

It tries them in the order in which they were made, each beside those before it, and stops once too few are left.
Source: kube-scheduler 1.37.1, `pkg/scheduler/schedule_one_podgroup.go`, and its answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Gang(NamedTuple):
    """The pods of a PodGroup.

    :param name: that of the group, as `namespace/name`.
    :param min_count: so many have to be on nodes.
    :param running: so many are.
    """

    name: str
    min_count: int
    running: int = 0

    def shortage(self, scheduled: int, remaining: int) -> str:
        """What kube-scheduler says of a gang of which too few pods fit."""
        return (
            f"minCount ({self.min_count}) cannot be satisfied: {scheduled} scheduled, {remaining} remaining"
        )

    def waits(self, known: int) -> str:
        """What its pods wait for as long as they are too few for kube-scheduler to look at them."""
        return f"{self.min_count} pods of PodGroup {self.name} (minCount), of which there are {known}"


def together(gangs: Sequence[Gang | None]) -> list[list[int]]:
    """The places of pods that are tried together: those of a gang at the turn of the pod with which there are enough.

    :param gangs: of each pod.
    """
    units: dict[object, list[int]] = {}
    turns: dict[object, int] = {}
    for place, gang in enumerate(gangs):
        key: object = place if gang is None else gang.name
        unit = units.setdefault(key, [])
        if gang is None or gang.running + len(unit) < gang.min_count:
            turns[key] = place
        turns.setdefault(key, place)
        unit.append(place)
    return [units[key] for key in sorted(units, key=turns.__getitem__)]
