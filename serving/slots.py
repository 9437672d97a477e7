"""Slots for requests that may block: only so many run at once, so that small requests find the processor free."""

from __future__ import annotations

from resourceapi.json_memory import most_values
from serving.callers import Caller
from serving.fair_slot import FairSlot
from serving.routes import LARGE_BYTES, Route
from serving.shared_slot import SharedSlot

# How many run at once, in each lane and for each sort of client.
MAX_LARGE = 1
MAX_MEDIUM = 2
# Bodies that take more memory than some tens of MiB are worked on one at a time, in all processes together.
HUGE_BYTES = 4 * 1024 * 1024
HUGE_VALUES = 256 * 1024


class Slots:
    """The slots of one process.

    Requests of clients that are not known never take the slots of those that are. In each slot namespaces take turns.

    :param huge: the slot for huge bodies that all processes share; None if there is only this process.
    """

    def __init__(self, huge: SharedSlot | None = None) -> None:
        self._huge: SharedSlot | FairSlot = FairSlot(1) if huge is None else huge
        self._slots: dict[tuple[str, bool, str], FairSlot] = {}

    def slot(self, route: Route, body: bytes, caller: Caller) -> FairSlot | SharedSlot:
        """The slot that a request has to wait for."""
        size = len(body)
        if size >= HUGE_BYTES or (size >= HUGE_VALUES and most_values(body) >= HUGE_VALUES):
            return self._huge
        is_large = size >= LARGE_BYTES
        number = MAX_LARGE if is_large else MAX_MEDIUM
        return self._slots.setdefault((route.lane, is_large, caller.doubt), FairSlot(number))
