"""Clusters that questions are about: objects from files, from Python, or of a live cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from advice.device_inventory import DeviceInventory
from advice.findings import Result
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.live_cluster import Chosen, LiveCluster, choose
from claimcheck.answers.outcome import Failure
from claimcheck.answers.scenario import Reader, Scenario, fellows_in, scheduling_objects, snapshot_of
from claimcheck.inputs import Objects, profile_of, values_in
from resourceapi.errors import Unanswerable
from resourceapi.quantity import Quantity

if TYPE_CHECKING:
    from allocator.explaining.snapshot import Snapshot
    from cluster.access import Access
    from documents.manifest import Manifest
    from resourceapi.releases import Profile


#: How long patches of devices may take to be applied, and pods with their claims to be read, in seconds.
PATCH_SECONDS = READING_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a ResourceSlice, as ResourceSlicePatches and DeviceTaintRules change it.

    ``spec`` is the element of ``spec.devices`` in ``resource.k8s.io/v1``, as JSON has it.
    """

    driver: str
    pool: str
    name: str
    spec: Mapping[str, Any]

    def __str__(self) -> str:
        """``driver/pool/device``."""
        return f"{self.driver}/{self.pool}/{self.name}"


class Cluster:
    """The objects of a cluster at one moment. Questions do not change it, and any thread may ask them.

    Made by :meth:`from_files`, :meth:`from_objects`, :meth:`from_kubeconfig` or :meth:`from_api_client`.
    """

    def __init__(self, profile: Profile, manifests: list[Manifest], namespace: str) -> None:
        #: the objects as they were given
        self.manifests = manifests
        self.profile = profile
        #: the namespace of objects that name none
        self.namespace = namespace
        self.is_live = False
        self._state = ClusterState(profile, namespace)
        self._snapshot: Snapshot | None = None
        #: held while a question is answered: the allocator takes one at a time
        self.lock = Lock()

    @classmethod
    def from_files(
        cls,
        *paths: str | os.PathLike[str],
        kube_version: str | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        namespace: str = "default",
    ) -> Self:
        """The objects in files and directories, such as the output of ``kubectl get -o yaml``.

        :param kube_version: the release, such as ``"1.34"``; the newest one if it is None.
        :param feature_gates: gates that differ from the release's defaults.
        :param namespace: for objects that name none.
        :raises ClaimcheckError: if something cannot be read.
        """
        from pathlib import Path

        objects = [Path(path) for path in paths]
        return cls.from_objects(
            objects, kube_version=kube_version, feature_gates=feature_gates, namespace=namespace
        )

    @classmethod
    def from_objects(
        cls,
        objects: Objects,
        *,
        kube_version: str | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        namespace: str = "default",
    ) -> Self:
        """Dictionaries, models of ``kubernetes``, texts in YAML or JSON, paths; one or several.

        :raises ClaimcheckError: if something cannot be read.
        """
        profile = profile_of(kube_version, feature_gates)
        cluster = cls(profile, list(values_in(objects, profile)), namespace)
        cluster._state.learn(cluster.manifests)
        if cluster._state.failures:
            failure = cluster._state.failures[0]
            raise Unanswerable(f"{failure.file}: {failure.message}")
        return cluster

    @classmethod
    def from_kubeconfig(
        cls,
        kubeconfig: str | os.PathLike[str] | None = None,
        *,
        context: str = "",
        kube_version: str | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        namespace: str = "",
    ) -> Self:
        """The objects that a live cluster has now, which are read as kubectl would read them.

        :param kubeconfig: a file; None: those of ``$KUBECONFIG``, else ``~/.kube/config``, else that of the pod this runs in.
        :param context: the name of one; empty: the current one.
        :param kube_version: the release to ask about; that of the cluster if it is None.
        :param namespace: for objects that name none; empty: that of the context.
        :raises ClaimcheckError: if the cluster does not answer. What may not be read is in ``problems``.
        """
        chosen = choose(None if kubeconfig is None else os.fspath(kubeconfig), context)
        return cls._live(chosen, kube_version, feature_gates, namespace)

    @classmethod
    def from_api_client(
        cls,
        api_client: Any,
        *,
        kube_version: str | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        namespace: str = "",
    ) -> Self:
        """The same, through a ``kubernetes.client.ApiClient``: its address, TLS, proxy and credentials.

        :raises ClaimcheckError: if the cluster does not answer. What may not be read is in ``problems``.
        """
        access = _access_of(api_client)
        chosen = Chosen(access, access.server, "", access.server)
        return cls._live(chosen, kube_version, feature_gates, namespace)

    @classmethod
    def _live(
        cls,
        chosen: Chosen,
        kube_version: str | None,
        feature_gates: Mapping[str, bool] | None,
        namespace: str,
    ) -> Self:
        live = LiveCluster(chosen)
        profile = profile_of(kube_version or live.release() or None, feature_gates)
        cluster = cls(profile, [], namespace or live.namespace or "default")
        cluster.is_live = True
        state = cluster._state
        for each in scheduling_objects(live, cluster.namespace, profile, state):
            state.learn([each], live=True)
            if not isinstance(each, Failure | Result):
                cluster.manifests.append(each)
        return cluster

    @property
    def kube_version(self) -> str:
        """The release, such as ``1.37``."""
        return self.profile.name

    @property
    def problems(self) -> list[str]:
        """What could not be read from a live cluster, in sentences."""
        failures = (*self._state.unread.values(), *self._state.failures)
        return list(dict.fromkeys(f"{each.file}: {each.message}" for each in failures))

    @property
    def unread(self) -> dict[str, set[str]]:
        """The kinds of which not all objects could be read, with the namespaces in which they could."""
        return {kind: {each.read_namespace}.difference({""}) for kind, each in self._state.unread.items()}

    def devices(self) -> list[Device]:
        """All devices in slices of their pool's newest generation."""
        inventory = DeviceInventory(self._state.slices)
        return [Device(*id, _as_json(device)) for id, device in inventory.devices()]

    def scenario(self, found: list[Manifest]) -> Scenario:
        """The workloads among objects, in a copy of the cluster. The lock has to be held as long as it is used.

        :raises Unanswerable: if nothing requests devices, or what does takes too long to be read.
        """
        from allocator.time_limit import OutOfTime, TimeLimit

        state = self._state.copy()
        requesting = state.learn(found, new=True)
        if state.failures:
            raise Unanswerable(f"{state.failures[0].file}: {state.failures[0].message}")
        limit = TimeLimit(READING_SECONDS)
        try:
            reader = Reader(state, self.namespace, " in the objects or the cluster")
            workloads = reader.workloads(requesting, limit)
            fellows = fellows_in(state, self.manifests, workloads, self.namespace, limit)
        except OutOfTime:
            reason = f"reading the pods and their claims took longer than {READING_SECONDS:g} s"
            raise Unanswerable(reason) from None
        if not workloads:
            raise Unanswerable(
                "nothing requests devices: there are neither resource claims nor extended resources"
            )
        return Scenario(state, self._seen(), workloads, fellows)

    def _seen(self) -> Snapshot:
        """The cluster as the allocator sees it."""
        from allocator.time_limit import OutOfTime, TimeLimit

        if self._snapshot is None:
            try:
                self._snapshot = snapshot_of(self._state, TimeLimit(PATCH_SECONDS))
            except OutOfTime:
                reason = f"applying ResourceSlicePatches to the devices took longer than {PATCH_SECONDS:g} s"
                raise Unanswerable(reason) from None
        return self._snapshot


