"""``--kubeconfig``: the live objects of a cluster instead of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from advice.findings import Result
from cluster.client import Client
from cluster.discovery import Discovery
from cluster.kubeconfig import KubeconfigError, kubeconfig_access
from commandline.errors import UsageError
from commandline.reports.escaping import on_one_line
from commandline.results import Failure
from documents.errors import DocumentError
from documents.positions import Place
from documents.source import Path
from resourceapi.api_client import Listing, Unavailable, expect
from resourceapi.field_path import json_pointer
from resourceapi.kinds import KINDS
from resourceapi.model import workloads
from resourceapi.model.versions import GROUP
from resourceapi.releases import Profile

if TYPE_CHECKING:
    from documents.manifest import Manifest

TIMEOUT_SECONDS = 30.0
CONTEXT_LISTS = (("v1", "Namespace", "namespaces"), ("v1", "Node", "nodes"))
WORKLOAD_LISTS = tuple(
    (f"{group}/v1".lstrip("/"), kind, workloads.RESOURCES[kind])
    for group, kinds in workloads.KINDS.items()
    for kind in kinds
)
# What a server sets itself; sent with a new object it would only be dropped again.
SERVER_FIELDS = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")


OK, FORBIDDEN = 200, 403


class Unread(Failure):
    """A list of a cluster that could not be read, of objects of this kind; at most those in a namespace were.

    ``reason`` is what the server said; ``read_namespace`` is empty if there is no such namespace.
    """

    __slots__ = ("kind", "read_namespace", "reason")

    def __init__(self, file: str, reason: str, kind: str, read_namespace: str = "") -> None:
        only = f"; only those in the namespace {read_namespace} are known" if read_namespace else ""
        super().__init__(file, reason + only)
        self.kind = kind
        self.read_namespace = read_namespace
        self.reason = reason


class LiveObject:
    """An object of a cluster.  It has a name where others have a file, and no lines."""

    index = 0
    line = 0
    notices: tuple[DocumentError, ...] = ()
    has_repeated_keys = False

    def __init__(self, cluster: str, resource: str, value: dict[str, Any]) -> None:
        self.value = value
        metadata = value.get("metadata") or {}
        parts = (cluster, resource, metadata.get("namespace"), metadata.get("name"))
        self.file = "/".join(str(part) for part in parts if part)

    def locate(self, path: Path) -> Place:
        return Place(0, 0, 1, exact=False)

    locate_key = locate

    def locate_in_scalar(self, path: Path, offset: int, length: int = 1) -> Place:
        return Place(0, 0, 1, exact=False)

    def written(self, path: Path) -> str:
        return ""

    def locate_repeated_keys(self) -> list[tuple[Path, Place, Place]]:
        return []

    def source_line(self, number: int) -> str:
        return ""

    def json_pointer(self, path: Path) -> str:
        return json_pointer(path)


class LiveCluster:
    """The cluster of a context in a kubeconfig; ``name`` is that of the context."""

    def __init__(self, kubeconfig: str, context: str) -> None:
        """
        :param context: empty: the file's current context.
        :raises UsageError: if the file cannot be used.
        """
        try:
            access, self.name = kubeconfig_access(kubeconfig, context)
        except KubeconfigError as error:
            raise UsageError(f"--kubeconfig {kubeconfig}: {on_one_line(str(error))}") from None
        self.client = Client(access, timeout=TIMEOUT_SECONDS)

    def get(self, path: str) -> dict[str, Any]:
        """The object at a path of the API.

        :raises Unavailable: if there is none.
        """
        found: dict[str, Any] = expect(self.client.request("GET", path), f"GET {path}", OK)
        return found

    def failure(self, error: Unavailable) -> str:
        """What to report of a request that failed."""
        if error.code:
            return f"the server answers {error.code} {error.reason}".rstrip()
        return f"no answer from {self.client.server}: {error.reason}"


def live_objects(
    kubeconfig: str,
    context: str,
    profile: Profile,
    namespace: str = "",
    *,
    workloads_too: bool = True,
    at_least: str = "",
) -> Iterator[Manifest | Result | Failure]:
    """All DRA objects of a cluster, namespaces and nodes, and the workloads that use claims.

    :param context: the name of a context in the file; empty: its current one.
    :param namespace: of objects that have one, only those in this; empty: in all.
    :param workloads_too: without it workloads are not read, which takes rights and time.
    :param at_least: where a list of all namespaces is forbidden, that of this one is read.
    :param profile: the server that will be asked about them; objects are read in versions that it serves, too.
    :raises UsageError: if the file cannot be used.
    """
    cluster = LiveCluster(kubeconfig, context)
    try:
        served = Discovery(cluster.client).kinds(profile)
        group = [(f"{GROUP}/{version}", kind.name, kind.resource) for kind, version in served]
        lists = (*CONTEXT_LISTS, *group, *(WORKLOAD_LISTS if workloads_too else ()))
    except Unavailable as error:
        yield Failure(f"{cluster.name}/{GROUP}", cluster.failure(error))
        return
    for api_version, kind, resource in lists:
        file = f"{cluster.name}/{resource}"
        try:
            yield from _read(cluster, api_version, kind, resource, namespace)
        except Unavailable as error:
            refused = error
        else:
            continue
        other = at_least if refused.code == FORBIDDEN and _is_namespaced(kind) and not namespace else ""
        try:
            if other:
                yield from _read(cluster, api_version, kind, resource, other)
            yield Unread(file, cluster.failure(refused), kind, other)
        except Unavailable:
            yield Unread(file, cluster.failure(refused), kind)


def _read(
    cluster: LiveCluster, api_version: str, kind: str, resource: str, namespace: str
) -> Iterator[LiveObject]:
    """
    :raises Unavailable: where the list cannot be read, or not to its end.
    """
    for item in _items(cluster, api_version, kind, resource, namespace):
        value = {"apiVersion": api_version, "kind": kind, **_as_sent(item)}
        if kind not in workloads.RESOURCES or _uses_claims(value):
            yield LiveObject(cluster.name, resource, value)


def _items(
    cluster: LiveCluster, api_version: str, kind: str, resource: str, namespace: str
) -> Iterator[dict[str, Any]]:
    """The objects of a list, page by page; in one namespace, if that is given and they are in one."""
    path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    if namespace and kind == "Namespace":
        yield cluster.get(f"{path}/namespaces/{quote(namespace, safe='')}")
        return
    if namespace and _is_namespaced(kind):
        path += f"/namespaces/{quote(namespace, safe='')}"
    yield from Listing(cluster.client, f"{path}/{resource}")


def _is_namespaced(kind: str) -> bool:
    return KINDS[kind].namespaced if kind in KINDS else kind in workloads.RESOURCES


def _as_sent(item: dict[str, Any]) -> dict[str, Any]:
    """An object as a user would have sent it."""
    metadata = {key: value for key, value in (item.get("metadata") or {}).items() if key not in SERVER_FIELDS}
    sent = {**item, "metadata": metadata}
    spec = sent.get("spec")
    if isinstance(spec, dict) and "ephemeralContainers" in spec:  # never part of a new pod
        sent["spec"] = {key: value for key, value in spec.items() if key != "ephemeralContainers"}
    return sent


def _uses_claims(value: dict[str, Any]) -> bool:
    from resourceapi.manifests import pod_spec

    return bool(pod_spec(value)[1].get("resourceClaims"))
