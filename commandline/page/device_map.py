"""The devices of a cluster by node, with equal nodes together: what the page draws as a map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from allocator.devices import Device
from claimcheck.answers.devices.cluster_devices import MOST_LISTED, ClusterDevices
from resourceapi.records.pools import DeviceId

Json = dict[str, Any]
#: Names of equal nodes that are listed, and kinds whose attributes are.
MOST_NAMES = MOST_DESCRIBED = 1_000


class _Square(NamedTuple):
    """What is told of a device on the map.

    :param kind: the number of its kind, see :attr:`DeviceMap.kinds`.
    :param tainted: whether requests without tolerations do not get it.
    """

    kind: int
    status: str
    tainted: bool


class DeviceMap:
    """The devices of the newest generations.

    :ivar kinds: the devices between which no selector tells a difference, together.
    :ivar by_node: the devices that are on one node, by the name of that.
    :ivar elsewhere: the devices that several nodes can use, by the name of their pool.
    """

    def __init__(self, devices: ClusterDevices) -> None:
        self._devices = devices
        self.kinds = devices.kinds()
        self._kind_of = {each.id: number for number, devices in enumerate(self.kinds) for each in devices}
        self.by_node: dict[str, list[Device]] = {}
        self.elsewhere: dict[str, list[Device]] = {}
        for each in devices:
            if not devices.is_obsolete(each):
                node = each.placement.get("nodeName")
                where, name = (self.by_node, node) if node else (self.elsewhere, each.id.pool)
                where.setdefault(name, []).append(each)

    def document(self) -> Json:
        """The map as plain data."""
        return {
            "kinds": [_kind(each, described=place < MOST_DESCRIBED) for place, each in enumerate(self.kinds)],
            "groups": list(self._groups(self.by_node)),
            "elsewhere": list(self._groups(self.elsewhere)),
        }

    def device(self, id: DeviceId) -> Device | None:
        """A device by its name; None if no slice has it."""
        kind = self._kind_of.get(id)
        return None if kind is None else next(each for each in self.kinds[kind] if each.id == id)

    def _groups(self, places: Mapping[str, Sequence[Device]]) -> Iterator[Json]:
        """Those with equal devices together, the largest groups first."""
        groups: dict[tuple[str, tuple[_Square, ...]], list[str]] = {}
        for name, devices in places.items():
            closed = self._devices.closed(devices[0])
            key = ("" if closed is None else closed.named, tuple(map(self._square, devices)))
            groups.setdefault(key, []).append(name)
        for (why_closed, squares), names in sorted(groups.items(), key=lambda each: -len(each[1])):
            first = places[names[0]]
            yield {
                "count": len(names),
                "names": names[:MOST_NAMES],
                "closed": why_closed,
                "devices": [
                    {"name": device.id.device, **square._asdict()}
                    for device, square in zip(first, squares, strict=True)
                ],
            }

    def _square(self, device: Device) -> _Square:
        status, tainted = self._devices.status(device), self._devices.is_tainted(device)
        return _Square(self._kind_of[device.id], status, tainted)


def _kind(devices: Sequence[Device], *, described: bool) -> Json:
    first = devices[0]
    attributes = islice(first.attributes.items(), MOST_LISTED if described else 0)
    return {
        "driver": first.id.driver,
        "count": len(devices),
        "attributes": {name: next(iter(value.values())) for name, value in attributes if value},
    }