def _as_json(value: Any) -> Any:
    """A value in normal form as JSON has it: with quantities as texts."""
    if isinstance(value, dict):
        return {key: _as_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_json(each) for each in value]
    return str(value) if isinstance(value, Quantity) else value


# Access to a cluster by way of the package ``kubernetes``, which is not imported here: its users have it.


def _access_of(api_client: Any) -> Access:
    """The address, the connections and the credentials of a ``kubernetes.client.ApiClient``.

    :raises Unanswerable: if it is none.
    """
    from cluster.access import Access

    try:
        configuration, pool = api_client.configuration, api_client.rest_client.pool_manager
        server = str(configuration.host).rstrip("/")
        settings = configuration.auth_settings
        others = api_client.default_headers
    except AttributeError as error:
        raise Unanswerable(f"expected a kubernetes.client.ApiClient: {error}") from None
    impersonation = [
        (str(name), str(value))
        for name, value in others.items()
        if str(name).lower().startswith("impersonate-")
    ]

    def headers() -> list[tuple[str, str]]:
        # asked for every request: the client renews its tokens there
        found = [each for each in settings().values() if each.get("in") == "header" and each.get("value")]
        return [*((str(each["key"]), str(each["value"])) for each in found), *impersonation]

    return Access(server, pool, headers)
