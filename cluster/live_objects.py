"""The objects of a live cluster that Claimcheck looks at, as if somebody had written them into files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple
from urllib.parse import quote

from cluster.budget import Budget
from cluster.discovery import Discovery
from documents.unwritten import Unwritten
from resourceapi.api_client import FORBIDDEN, MOST_OBJECTS, Api, Listing, TooLarge, Unavailable, get_object
from resourceapi.kinds import KINDS, kind_of
from resourceapi.manifests import pod_spec
from resourceapi.model import quotas, workloads
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import Profile

# What a server sets itself, and would drop from a new object; but the age of classes says which one stands for a resource.
SERVER_FIELDS = ("managedFields", "resourceVersion", "uid", "generation", "selfLink")


class LiveObject(Unwritten):
    """An object of a cluster; ``file`` is a name of it."""

    def __init__(self, cluster: str, resource: str, value: Object) -> None:
        metadata = value.get("metadata") or {}
        parts = (cluster, resource, metadata.get("namespace"), metadata.get("name"))
        super().__init__("/".join(str(part) for part in parts if part), value)


class UnreadList(NamedTuple):
    """A collection that could not be read.

    ``resource``: the plural, as in URLs.  ``namespace``: of this one the objects were read all the same; empty if of none.
    """

    resource: str
    kind: str
    error: Unavailable
    namespace: str = ""


class _Resource(NamedTuple):
    """A collection; the path to it begins with that of its version."""

    api_version: str
    kind: str
    name: str

    @property
    def version_path(self) -> str:
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"

    @property
    def is_namespaced(self) -> bool:
        kind = kind_of(self.api_version, self.kind)
        return self.kind not in _CLUSTER_SCOPED if kind is None else kind.namespaced

    @property
    def is_of_a_namespace(self) -> bool:
        """Whether it makes sense to read it for one namespace."""
        return self.is_namespaced or self.kind == "Namespace"

    @property
    def is_diagnostic(self) -> bool:
        return self.kind in KINDS and KINDS[self.kind].diagnostic


_CLUSTER_SCOPED = frozenset(("Namespace", "Node"))
_CONTEXT = (_Resource("v1", "Namespace", "namespaces"), _Resource("v1", "Node", "nodes"))
_QUOTAS = _Resource("v1", quotas.KIND, "resourcequotas")
_WORKLOADS = tuple(
    _Resource(f"{group}/v1".lstrip("/"), kind, workloads.RESOURCES[kind])
    for group, kinds in workloads.KINDS.items()
    for kind in kinds
)
_OF_GROUP = frozenset(kind.name for kind in KINDS.values() if not kind.diagnostic)
#: The kinds that answers about an object depend on.
CHECKING = frozenset(("Namespace", "Node", "ResourceClass", *_OF_GROUP))
#: The kinds that scheduling depends on.
SCHEDULING = frozenset(("Namespace", "Node", "Pod", *_OF_GROUP))
#: The kinds that quota depends on: what is limited, what counts as which class, and what is there already.
CHARGING = frozenset(
    ("Namespace", quotas.KIND, "DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "Pod")
)


def live_objects(
    api: Api,
    cluster: str,
    profile: Profile,
    *,
    namespace: str = "",
    kinds: Collection[str] | None = None,
    fallback_namespace: str = "",
    budget: Budget | None = None,
) -> Iterator[LiveObject | UnreadList]:
    """The objects of some kinds; without ``kinds`` those that can be validated, and what that depends on.

    Nothing depends on objects of diagnostic kinds, so these are left out where they may not be listed. After a request
    without an answer, nothing more is asked.

    :param cluster: a name for the cluster, with which names of objects begin.
    :param profile: the server that will be asked about them; if it can be, objects are read in versions that it serves.
    :param namespace: of objects that have one, only those in this; empty: in all.
    :param kinds: without them, of the workloads only those that use claims are read.
    :param fallback_namespace: where a list of all namespaces is forbidden, that of this one is read.
    :param budget: what all objects of a command are charged to.
    :raises Unavailable: if the cluster does not tell what it serves.
    """
    budget = budget or Budget()
    served = Discovery(api).api_versions(profile, kinds)
    group = [_Resource(api_version, kind.name, kind.resource) for kind, api_version in served]
    if kinds is None:
        wanted = [*_CONTEXT, *group, *_WORKLOADS]
    else:
        wanted = [each for each in (*_CONTEXT, _QUOTAS, *group, *_WORKLOADS) if each.kind in kinds]
    unanswered: Unavailable | None = None
    for resource in wanted:
        try:
            if unanswered is not None:
                raise unanswered
            yield from _read(api, cluster, resource, namespace, budget, only_users=kinds is None)
            continue
        except Unavailable as error:
            refused = error
        if not refused.code and not isinstance(refused, TooLarge):
            unanswered = refused
        if refused.code == FORBIDDEN and resource.is_diagnostic:
            continue
        may_fall_back = refused.code == FORBIDDEN and resource.is_of_a_namespace and not namespace
        fallback = fallback_namespace if may_fall_back else ""
        try:
            if fallback:
                yield from _read(api, cluster, resource, fallback, budget, only_users=kinds is None)
            yield UnreadList(resource.name, resource.kind, refused, fallback)
        except Unavailable:
            yield UnreadList(resource.name, resource.kind, refused)


def _read(
    api: Api, cluster: str, resource: _Resource, namespace: str, budget: Budget, *, only_users: bool
) -> Iterator[LiveObject]:
    """The objects of a collection.

    :param only_users: of workloads only those that use claims.
    """
    selective = only_users and resource.kind in workloads.RESOURCES
    for item in _items(api, resource, namespace):
        value = {"apiVersion": resource.api_version, "kind": resource.kind, **_as_sent(item)}
        if not selective or pod_spec(value)[1].get("resourceClaims"):
            budget.hold(value)
            yield LiveObject(cluster, resource.name, value)


def live_object(
    api: Api, cluster: str, profile: Profile, *, kind: str, namespace: str, name: str
) -> LiveObject:
    """One object of the group, or one workload.

    :raises Unavailable: if it cannot be read; with the server's message where there is none.
    """
    if kind in KINDS:
        served = [version for _, version in Discovery(api).api_versions(profile, (kind,))]
        api_version = served[0] if served else f"{GROUP}/{next(iter(KINDS[kind].versions))}"
        resource = _Resource(api_version, kind, KINDS[kind].resource)
    else:
        resource = next(each for each in _WORKLOADS if each.kind == kind)
    where = f"/namespaces/{quote(namespace, safe='')}" if resource.is_namespaced else ""
    path = f"{resource.version_path}{where}/{resource.name}/{quote(name, safe='')}"
    item = get_object(api, path, kind, name)
    value = {**_as_sent(item), "apiVersion": resource.api_version, "kind": kind}
    return LiveObject(cluster, resource.name, value)


def _items(api: Api, resource: _Resource, namespace: str) -> Iterator[Object]:
    """The objects of a collection; in one namespace, if that is given and they are in one."""
    path, escaped = resource.version_path, quote(namespace, safe="")
    if namespace and resource.kind == "Namespace":
        path += f"/namespaces/{escaped}"
        yield get_object(api, path, resource.kind, namespace)
        return
    if namespace and resource.is_namespaced:
        path += f"/namespaces/{escaped}"
    yield from Listing(api, f"{path}/{resource.name}", MOST_OBJECTS)


def _as_sent(item: Object) -> Object:
    """An object as a user would have sent it."""
    metadata = {key: value for key, value in (item.get("metadata") or {}).items() if key not in SERVER_FIELDS}
    sent = {**item, "metadata": metadata}
    spec = sent.get("spec")
    if isinstance(spec, dict) and "ephemeralContainers" in spec:  # never part of a new pod
        sent["spec"] = {key: value for key, value in spec.items() if key != "ephemeralContainers"}
    return sent
