"""How many devices of a node are left for a request after each rule. Devices are checked one by one.

A device that passes all steps can be taken for the request if the pod takes nothing else; tests compare this with
`allocator.attempt`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allocator.attempt import Attempt
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.explaining.snapshot import Snapshot
from allocator.pools import pools_of
from allocator.rules import RULES
from allocator.rules.rule import Evidence, Rule
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.selection import Selectors

POOL = "pool"
"""The step of incomplete and invalid pools, which comes before the rules about devices."""


class Rejection(NamedTuple):
    """Why a number of devices are excluded.

    :param example: the first of these devices.
    :param claims: the claims that hold what is missing.
    """

    reason: str
    devices: int
    example: str = ""
    claims: tuple[str, ...] = ()


class Step(NamedTuple):
    """A rule that excludes devices.

    :param about: the expression or attribute of the rule.
    :param left: how many devices pass it.
    :param selects: whether the rule decides which devices match, rather than which are available.
    :param failed: on how many excluded devices a selector fails rather than is false.
    :param missing: the attribute that is missing on them.
    """

    rule: str
    about: str
    left: int
    rejected: tuple[Rejection, ...]
    selects: bool
    failed: int = 0
    missing: str = ""


class Passed(NamedTuple):
    """The steps, the devices that match, those that are available, and those on which a selector fails."""

    steps: list[Step]
    selected: list[Device]
    left: list[Device]
    failing: list[Device]


class NodeView:
    """A node with its pools, and the rules applied to its devices."""

    def __init__(self, snapshot: Snapshot, node: str, outcomes: SelectorOutcomes | None = None) -> None:
        """Read the pools of a node.

        :param outcomes: a cache of selector outcomes, which all nodes of a snapshot may share.
        """
        self.snapshot = snapshot
        self.node = snapshot.nodes[node]
        self.features = snapshot.features
        self.pools = pools_of(snapshot.inventory, self.node, snapshot.features)
        selectors = Selectors()
        self.outcomes = SelectorOutcomes(selectors) if outcomes is None else outcomes
        #: an attempt that has taken nothing
        self.attempt = Attempt(self.node, self.pools, snapshot.allocated, snapshot.features, selectors)
        self._evidence = Evidence(self.attempt, snapshot.holders, self.outcomes)

    def devices(self) -> list[Device]:
        """The devices of all usable pools."""
        return [device for pool in self.pools if pool.usable for device in pool.devices]

    def steps(self, alternative: Alternative) -> Passed:
        """The steps for a valid request or alternative.

        The first step, that of pools, is always there, as it gives the number of devices.
        """
        left = selected = self.devices()
        failing: list[Device] = []
        found = [Step(POOL, "", len(left), tuple(self._pool_rejections()), selects=True)]
        for rule in RULES:
            for part in rule.parts(alternative):
                step, left, failed = self._step(part, alternative, left)
                if rule.selects:
                    selected = left
                    failing += failed
                if step.rejected:
                    found.append(step)
        return Passed(found, selected, left, failing)

    def _step(
        self, rule: Rule, alternative: Alternative, devices: Sequence[Device]
    ) -> tuple[Step, list[Device], list[Device]]:
        """The step of a rule, the devices that pass it, and those on which it fails."""
        left: list[Device] = []
        failing: list[Device] = []
        rejected: dict[tuple[str, tuple[str, ...]], list[Device]] = {}
        missing = ""
        for device in devices:
            objection = rule.objection(self._evidence, alternative, device)
            if objection is None:
                left.append(device)
                continue
            rejected.setdefault((objection.reason, objection.claims), []).append(device)
            if objection.failed:
                failing.append(device)
            missing = missing or objection.missing
        rejections = tuple(
            Rejection(reason, len(members), str(members[0].id), claims)
            for (reason, claims), members in rejected.items()
        )
        step = Step(rule.name, rule.about, len(left), rejections, rule.selects, len(failing), missing)
        return step, left, failing

    def _pool_rejections(self) -> Iterator[Rejection]:
        for pool in self.pools:
            if pool.incomplete:
                slices = list(self.snapshot.inventory.of_pool(pool.id))
                newest = max(slice.generation for slice in slices)
                there = [slice for slice in slices if slice.generation == newest]
                count = sum(len(slice.devices) for slice in there)
                wanted = there[0].count_in_pool
                yield Rejection(
                    f"pool {pool.id} is incomplete: it has {len(there)} of {wanted} slices", count
                )
            elif pool.invalid:
                count = sum(len(slice.devices) for slice in self.snapshot.inventory.of_pool(pool.id))
                yield Rejection(f"pool {pool.id} is invalid: {pool.invalid}", count)
