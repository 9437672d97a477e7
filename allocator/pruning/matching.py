"""Whether all demands can get devices of their exclusive_demand: a matching, or a proof that there is none (Hall's theorem)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allocator.pruning.bits import lowest_bits

Demand = tuple[int, int]
"""A number of devices, and the devices from which they may be taken."""


def can_serve_all(demands: Sequence[Demand]) -> bool:
    """Whether each demand can get as many devices as it needs, without sharing any."""
    return Matching(demands).complete()


class Matching:
    """A matching of demands and devices, with limits for groups of devices."""

    def __init__(self, demands: Sequence[Demand], limits: Mapping[int, int] | None = None) -> None:
        """Prepare a matching.

        :param limits: how many devices may be taken from each group; groups are disjoint.
        """
        merged: dict[int, int] = {}
        for wanted, devices in demands:
            merged[devices] = merged.get(devices, 0) + wanted
        # Those with the fewest candidates first: then few augmenting paths are needed.
        self._demands = sorted(
            ((n, devices) for devices, n in merged.items()), key=lambda d: d[1].bit_count()
        )
        self._limits = list((limits or {}).items())
        self._given = [0] * len(self._demands)
        self._taken = 0

    def complete(self) -> bool:
        """Whether all demands can be served."""
        for index, (wanted, devices) in enumerate(self._demands):
            if wanted > devices.bit_count():
                return False
            self._serve(index, wanted)
            while self._given[index].bit_count() < wanted:
                if not self._augment(index):
                    return False
        return True

    def _serve(self, index: int, wanted: int) -> None:
        """Give a demand devices that are free."""
        devices = self._demands[index][1] & ~self._taken
        if not self._limits:
            self._give(index, lowest_bits(devices, wanted))
            return
        for group, _ in self._limits:
            devices &= ~group
        self._give(index, lowest_bits(devices, wanted))
        for group, limit in self._limits:
            left = min(limit - (self._taken & group).bit_count(), wanted - self._given[index].bit_count())
            if left > 0:
                self._give(index, lowest_bits(self._demands[index][1] & ~self._taken & group, left))

    def _give(self, index: int, devices: int) -> None:
        self._given[index] |= devices
        self._taken |= devices

    def _augment(self, index: int) -> bool:
        """Give a demand one device more along an augmenting path, if there is one.

        Each demand on the path gives up a device to the one before, and gets another one instead.
        """
        came_from: dict[int, tuple[int, int]] = {}
        queue = [index]
        seen = {index}
        for current in queue:
            wanted = self._demands[current][1] & ~self._given[current]
            free, reachable = self._free(wanted)
            if free:
                self._follow(current, free & -free, came_from)
                return True
            for other, given in enumerate(self._given):
                if other not in seen and (devices := given & reachable):
                    seen.add(other)
                    came_from[other] = (current, devices)
                    queue.append(other)
        return False

    def _free(self, wanted: int) -> tuple[int, int]:
        """Of these devices, those that are free; and those that would make room if they were given back."""
        free = wanted & ~self._taken
        reachable = wanted & self._taken
        for group, limit in self._limits:
            inside = self._taken & group
            if free & group and inside.bit_count() >= limit:
                free &= ~group
                # Any device of the group that is given back makes room for another one.
                reachable |= inside
        return free, reachable

    def _follow(self, current: int, free: int, came_from: Mapping[int, tuple[int, int]]) -> None:
        """Along the path each demand gets a device and gives up one for the demand before it."""
        while True:
            self._give(current, free)
            if current not in came_from:
                return
            current, devices, giver = *came_from[current], current
            returned = devices & -devices
            self._given[giver] &= ~returned
            self._taken &= ~returned
            wanted = self._demands[current][1] & ~self._given[current]
            free = returned if wanted & returned else self._free(wanted)[0]
            free &= -free
