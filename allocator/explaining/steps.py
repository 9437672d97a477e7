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
from allocator.explaining.patched_values import MOST_DEVICES, PatchedValue, patched_values
from allocator.explaining.rejections import Rejection, note
from allocator.explaining.snapshot import Seen
from allocator.pools import hidden_by_gate, pools_of
from allocator.rules import RULES
from allocator.rules.rule import Cause, Evidence, Objection, Rule
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.rules.standing import GROUPS_OFF, FeatureGates
from resourceapi.records.pools import newest

POOL = "pool"
"""The step of incomplete and invalid pools, which comes before the rules about devices."""
INCOMPLETE = "the pool is incomplete"
_TITLES = {POOL: "incomplete and invalid pools", **{rule.name: rule.title for rule in RULES}}


class Step(NamedTuple):
    """A rule that excludes devices.

    :param about: the expression or attribute of the rule.
    :param left: how many devices pass it.
    :param selects: whether the rule decides which devices match, rather than which are available.
    :param failed: on how many excluded devices a selector fails rather than is false.
    :param missing: the attribute that is missing on them.
    :param patched: values by which it judges them that patches have given, where that was asked for.
    """

    rule: str
    about: str
    left: int
    rejected: tuple[Rejection, ...]
    selects: bool
    failed: int = 0
    missing: str = ""
    patched: tuple[PatchedValue, ...] = ()

    @property
    def title(self) -> str:
        """What the rule looks at, after the words "left after": `taints`, `the selector: device.driver == "x"`."""
        return f"{_TITLES[self.rule]} {self.about}" if self.about else _TITLES[self.rule]


class Passed(NamedTuple):
    """The steps, the devices that match, those that are available, and those on which a selector fails.

    :param before: the devices that each selector is asked about.
    """

    steps: list[Step]
    selected: list[Device]
    left: list[Device]
    failing: list[Device]
    before: dict[str, list[Device]]


class NodeView:
    """A node with its pools, and the rules applied to its devices."""

    def __init__(self, snapshot: Seen, node: str, outcomes: SelectorOutcomes) -> None:
        """Read the pools of a node.

        :param outcomes: a cache of selector outcomes, which all nodes of a snapshot may share.
        """
        self.snapshot = snapshot
        self.node = snapshot.nodes[node]
        self.features = snapshot.features
        self.pools = pools_of(snapshot.inventory, self.node, snapshot.features)
        self.outcomes = outcomes
        #: an attempt that has taken nothing
        self.attempt = Attempt(
            self.node,
            self.pools,
            snapshot.allocated,
            snapshot.features,
            outcomes.selectors,
            outcomes.time_limit,
        )
        self._evidence = Evidence(self.attempt, snapshot.holders, self.outcomes)

    def devices(self) -> list[Device]:
        """The devices of all usable pools."""
        return [device for pool in self.pools if pool.usable for device in pool.devices]

    def unusable(self, alternative: Alternative) -> list[Device]:
        """The devices that match a request but are in pools that are incomplete or invalid."""
        return [
            device
            for pool in self.pools
            if not pool.usable
            for slice in self.snapshot.inventory.of_pool(pool.id)
            for device in slice.devices
            if not any(self._mismatches(alternative, device))
        ]

    def switched_off(self, alternative: Alternative) -> list[str]:
        """Which gates are off, in words, of each device that would match a request with them."""
        found = []
        for device in self.devices():
            gate = FeatureGates().objection(self._evidence, alternative, device)
            if gate is not None and all(each == gate for each in self._mismatches(alternative, device)):
                found.append(" and ".join(cause.text for cause in gate.causes))
        return found

    def _mismatches(self, alternative: Alternative, device: Device) -> Iterator[Objection]:
        """Why a device does not match a request."""
        for rule in RULES:
            for part in rule.parts(alternative) if rule.selects else ():
                if (objection := part.objection(self._evidence, alternative, device)) is not None:
                    yield objection

    def steps(self, alternative: Alternative, *, name_patches: bool = False) -> Passed:
        """The steps for a valid request or alternative.

        The first step, that of pools, is always there, as it gives the number of devices.

        :param name_patches: whether the steps name the patches that have given what is refused.
        """
        left = selected = self.devices()
        failing: list[Device] = []
        before: dict[str, list[Device]] = {}
        found = [Step(POOL, "", len(left), tuple(self._pool_rejections()), selects=True)]
        for rule in RULES:
            for part in rule.parts(alternative):
                if rule.selects and part.about:
                    before.setdefault(part.about, left)
                asked = left
                step, left, failed = self._step(part, alternative, asked)
                if name_patches and step.rejected:
                    passed = set(map(id, left))
                    refused = [device for device in asked if id(device) not in passed][:MOST_DEVICES]
                    names = part.looks_at(self._evidence, alternative, refused)
                    ids = [device.id for device in refused]
                    step = step._replace(patched=patched_values(self.snapshot.inventory, ids, names))
                if rule.selects:
                    selected = left
                    failing += failed
                if step.rejected:
                    found.append(step)
        return Passed(found, selected, left, failing, before)

    def _step(
        self, rule: Rule, alternative: Alternative, devices: Sequence[Device]
    ) -> tuple[Step, list[Device], list[Device]]:
        """The step of a rule, the devices that pass it, and those on which it fails."""
        left: list[Device] = []
        failing: list[Device] = []
        rejected: dict[object, Rejection] = {}
        missing = ""
        for device in devices:
            objection = rule.objection(self._evidence, alternative, device)
            if objection is None:
                left.append(device)
                continue
            note(rejected, objection, str(device.id))
            if objection.failed:
                failing.append(device)
            missing = missing or objection.missing
        rejections = tuple(rejected.values())
        step = Step(rule.name, rule.about, len(left), rejections, rule.selects, len(failing), missing)
        return step, left, failing

    def _pool_rejections(self) -> list[Rejection]:
        found: dict[object, Rejection] = {}
        for pool in self.pools:
            if pool.usable:
                continue
            slices = list(self.snapshot.inventory.of_pool(pool.id))
            if hidden := hidden_by_gate(pool, self.features):
                cause = Cause(f"{GROUPS_OFF}, so slices with them do not count", (("", hidden),))
            elif pool.incomplete:
                slices = newest(slices)
                said = f"{pool.id} has {len(slices)} of {slices[0].count_in_pool} slices"
                cause = Cause(INCOMPLETE, (("", said),))
            else:
                cause = Cause("the pool is invalid", (("", f"{pool.id}: {pool.invalid}"),))
            rejection = Rejection((cause,))
            rejection = found.setdefault(rejection.key, rejection)
            for slice in slices:
                for _ in slice.devices:
                    rejection.note((cause,), ())
            if not any(slice.devices for slice in slices):
                rejection.values[0].setdefault(cause.seen[0][1], 0)
        return list(found.values())
