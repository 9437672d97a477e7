"""The devices of a cluster by node, with equal nodes together: what the page draws as a map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from allocator.devices import Device
from claimcheck.answers.devices.cluster_devices import MOST_LISTED, SHARED, ClusterDevices
from claimcheck.answers.devices.fills import fills
from resourceapi.records.pools import DeviceId

Json = dict[str, Any]
#: Names of equal nodes that are listed, and kinds whose attributes are.
MOST_NAMES = MOST_DESCRIBED = 1_000


class Square(NamedTuple):
    """What is told of a device on the map.

    :param kind: the number of its kind, see :attr:`DeviceMap.kinds`.
    :param tainted: whether requests without tolerations do not get it.
    :param used: of a device that claims share, how much of its fullest capacity they use, from 0 to 1.
    """

    kind: int
    status: str
    tainted: bool
    used: float | None = None
    name: str = ""

    @property
    def words(self) -> str:
        """The same as people say it."""
        share = "" if self.used is None else f", {self.used:.0%} in use"
        return f"{self.name}: {self.status}{share}{', tainted' if self.tainted else ''}"


class Group(NamedTuple):
    """Nodes, or pools, that are alike.

    :param names: of which there is at least one.
    :param closed: why pods without tolerations do not come there; empty if they do.
    :param devices: those of the first one.
    """

    names: Sequence[str]
    closed: str
    devices: Sequence[Square]

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.names)


class DeviceMap:
    """The devices of the newest generations.

    :ivar kinds: the devices between which no selector tells a difference, together.
    :ivar by_node: the devices that are on one node, by the name of that.
    :ivar elsewhere: the devices that several nodes can use, by the name of their pool.
    """

    def __init__(self, devices: ClusterDevices, chosen: Iterable[Device] | None = None) -> None:
        """Sort them.

        :param chosen: the only ones that are shown.
        """
        self._devices = devices
        self.kinds = devices.kinds()
        self._kind_of = {each.id: number for number, devices in enumerate(self.kinds) for each in devices}
        self.by_node: dict[str, list[Device]] = {}
        self.elsewhere: dict[str, list[Device]] = {}
        for each in devices if chosen is None else chosen:
            if not devices.is_obsolete(each):
                node = each.placement.get("nodeName")
                where, name = (self.by_node, node) if node else (self.elsewhere, each.id.pool)
                where.setdefault(name, []).append(each)

    def document(self) -> Json:
        """The map as plain data."""
        on_nodes, elsewhere = self.tiles()
        return {
            "kinds": [_kind(each, described=place < MOST_DESCRIBED) for place, each in enumerate(self.kinds)],
            "groups": [_group(each) for each in on_nodes],
            "elsewhere": [_group(each) for each in elsewhere],
        }

    def tiles(self) -> tuple[list[Group], list[Group]]:
        """The nodes that are alike, and the pools of devices that several nodes can use; the largest groups first."""
        return self._groups(self.by_node), self._groups(self.elsewhere)

    def device(self, id: DeviceId) -> Device | None:
        """A device by its name; None if no slice has it."""
        kind = self._kind_of.get(id)
        return None if kind is None else next(each for each in self.kinds[kind] if each.id == id)

    def _groups(self, places: Mapping[str, Sequence[Device]]) -> list[Group]:
        """Those with equal devices together, the largest groups first."""
        groups: dict[tuple[str, tuple[Square, ...]], list[str]] = {}
        for name, devices in places.items():
            closed = self._devices.closed(devices[0])
            key = ("" if closed is None else closed.named, tuple(map(self._square, devices)))
            groups.setdefault(key, []).append(name)
        found = sorted(groups.items(), key=lambda each: -len(each[1]))
        return [Group(names, key[0], self._named(key[1], places[names[0]])) for key, names in found]

    @staticmethod
    def _named(squares: Iterable[Square], devices: Iterable[Device]) -> list[Square]:
        return [
            square._replace(name=device.id.device) for square, device in zip(squares, devices, strict=True)
        ]

    def _square(self, device: Device) -> Square:
        status, tainted = self._devices.status(device), self._devices.is_tainted(device)
        found = fills(self._devices, device) if status == SHARED else []
        used = [each.used for each in found if each.used is not None]
        return Square(self._kind_of[device.id], status, tainted, round(max(used), 2) if used else None)


def _group(group: Group) -> Json:
    return {
        "count": group.size,
        "names": group.names[:MOST_NAMES],
        "closed": group.closed,
        "devices": [each._asdict() for each in group.devices],
    }


def _kind(devices: Sequence[Device], *, described: bool) -> Json:
    first = devices[0]
    attributes = islice(first.attributes.items(), MOST_LISTED if described else 0)
    return {
        "driver": first.id.driver,
        "count": len(devices),
        "attributes": {name: next(iter(value.values())) for name, value in attributes if value},
    }
