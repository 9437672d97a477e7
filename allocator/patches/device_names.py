"""Driver, pool and device: the names by which patches and DeviceTaintRules say which devices they are about."""

from __future__ import annotations

from typing import NamedTuple

from allocator.devices import PoolId


class DeviceNames(NamedTuple):
    """The names that a device must have; None is any."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def include_pool(self, pool: PoolId) -> bool:
        """Whether devices of a pool can have these names."""
        return self.driver in (None, pool.driver) and self.pool in (None, pool.pool)

    def include_device(self, device: str) -> bool:
        """Whether a device of such a pool has the name."""
        return self.device in (None, device)
