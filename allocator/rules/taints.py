"""Taints of devices and what tolerates them (KEP-5055)."""

from __future__ import annotations

from collections.abc import Iterable

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.rules.rule import Evidence, Objection, Rule, because
from resourceapi.objects import Object

_EFFECTS = ("NoSchedule", "NoExecute")


class Taints(Rule):
    """The request tolerates all taints of the device that have an effect on allocation; unknown effects have none."""

    name = "taint"
    title = "taints"

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        return not (
            device.taints
            and state.features.device_taints
            and any(_blocks(taint, alternative.tolerations) for taint in device.taints)
        )

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        blocking = blocking_taints(device, alternative) if evidence.state.features.device_taints else ()
        return because(f"tainted {', '.join(map(spelled, blocking))}") if blocking else None


def blocking_taints(device: Device, alternative: Alternative) -> list[Object]:
    """The taints that keep the request from the device."""
    return [taint for taint in device.taints if _blocks(taint, alternative.tolerations)]


def _blocks(taint: Object, tolerations: Iterable[Object]) -> bool:
    return taint.get("effect") in _EFFECTS and not any(
        tolerates(toleration, taint) for toleration in tolerations
    )


def tolerates(toleration: Object, taint: Object) -> bool:
    """Whether a toleration is for the taint: an absent key or effect is for all of them."""
    for name in ("effect", "key"):
        wanted = toleration.get(name)
        if wanted and wanted != taint.get(name, ""):
            return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return bool(toleration.get("value", "") == taint.get("value", ""))
    return bool(operator == "Exists")


def spelled(taint: Object) -> str:
    """A taint as kubectl writes it: `key=value:Effect`."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"
