"""What a process follows of the cluster, each collection in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event, Thread

from cluster.client import Client
from cluster.reflector import Receiver, Reflector
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from resourceapi.releases import Profile
from webhook.devices import KnownDevices
from webhook.fitting import Fitting
from webhook.object_cache import Claims, HostNames, Labels, labels_of

NAMESPACES, NODES, DEVICES, CLAIMS = "namespaces", "nodes", "devices", "claims"
GROUP_PATH = "/apis/resource.k8s.io/v1"


class Cluster:
    """The parts that are followed are those named when it was made; the others stay empty."""

    def __init__(self, parts: frozenset[str], client: Client | None, profile: Profile) -> None:
        """
        :param parts: of NAMESPACES, NODES, DEVICES and CLAIMS.
        :param client: None if there are no parts.
        """
        self.parts = parts
        self.namespaces = Labels()
        self.nodes = HostNames()
        self.devices = KnownDevices(profile)
        self.claims = Claims()
        self.watches: list[Reflector] = []
        if client is not None:
            self._add(client, NAMESPACES, "/api/v1/namespaces", self.namespaces, metadata_only=True)
            nodes = Nodes(self.nodes, self.devices.fitting)
            self._add(client, NODES, "/api/v1/nodes", nodes, metadata_only=True)
            self._add(client, DEVICES, f"{GROUP_PATH}/resourceslices", self.devices.slices)
            self._add(client, DEVICES, f"{GROUP_PATH}/deviceclasses", self.devices.device_classes)
            self._add(client, CLAIMS, f"{GROUP_PATH}/resourceclaims", self.claims)

    def _add(
        self, client: Client, part: str, path: str, receiver: Receiver, *, metadata_only: bool = False
    ) -> None:
        if part in self.parts:
            self.watches.append(Reflector(client, path, receiver, metadata_only=metadata_only))

    def is_known(self) -> bool:
        """Whether everything that is followed has been listed once."""
        return all(watch.synced.is_set() for watch in self.watches)

    def follow(self) -> None:
        """Start to follow, until the process ends."""
        self.devices.fitting.start()
        for watch in self.watches:
            Thread(target=watch.run, args=(Event(),), daemon=True).start()


class Nodes:
    """Receives nodes, whose host names and labels are of interest to some; their status changes all the time."""

    def __init__(self, host_names: HostNames, fitting: Fitting) -> None:
        self._host_names = host_names
        self._fitting = fitting
        self._labels: dict[str, dict[str, str]] = {}

    def replace(self, objects: Iterable[Object]) -> None:
        self._labels = {name_of(obj): labels_of(obj) for obj in objects}
        nodes = self._labels.items()
        self._host_names.replace({"metadata": {"name": name, "labels": labels}} for name, labels in nodes)
        self._fitting.replace_nodes(self._labels)

    def put(self, obj: Object) -> None:
        name, labels = name_of(obj), labels_of(obj)
        if self._labels.get(name) != labels:
            self._labels[name] = labels
            self._host_names.put(obj)
            self._fitting.put_node(name, labels)

    def remove(self, obj: Object) -> None:
        self._labels.pop(name_of(obj), None)
        self._host_names.remove(obj)
        self._fitting.remove_node(name_of(obj))

    def lose(self) -> None:
        self._labels = {}
        self._host_names.lose()
        self._fitting.lose_nodes()
