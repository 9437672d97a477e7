"""``validate FILE --live``: what the cluster knows about objects of files: stored objects, namespaces, classes and devices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from claimcheck.answers.cluster_context import Namespaces
from claimcheck.answers.live_cluster import LiveCluster
from claimcheck.answers.outcome import Failure, Unread
from cluster.live_objects import CHECKING
from resourceapi.api_client import NOT_FOUND, Unavailable, expect_object
from resourceapi.kinds import KINDS, kind_of
from resourceapi.manifests import labels_of
from resourceapi.model import workloads
from resourceapi.names import is_dots

if TYPE_CHECKING:
    from advice.findings import Result
    from claimcheck.answers.cluster_context import ClusterContext
    from cluster.live_objects import LiveObject
    from resourceapi.objects import Object
    from resourceapi.releases import Profile
    from validation.server import Server

#: What is not checked if objects of a kind cannot be read.
_UNCHECKED = {
    "DeviceClass": "whether device classes exist",
    "ResourceSlice": "whether devices match",
    "ResourceSlicePatch": "whether devices match, as patches may change them",
    "ResourceClaim": "whether claims exist that pods name",
    "ResourceClaimTemplate": "whether templates exist that pods name",
    "Node": "what nodes declare",
}

#: So many namespaces of files are asked about, one at a time.
_MOST_NAMESPACES = 100


class LiveChecks:
    """A cluster as the place in which objects of files would be created or updated.

    ``failures``: what could not be read though an answer depends on it.  ``unread``: the kinds of which not all objects could
    be read, each with the namespaces where all were; only lints look at them.
    """

    def __init__(self, cluster: LiveCluster, profile: Profile, namespace: str) -> None:
        self.failures: list[Failure] = []
        self.unread: dict[str, set[str]] = {}
        self._cluster = cluster
        self._profile = profile
        self._namespace = namespace
        self._namespaces: dict[str, Object | Unavailable | None] = {}
        self._unknown_namespaces: set[str] = set()

    def objects(self, namespaces: Collection[str]) -> Iterator[LiveObject]:
        """The objects that answers and lints depend on. What cannot be read is told, and noted in ``unread``.

        :param namespaces: where a list of all namespaces is forbidden, those of these are read.
        """
        refused: list[Unread] = []
        for each in self._cluster.objects(self._profile, kinds=CHECKING, at_least=self._namespace):
            if isinstance(each, Unread):
                refused.append(each)
                self.unread[each.kind] = {each.read_namespace}.difference({""})
            elif isinstance(each, Failure):
                self.failures.append(each)
            else:
                yield each
        forbidden = {each.kind for each in refused if each.is_forbidden and _is_namespaced(each.kind)}
        for namespace in sorted(namespaces)[:_MOST_NAMESPACES] if forbidden else ():
            if namespace != self._namespace:
                yield from self._objects_in(namespace, forbidden)
        for each in refused:
            missing = sorted(set(namespaces) - self.unread[each.kind])
            if each.kind in _UNCHECKED and (missing or not _is_namespaced(each.kind)):
                where = f" in the namespace {missing[0]}" if _is_namespaced(each.kind) else ""
                where += f" and {len(missing) - 1:,} others" if where and len(missing) > 1 else ""
                self._cluster.tell(f"not checked: {_UNCHECKED[each.kind]}{where}: {each.reason}")

    def _objects_in(self, namespace: str, kinds: Collection[str]) -> Iterator[LiveObject]:
        """The objects of some kinds in one namespace; it is noted of which kinds they could be read."""
        read = set(kinds)
        for each in self._cluster.objects(self._profile, namespace, kinds=kinds):
            if isinstance(each, Unread):
                read.discard(each.kind)
            elif isinstance(each, Failure):
                read.clear()
            else:
                yield each
        for kind in read:
            self.unread[kind].add(namespace)

    def look_up_namespaces(self, context: ClusterContext) -> None:
        """Have the labels of namespaces asked for that could not be listed."""
        found = _LiveNamespaces(self)
        found.update(context.namespaces)
        found.everywhere = context.namespaces.everywhere
        context.namespaces = found

    def has_namespace(self, name: str) -> bool:
        """Whether the cluster has a namespace; it is taken to have one that may not be read."""
        try:
            return self._namespace_object(name) is not None
        except Unavailable as error:
            if name not in self._unknown_namespaces:
                self._unknown_namespaces.add(name)
                self._cluster.tell(
                    f"not checked: whether the namespace {name} exists: {self._cluster.failure(error)}"
                )
            return True

    def labels_of(self, name: str) -> dict[str, str]:
        """The labels of a namespace, on which the answer depends."""
        try:
            return labels_of(self._namespace_object(name) or {})
        except Unavailable as error:
            self._fail(f"namespaces/{name}", error)
            return {}

    def _namespace_object(self, name: str) -> Object | None:
        """A namespace of the cluster; None if there is none. It is asked for once.

        :raises Unavailable: if it cannot be read.
        """
        if is_dots(name):
            return None
        if name not in self._namespaces:
            try:
                path = f"/api/v1/namespaces/{quote(name, safe='')}"
                self._namespaces[name] = self._get(path, "Namespace", name)
            except Unavailable as error:
                self._namespaces[name] = error
        found = self._namespaces[name]
        if isinstance(found, Unavailable):
            raise found
        return found

    def stored(self, result: Result, server: Server) -> Object | None:
        """The object that a manifest would update, in the manifest's version; None if there is none.

        :param server: must be able to read it.
        :raises Unavailable: if it cannot be read, which is noted.
        """
        from claimcheck.answers.stored import insist_on_reading
        from resourceapi.decoding import DecodingError

        path = _path(result)
        try:
            stored = self._get(path, result.kind, result.name) if path else None
        except Unavailable as error:
            self._fail(result.title, error)
            raise
        if stored is None:
            return None
        stored = {**stored, "apiVersion": result.api_version, "kind": result.kind}
        try:
            insist_on_reading(stored, result, server)
        except DecodingError as error:
            unreadable = Unavailable(f"the answer is no such object: {error.text}")
            self._fail(result.title, unreadable)
            raise unreadable from None
        return stored

    def _fail(self, what: str, error: Unavailable) -> None:
        self.failures.append(Failure(f"{self._cluster.name}/{what}", self._cluster.failure(error)))

    def _get(self, path: str, kind: str, name: str) -> Object | None:
        """An object; None if there is none. A cluster that has not answered is not asked again."""
        if self._cluster.unreachable is not None:
            raise self._cluster.unreachable
        try:
            answer = self._cluster.client.request("GET", path)
        except Unavailable as error:
            self._cluster.unreachable = error
            raise
        return None if _is_missing(answer) else expect_object(answer, f"GET {path}", kind, name)


class _LiveNamespaces(Namespaces):
    """Labels by namespace; those that no list or file has are asked for when an answer depends on them."""

    def __init__(self, checks: LiveChecks) -> None:
        super().__init__()
        self._checks = checks

    def get(self, name: str, default: Any = None) -> dict[str, str]:
        if name in self:
            return super().get(name, default)
        return _LiveLabels(lambda: {**self._checks.labels_of(name), **self.everywhere})


class _LiveLabels(dict[str, str]):
    """The labels of a namespace, which are asked for when one of them is looked at."""

    def __init__(self, ask: Callable[[], dict[str, str]]) -> None:
        super().__init__()
        self._ask: Callable[[], dict[str, str]] | None = ask

    def get(self, key: str, default: Any = None) -> Any:
        if self._ask is not None:
            self.update(self._ask())
            self._ask = None
        return super().get(key, default)


def _is_namespaced(kind: str) -> bool:
    return kind in KINDS and KINDS[kind].namespaced


def _is_missing(answer: tuple[int, Any]) -> bool:
    """Whether an API server says that an object is not there; others that know nothing of the path say 404, too."""
    code, body = answer
    return code == NOT_FOUND and isinstance(body, dict) and body.get("kind") == "Status"


def _path(result: Result) -> str:
    """Where the stored object is; empty if the object has no name that one can have, or is of a kind that is not validated."""
    kind = kind_of(result.api_version, result.kind) or KINDS.get(result.kind)
    resource = workloads.RESOURCES.get(result.kind, "") if kind is None else kind.resource
    if not resource or not result.name or is_dots(result.name) or is_dots(result.namespace):
        return ""
    version = result.api_version
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = f"/namespaces/{quote(result.namespace, safe='')}" if result.namespace else ""
    return f"{root}{namespace}/{resource}/{quote(result.name, safe='')}"
