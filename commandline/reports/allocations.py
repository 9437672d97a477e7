"""Allocated devices in reports for programs."""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi.objects import Object


def device_documents(results: Iterable[tuple[str, Object]]) -> list[dict[str, str]]:
    """The devices of allocation results, each of a claim with this name."""
    return [
        {"claim": claim, **{key: device[key] for key in ("request", "driver", "pool", "device")}}
        for claim, result in results
        for device in result["devices"].get("results", ())
    ]
