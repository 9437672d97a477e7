"""The objects of a live cluster that Claimcheck looks at, as if somebody had written them into files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from cluster.budget import Budget
from documents.manifest import Unwritten
from resourceapi.api_client import (
    FORBIDDEN,
    MOST_OBJECTS,
    NOT_FOUND,
    Api,
    Listing,
    TooLarge,
    Unavailable,
    expect,
    get_object,
)
from resourceapi.kind import Kind
from resourceapi.kinds import KINDS, kind_of, kinds_of
from resourceapi.manifests import pod_spec, text
from resourceapi.model import quotas, workloads
from resourceapi.model.versions import CLASSIC_VERSION, GROUP, SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.records import pod_groups
from resourceapi.releases import Profile

# Which of the kinds that the project knows a cluster serves, and in which groups and versions.


class Discovery:
    """What a cluster says that it serves.

    ``not_served``: versions that it lists, and answers 404 for.
    """

    def __init__(self, api: Api) -> None:
        """Ask the cluster.

        :raises Unavailable: if it does not answer, or does not serve the group.
        """
        path = f"/apis/{GROUP}"
        group = expect(api.request("GET", path), f"GET {path}", 200)
        self.not_served: list[str] = []
        self._resources: dict[str, set[str]] = {}
        for version in _texts(group, "versions", "version", path):
            known = version in SCHEMAS_WITH_PROPOSALS or version == CLASSIC_VERSION
            if not known or version in self._resources:
                continue  # nothing is known of it, or it is there twice
            try:
                listed = expect(api.request("GET", f"{path}/{version}"), f"GET {path}/{version}", 200)
            except Unavailable as error:
                if error.code != NOT_FOUND:
                    raise
                self.not_served.append(version)
                continue
            self._resources[version] = set(_texts(listed, "resources", "name", f"{path}/{version}"))
        self._api = api

    def kinds(self, profile: Profile | None = None) -> list[tuple[Kind, str]]:
        """The kinds that the cluster serves, each with its newest version there.

        :param profile: if it serves some of a kind's versions that the cluster has, the newest of those.
        """
        found = []
        for kind in (kinds_of(profile) if profile else KINDS).values():
            served = [
                version for version in kind.versions if kind.resource in self._resources.get(version, ())
            ]
            common = [version for version in served if profile and kind.served_by(version, profile)]
            if served:
                found.append((kind, (common or served)[0]))
        return found

    def api_versions(
        self, profile: Profile | None = None, wanted: Collection[str] | None = None
    ) -> list[tuple[Kind, str]]:
        """Like :meth:`kinds`, with the group in front of the version, and with kinds that a CRD has put into a further group.

        A kind that is served in two groups is there twice.

        :param wanted: the names of kinds; by default all.
        :raises Unavailable: if the cluster does not answer.
        """
        found = [(kind, f"{GROUP}/{version}") for kind, version in self.kinds(profile)]
        for kind in KINDS.values():
            if kind.further_group and (wanted is None or kind.name in wanted):
                api_version = self.newest_in(kind.further_group, kind.versions, kind.resource)
                found += [(kind, api_version)] if api_version else []
        return [(kind, version) for kind, version in found if wanted is None or kind.name in wanted]

    def newest_in(self, group: str, versions: Iterable[str], resource: str) -> str:
        """The first of some versions in which the cluster serves a resource of another group, with the group; empty if in none.

        Discovery tells a group that is not there from one that may not be read: a list of either is forbidden to a user
        without the right to it. Whoever may not even ask what there is counts as one who may not read it.

        :raises Unavailable: if the cluster does not answer.
        """
        for version in versions:
            path = f"/apis/{group}/{version}"
            try:
                listed = expect(self._api.request("GET", path), f"GET {path}", 200)
            except Unavailable as error:
                if error.code == FORBIDDEN:
                    return f"{group}/{version}"
                if error.code != NOT_FOUND:
                    raise
                continue
            if resource in _texts(listed, "resources", "name", path):
                return f"{group}/{version}"
        return ""


def _texts(answer: Object, key: str, of_each: str, path: str) -> list[str]:
    """What the entries of a list in an answer are called.

    :raises Unavailable: if an entry has no such text.
    """
    found = answer.get(key) or []
    texts = [text(each, of_each) for each in found] if isinstance(found, list) else [""]
    if not all(texts):
        raise Unavailable(f"GET {path}: the answer does not say which {key} are served")
    return texts


# What a server sets itself, and would drop from a new object; but the age of classes says which one stands for a resource.
SERVER_FIELDS = ("managedFields", "resourceVersion", "generation", "selfLink")


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


class Resource(NamedTuple):
    """A collection; the path to it begins with that of its version."""

    api_version: str
    kind: str
    name: str

    @property
    def version_path(self) -> str:
        """Of its version."""
        return f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"

    @property
    def path(self) -> str:
        """Of all its objects, whatever their namespace."""
        return f"{self.version_path}/{self.name}"

    @property
    def is_namespaced(self) -> bool:
        """Whether its objects have a namespace."""
        kind = kind_of(self.api_version, self.kind)
        return self.kind not in _CLUSTER_SCOPED if kind is None else kind.namespaced

    @property
    def is_of_a_namespace(self) -> bool:
        """Whether it makes sense to read it for one namespace."""
        return self.is_namespaced or self.kind == "Namespace"

    @property
    def is_diagnostic(self) -> bool:
        """Whether its objects only ask about others."""
        return self.kind in KINDS and KINDS[self.kind].diagnostic

    def object(self, item: Object) -> Object:
        """An object of a list as a user would have sent it."""
        return {**_as_sent(item), "apiVersion": self.api_version, "kind": self.kind}


_CLUSTER_SCOPED = frozenset(("Namespace", "Node"))
_CONTEXT = (Resource("v1", "Namespace", "namespaces"), Resource("v1", "Node", "nodes"))
_QUOTAS = Resource("v1", quotas.KIND, "resourcequotas")
_WORKLOADS = tuple(
    Resource(f"{group}/v1".lstrip("/"), kind, workloads.RESOURCES[kind])
    for group, kinds in workloads.KINDS.items()
    for kind in kinds
)
_OF_GROUP = frozenset(kind.name for kind in KINDS.values() if not kind.diagnostic)
#: The kinds that answers about an object depend on.
CHECKING = frozenset(("Namespace", "Node", "ResourceClass", *_OF_GROUP))
#: The kinds that scheduling depends on.
SCHEDULING = frozenset(("Namespace", "Node", "Pod", quotas.KIND, pod_groups.KIND, *_OF_GROUP))
#: The kinds that quota depends on: what is limited, what counts as which class, and what is there already.
CHARGING = frozenset(
    (
        "Namespace",
        quotas.KIND,
        "DeviceClass",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "Pod",
        pod_groups.KIND,
    )
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
    unanswered: Unavailable | None = None
    for resource in resources(api, profile, kinds):
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


def resources(api: Api, profile: Profile, kinds: Collection[str] | None = None) -> list[Resource]:
    """The resources of some kinds, each in the version of the server's in which it is read; for `kinds` see :func:`live_objects`.

    :raises Unavailable: if the cluster does not tell what it serves.
    """
    discovery = Discovery(api)
    served = discovery.api_versions(profile, kinds)
    group = [Resource(api_version, kind.name, kind.resource) for kind, api_version in served]
    if kinds is not None and pod_groups.KIND in kinds:
        version = discovery.newest_in(pod_groups.GROUP, pod_groups.VERSIONS, pod_groups.RESOURCE)
        group += [Resource(version, pod_groups.KIND, pod_groups.RESOURCE)] if version else []
    if kinds is None:
        return [*_CONTEXT, *group, *_WORKLOADS]
    return [each for each in (*_CONTEXT, _QUOTAS, *group, *_WORKLOADS) if each.kind in kinds]


def _read(
    api: Api, cluster: str, resource: Resource, namespace: str, budget: Budget, *, only_users: bool
) -> Iterator[LiveObject]:
    """The objects of a collection.

    :param only_users: of workloads only those that use claims.
    """
    selective = only_users and resource.kind in workloads.RESOURCES
    for item in _items(api, resource, namespace):
        value = resource.object(item)
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
        resource = Resource(api_version, kind, KINDS[kind].resource)
    else:
        resource = next(each for each in _WORKLOADS if each.kind == kind)
    where = f"/namespaces/{quote(namespace, safe='')}" if resource.is_namespaced else ""
    path = f"{resource.version_path}{where}/{resource.name}/{quote(name, safe='')}"
    item = get_object(api, path, kind, name)
    return LiveObject(cluster, resource.name, resource.object(item))


def _items(api: Api, resource: Resource, namespace: str) -> Iterator[Object]:
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
    found = item.get("metadata") or {}
    metadata = {key: value for key, value in found.items() if key not in SERVER_FIELDS}
    if managers := found.get("managedFields"):
        # who writes in which version is little, which fields they have set may be more than the object
        metadata["managedFields"] = [
            {key: each[key] for key in ("manager", "apiVersion") if key in each}
            for each in managers
            if isinstance(each, dict)
        ]
    sent = {**item, "metadata": metadata}
    spec = sent.get("spec")
    if isinstance(spec, dict) and "ephemeralContainers" in spec:  # never part of a new pod
        sent["spec"] = {key: value for key, value in spec.items() if key != "ephemeralContainers"}
    return sent
