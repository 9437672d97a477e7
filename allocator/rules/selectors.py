"""CEL selectors of the DeviceClass, then those of the request, choose the device (KEP-4381)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.rules.rule import Cause, Evidence, Objection, Rule, because
from allocator.selection import Selector
from deviceselectors.explaining import Reason
from deviceselectors.lookups import ATTRIBUTES, CAPACITY


class _Selectors(Rule):
    selects = True

    def __init__(self, expression: str) -> None:
        self.about = expression

    @staticmethod
    @abstractmethod
    def _of(alternative: Alternative) -> tuple[Selector, ...]:
        """Those of the selectors that the rule is about."""

    @classmethod
    def parts(cls, alternative: Alternative) -> Iterable[Rule]:
        return [cls(selector.expression) for selector in cls._of(alternative)]

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        outcome = evidence.selectors.on(self.about, device)
        if outcome.matches:
            return None
        if outcome.error:
            return because(f"fails: {outcome.error}", missing=outcome.missing, failed=True)
        if not outcome.reasons:
            return because("does not match (the devices are too many and too different to say why)")
        return Objection(tuple(self._cause(reason, device.id.driver) for reason in outcome.reasons))

    def looks_at(
        self, evidence: Evidence, alternative: Alternative, devices: Sequence[Device]
    ) -> Iterable[tuple[str, str]]:
        return evidence.selectors.mentioned(self.about)

    def _cause(self, reason: Reason, driver: str) -> Cause:
        """What the part of the expression saw; the part is named unless it is the whole, without the driver's domain."""
        if reason.wanted:
            return Cause("", reason.seen, reason.wanted)
        said = [] if reason.seen else list(reason.details)
        if reason.expression != self.about or not (said or reason.seen):
            part = reason.expression
            for map_ in (ATTRIBUTES, CAPACITY):
                part = part.replace(f'device.{map_}["{driver}"].', "")
            said.insert(0, f"{part} {reason.outcome}")
        return Cause(": ".join(said), reason.seen)


class ClassSelectors(_Selectors):
    """All selectors of the DeviceClass choose the device."""

    name = "class"
    title = "the class:"

    @staticmethod
    def _of(alternative: Alternative) -> tuple[Selector, ...]:
        return alternative.class_selectors

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        return state.selectors.match_all(alternative.class_selectors, device, state.time_limit)


class RequestSelectors(_Selectors):
    """All selectors of the request or subrequest choose the device."""

    name = "selector"
    title = "the selector:"

    @staticmethod
    def _of(alternative: Alternative) -> tuple[Selector, ...]:
        return alternative.request_selectors

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        return state.selectors.match_all(alternative.request_selectors, device, state.time_limit)
