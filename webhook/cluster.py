"""What a process follows of the cluster, each collection in a thread of its own."""

from __future__ import annotations

from threading import Event, Thread

from resourceapi.releases import Profile
from webhook.devices import KnownDevices
from webhook.known import Claims, HostNames, Labels
from webhook.watching import Connection, Receiver, Watch

NAMESPACES, NODES, DEVICES, CLAIMS = "namespaces", "nodes", "devices", "claims"
GROUP_PATH = "/apis/resource.k8s.io/v1"


class Cluster:
    """The parts that are followed are those named when it was made; the others stay empty."""

    def __init__(self, parts: frozenset[str], connection: Connection | None, profile: Profile) -> None:
        """
        :param parts: of NAMESPACES, NODES, DEVICES and CLAIMS.
        :param connection: None if there are no parts.
        """
        self.parts = parts
        self.namespaces = Labels()
        self.nodes = HostNames()
        self.devices = KnownDevices(profile)
        self.claims = Claims()
        self._watches: list[Watch] = []
        if connection is not None:
            self._add(connection, NAMESPACES, "/api/v1/namespaces", self.namespaces, metadata_only=True)
            self._add(connection, NODES, "/api/v1/nodes", self.nodes, metadata_only=True)
            self._add(connection, DEVICES, f"{GROUP_PATH}/resourceslices", self.devices.slices)
            self._add(connection, DEVICES, f"{GROUP_PATH}/deviceclasses", self.devices.device_classes)
            self._add(connection, CLAIMS, f"{GROUP_PATH}/resourceclaims", self.claims)

    def _add(
        self, connection: Connection, part: str, path: str, receiver: Receiver, *, metadata_only: bool = False
    ) -> None:
        if part in self.parts:
            self._watches.append(Watch(connection, path, receiver, metadata_only=metadata_only))

    def is_known(self) -> bool:
        """Whether everything that is followed has been listed once."""
        return all(watch.synced.is_set() for watch in self._watches)

    def follow(self) -> None:
        """Start to follow, until the process ends."""
        for watch in self._watches:
            Thread(target=watch.run, args=(Event(),), daemon=True).start()
