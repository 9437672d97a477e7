"""The devices of a claim meet its constraints: matchAttribute, distinctAttribute (KEP-4381, KEP-5491)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocator.attempt_state import AttemptState
from allocator.constraint_state import Constraint, extended, published
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.errors import AllocationError
from allocator.rules.rule import Evidence, Objection, Rule, because
from deviceselectors.lookups import ATTRIBUTES
from resourceapi.objects import Object


class Constraints(Rule):
    """Every constraint of the claim that concerns the request admits the device beside those taken."""

    name = "attribute"
    title = "the constraint on"

    def __init__(self, place: int, constraint: Constraint) -> None:
        self.about = constraint.attribute
        self._place = place
        self._constraint = constraint

    @classmethod
    def parts(cls, alternative: Alternative) -> Iterable[Rule]:
        return [cls(place, constraint) for place, constraint in alternative.constraints]

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        return Constraints.accepted(state, alternative, device) == len(alternative.constraints)

    @staticmethod
    def accepted(state: AttemptState, alternative: Alternative, device: Device) -> int:
        """How many constraints accept the device, one after the other; the next refuses it."""
        for accepted, (place, constraint) in enumerate(alternative.constraints):
            key = (alternative.claim, place)
            attribute = attribute_of(state, alternative, device, constraint.attribute)
            slot = ""
            if constraint.distinct:
                attribute, slot = _told_apart(state, device, attribute), state.slot(alternative)
            before = state.constraints.get(key, ())
            after = extended(constraint, before, attribute, state.features.list_attributes, slot)
            if after is None:
                return accepted
            state.trail.set(state.constraints, key, after)
        return len(alternative.constraints)

    def looks_at(
        self, evidence: Evidence, alternative: Alternative, devices: Sequence[Device]
    ) -> Iterable[tuple[str, str]]:
        return ((ATTRIBUTES, self.about),)

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        state, name = evidence.state, self.about
        try:
            attribute = attribute_of(state, alternative, device, name)
            if self._constraint.distinct:
                attribute = _told_apart(state, device, attribute)
        except AllocationError as error:
            return because(f"fails: {error}", failed=True)
        if attribute is None:
            return because(f"has no attribute {name}", missing=name)
        lists = state.features.list_attributes
        if extended(self._constraint, (), attribute, lists) is None:
            return because(f"the value of {name} cannot be compared")
        before = state.constraint_state(alternative.claim, self._place)
        if extended(self._constraint, before, attribute, lists, state.slot(alternative)) is None:
            return because(f"the value of {name} does not go with those of the devices taken")
        return None


def _told_apart(state: AttemptState, device: Device, attribute: Object | None) -> Object | None:
    """What `distinctAttribute` compares: before 1.35 where values are stored, so that any two devices differ."""
    if attribute is not None and state.features.minor < 35:
        return {"string": str(device.id)}
    return attribute


def attribute_of(state: AttemptState, alternative: Alternative, device: Device, name: str) -> Object | None:
    """An attribute as constraints see it: what the request derives comes before what the driver publishes.

    :param name: the full name, `domain/name`.
    :returns: the attribute, None if the device lacks it.
    :raises AllocationError: if it cannot be derived.
    """
    expression = alternative.derived.get(name)
    if expression is not None:
        return state.selectors.derive(name, expression, device, state.time_limit)
    return published(device, name)
