"""Allocated devices in reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from resourceapi.objects import Object
from resourceapi.records.claims import Allocation


def device_documents(allocations: Iterable[tuple[str, Object]]) -> list[dict[str, str]]:
    """The devices of AllocationResults, each of a claim with this name, for programs."""
    return [
        {"claim": claim, "request": each.request, **each.device._asdict()}
        for claim, allocation in allocations
        for each in Allocation(allocation).results
    ]


def device_lines(allocation: Object) -> Iterator[str]:
    """The devices of an AllocationResult, a line for each."""
    for each in Allocation(allocation).results:
        yield f"    {each.request}: {each.device}{', admin access' if each.is_admin else ''}"
