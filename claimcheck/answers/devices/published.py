"""The devices of a cluster for somebody who may not read who holds them: nothing is said about that, also not that nobody does."""

from __future__ import annotations

from allocator.devices import Device
from claimcheck.answers.devices.cluster_devices import FREE, ClusterDevices
from claimcheck.answers.devices.pool_left import CounterLeft

#: A device of which nothing else is known than that it can be allocated.
PUBLISHED = "published"


class PublishedDevices(ClusterDevices):
    """Those of a cluster of which neither pods nor claims are known."""

    holders_are_known = False

    def status(self, device: Device) -> str:
        """Whether something in its slices is in the way of the device; who holds it is not known."""
        found = super().status(device)
        return PUBLISHED if found == FREE else found

    def counters(self, device: Device) -> list[CounterLeft]:
        """The counters from which the device takes, without what is left of them."""
        return [each._replace(left=None) for each in super().counters(device)]
