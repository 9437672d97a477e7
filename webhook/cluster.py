"""The objects of the cluster that reviews depend on, beside the one under review; watched, or from an inventory."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Event, Thread
from typing import Any

from allocator.features import Features
from cluster.budget import Holdings
from cluster.client import Client
from cluster.reflector import Reflector
from cluster.store import Collection
from resourceapi.kinds import DEVICE_CLASS, RESOURCE_SLICE, RESOURCE_SLICE_PATCH
from resourceapi.manifests import labels_of
from resourceapi.model.versions import OWN_GROUP, V1_PATH
from resourceapi.objects import Object
from resourceapi.records.nodes import read_node
from resourceapi.releases import Profile
from webhook.devices import DeviceIndex
from webhook.object_cache import ClaimCounts, read_claim

NAMESPACES, NODES, DEVICES, CLAIMS = PARTS = ("namespaces", "nodes", "devices", "claims")


class Cluster:
    """Collections, each held once in a process, and views of them."""

    def __init__(self, profile: Profile) -> None:
        self.namespaces = Collection(labels_of)
        self.nodes = Collection(read_node)
        self.claims = Collection(read_claim)
        self.claim_counts = ClaimCounts(self.claims)
        self.devices = DeviceIndex(profile, self.nodes)


class WatchedCluster(Cluster):
    """A cluster of which some parts are watched; the others stay empty."""

    def __init__(
        self,
        profile: Profile,
        parts: Iterable[str] = (),
        client: Client | None = None,
        patch_group: str = OWN_GROUP,
    ) -> None:
        """Prepare the watches; :meth:`follow` starts them.

        :param parts: those to watch, of :data:`PARTS`; needs a client.
        :param patch_group: the API group in which the API server has ResourceSlicePatches.
        """
        super().__init__(profile)
        self.parts = frozenset(parts)
        self.reflectors: list[Reflector] = []
        if client is None:
            return
        group = V1_PATH
        collections: list[tuple[str, str, Collection[Any]]] = [
            (NAMESPACES, "/api/v1/namespaces", self.namespaces),
            (NODES, "/api/v1/nodes", self.nodes),
            (DEVICES, f"{group}/resourceslices", self.devices.slices),
            (DEVICES, f"{group}/deviceclasses", self.devices.device_classes),
            (CLAIMS, f"{group}/resourceclaims", self.claims),
        ]
        if Features(profile.gates).device_patches:
            collections.append((DEVICES, RESOURCE_SLICE_PATCH.path_in(patch_group), self.devices.patches))
        holdings = Holdings()
        self.reflectors += [
            Reflector(client, path, collection, holdings, metadata_only=part in (NAMESPACES, NODES))
            for part, path, collection in collections
            if part in self.parts
        ]

    def is_synced(self) -> bool:
        """Whether everything that is watched has been listed once."""
        return all(reflector.synced.is_set() for reflector in self.reflectors)

    def follow(self) -> None:
        """Start to watch, until the process ends; not before processes are forked."""
        self.devices.fitting.start()
        for reflector in self.reflectors:
            Thread(target=reflector.run, args=(Event(),), daemon=True).start()


def with_inventory(profile: Profile, watched: WatchedCluster, inventory: Iterable[Object]) -> Cluster:
    """The cluster that reviews see: the parts that are watched, and the others as an inventory of files shows them.

    An inventory without slices says nothing about devices.

    :param inventory: objects of any kind and version.
    """
    cluster = Cluster(profile)
    by_kind: dict[object, list[Object]] = {}
    for obj in inventory:
        kind = obj.get("kind")
        if kind not in ("Namespace", "Node") or obj.get("apiVersion") == "v1":
            by_kind.setdefault(kind, []).append(obj)
    if NAMESPACES in watched.parts:
        cluster.namespaces = watched.namespaces
    else:
        cluster.namespaces.replace(by_kind.get("Namespace", ()))
    if NODES in watched.parts:
        cluster.nodes = watched.nodes
    elif "Node" in by_kind:
        cluster.nodes.replace(by_kind["Node"])
    if DEVICES in watched.parts:
        cluster.devices = watched.devices
    elif RESOURCE_SLICE.name in by_kind:
        cluster.devices.slices.replace(by_kind[RESOURCE_SLICE.name])
        cluster.devices.device_classes.replace(by_kind.get(DEVICE_CLASS.name, ()))
        cluster.devices.patches.replace(by_kind.get(RESOURCE_SLICE_PATCH.name, ()))
    return cluster
