"""Taints of devices and what tolerates them (KEP-5055)."""

from __future__ import annotations

from collections.abc import Iterable

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.features import Features
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
            and any(_blocks(taint, alternative.tolerations, state.features) for taint in device.taints)
        )

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        features = evidence.state.features
        blocking = blocking_taints(device, alternative, features) if features.device_taints else ()
        return because(f"tainted {', '.join(map(spelled, blocking))}") if blocking else None


def blocking_taints(device: Device, alternative: Alternative, features: Features) -> list[Object]:
    """The taints that keep the request from the device."""
    return [taint for taint in device.taints if _blocks(taint, alternative.tolerations, features)]


def _blocks(taint: Object, tolerations: Iterable[Object], features: Features) -> bool:
    """Before 1.35, taints with unknown effects are to be tolerated as well."""
    if taint.get("effect") not in _EFFECTS and features.minor >= 35:
        return False
    return not any(tolerates(toleration, taint) for toleration in tolerations)


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
