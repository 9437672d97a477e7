"""Taints of devices and what tolerates them (KEP-5055)."""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi.objects import Object

_EFFECTS = ("NoSchedule", "NoExecute")


def prevents(taints: Iterable[Object], tolerations: Iterable[Object]) -> bool:
    """Whether a taint with an effect on allocation is not tolerated; effects that are not known have none."""
    return any(
        taint.get("effect") in _EFFECTS
        and not any(tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
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
