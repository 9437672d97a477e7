"""The namespaces of a live cluster: their ResourceQuotas, the DeviceClasses, and the objects that are charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition, Lock
from time import monotonic
from typing import Any
from urllib.parse import quote

from conversion.hub import normalized
from quota.amounts import only, without_zeros
from quota.counted_parts import (
    counted_part_of_claim,
    counted_part_of_pod,
    counted_part_of_quota,
    is_charged_to_pod,
)
from quota.evaluators import Evaluator, evaluator_for
from quota.ledger import Charged
from quota.names import REQUESTS, ExtendedResources
from quota.namespace import HUB, Namespace
from quota.pods import usage as usage_of_pod
from quota.resource_quotas import ResourceQuota, from_object
from resourceapi import kinds
from resourceapi.api_client import Api, Listing, Unavailable, expect
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.quantity import Amounts
from resourceapi.records.claims import pod_served_by
from resourceapi.records.classes import read_device_class
from validation.server import Server

MOST_READING = 2
#: How many may wait in one namespace: each keeps one of the process's threads for waiting (`serving.dispatch`), of which
#: half are left to other namespaces.
MOST_WAITING = 32
PATIENCE_SECONDS = 5.0


class ReadQueue:
    """Who may read: one at a time for each namespace, and few in all. The namespace that has waited longest comes next.

    So however many wait in one namespace, those of another wait for one turn of that namespace at most.
    """

    def __init__(self, most: int = MOST_READING, patience: float = PATIENCE_SECONDS) -> None:
        """Make turns for one process.

        :param patience: how many seconds one waits.
        """
        self._most = most
        self._patience = patience
        self._reading: set[str] = set()
        #: how many wait in each namespace; the one that has waited longest is first
        self._waiting: Counter[str] = Counter()
        self._changed = Condition()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return self._waiting.total()

    @contextmanager
    def of(self, namespace: str) -> Iterator[None]:
        """Hold the turn of a namespace for as long as a ``with`` block lasts.

        :raises Unavailable: if others take too long, or too many wait in the namespace already.
        """
        with self._changed:
            if self._waiting[namespace] >= MOST_WAITING:
                raise Unavailable("too many in this namespace ask what is in it")
            self._waiting[namespace] += 1
            has_come = self._changed.wait_for(lambda: self._is_next(namespace), self._patience)
            self._leave(namespace, goes_last=has_come)
            if not has_come:
                raise Unavailable("too many ask what is in namespaces")
            self._reading.add(namespace)
        try:
            yield
        finally:
            with self._changed:
                self._reading.remove(namespace)
                self._changed.notify_all()

    def _leave(self, namespace: str, *, goes_last: bool) -> None:
        """One waits no longer; if its turn has come, others of the namespace wait behind all others."""
        left = self._waiting[namespace] - 1
        if goes_last or not left:
            del self._waiting[namespace]
        if left:
            self._waiting[namespace] = left
        self._changed.notify_all()

    def _is_next(self, namespace: str) -> bool:
        free = (each for each in self._waiting if each not in self._reading)
        return len(self._reading) < self._most and next(free, None) == namespace


CLAIM, POD = kinds.CLAIM.name, "Pod"
MAX_CACHED = 10_000
# How many claims of a namespace are searched for the one that a pod has been charged for.
MOST_CLAIMS = 10_000
# So many limits of ResourceQuotas are kept until these change; all are forgotten when there are more.
MOST_LIMITS = 100_000


class ClusterNamespaces:
    """Implements :class:`quota.reservations.Namespaces` with requests to an API server.

    Quotas and classes are cached for ``lifetime`` seconds; charged objects are always listed anew.  All methods raise
    :class:`resourceapi.api_client.Unavailable` if the API server does not answer as expected.
    """

    def __init__(
        self,
        api: Api,
        server: Server,
        *,
        reserves: bool = False,
        lifetime: float = 2.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Ask an API server.

        :param server: the server to agree with; its release and gates decide what is counted.
        :param reserves: whether limits hold because of this, rather than by the API server's own rules.
        :param lifetime: seconds for which quotas and classes are cached.
        """
        self._api = api
        self._server = server
        self._reserves = reserves
        self._lifetime = lifetime
        self._clock = clock
        self._cache: dict[str, tuple[float, Any]] = {}
        self._read: dict[tuple[str, str], ResourceQuota] = {}
        self._limits = 0
        self._lock = Lock()
        self._turns = ReadQueue()

    def quotas(self, namespace: str) -> Sequence[ResourceQuota]:
        """The ResourceQuotas of a namespace."""
        path = f"/api/v1/namespaces/{namespace}/resourcequotas"
        quotas: list[ResourceQuota] = self._cached(
            path,
            lambda: [self._quota(item) for item in Listing(self._api, path)],
        )
        return quotas

    def _quota(self, item: Object) -> ResourceQuota:
        """What counts of a ResourceQuota, which is read once as long as it does not change."""
        metadata = item["metadata"]
        version = metadata.get("uid", ""), metadata.get("resourceVersion", "")
        known = self._read.get(version)
        if known is not None:
            return known
        quota = from_object(_typed(counted_part_of_quota(item), "v1", "ResourceQuota"))
        if all(version):
            with self._lock:
                self._limits += 1 + len(quota.hard)
                if self._limits > MOST_LIMITS:
                    self._read, self._limits = {}, 1 + len(quota.hard)
                self._read[version] = quota
        return quota

    def namespaces_with_quota(self) -> list[str]:
        """The namespaces that have a ResourceQuota."""
        found = Listing(self._api, "/api/v1/resourcequotas")
        return sorted({item["metadata"]["namespace"] for item in found})

    def resources(self) -> ExtendedResources:
        """Which extended resources stand for devices."""
        path = f"/apis/{HUB}/deviceclasses"
        resources: ExtendedResources = self._cached(
            path, lambda: ExtendedResources(map(read_device_class, self._classes(path)))
        )
        return resources

    def evaluator(self, namespace: str) -> Evaluator:
        """How claims are counted."""

        def charged_to_pod(claim: Object) -> Amounts:
            return self._charged_to_pod(namespace, claim)

        found = evaluator_for(GROUP, CLAIM, self._server.profile, self.resources(), charged_to_pod)
        assert found is not None
        return found

    def users(self, namespace: str) -> list[Charged]:
        """Who is charged, as :meth:`charged` but cached: only good for naming them."""
        users: list[Charged] = self._cached(f"users of {namespace}", lambda: list(self.charged(namespace)))
        return users

    def uid_of(self, namespace: str, name: str) -> str:
        """The uid of the stored claim of that name; empty if there is none."""
        # a list, since those of the namespace may be listed anyway
        path = f"/apis/{HUB}/namespaces/{namespace}/resourceclaims"
        query = {"fieldSelector": f"metadata.name={name}", "limit": "1"}
        found = expect(self._api.request("GET", path, query=query), f"claim {namespace}/{name}", 200)
        return next((item["metadata"]["uid"] for item in found.get("items") or ()), "")

    def charged(self, namespace: str) -> Iterable[Charged]:
        """All claims, and the pods if a quota limits something that both use."""
        content = self._content(namespace)
        shared = self._shared(namespace)
        for (group, kind), used in (((GROUP, CLAIM), None), (("", POD), shared)):
            evaluator = content.evaluator(group, kind)
            assert evaluator is not None
            for name, obj in content.stored(group, kind).items():
                usage = without_zeros(evaluator.usage(obj))
                yield Charged(
                    obj["metadata"]["uid"], kind, name, usage if used is None else only(usage, used)
                )

    def _shared(self, namespace: str) -> set[str]:
        """Limits on what pods may use as well as claims."""
        names = {name for quota in self.quotas(namespace) for name in quota.hard}
        return {name for name in names if name.startswith(REQUESTS)}

    def _content(self, namespace: str) -> Namespace:
        """What counts of all claims, and of the pods if a quota limits something that both use."""
        content = Namespace(self._server, self.resources())
        shared = self._shared(namespace)
        claims = content.evaluator(GROUP, CLAIM)
        assert claims is not None
        with self._turns.of(namespace):
            if claims.matching(shared):
                for pod in Listing(self._api, f"/api/v1/namespaces/{namespace}/pods"):
                    content.store("", POD, counted_part_of_pod(pod))
            for claim in Listing(self._api, f"/apis/{HUB}/namespaces/{namespace}/resourceclaims"):
                # What a CRD stores may lack defaults that the built-in kind would have been read with.  It is not decoded:
                # an API server answers well-formed JSON, and there may be very many claims.
                hub = normalized(CLAIM, "v1", claim, defaults="")
                content.store(GROUP, CLAIM, counted_part_of_claim(hub))
        return content

    def _classes(self, path: str) -> Iterable[Object]:
        """The classes; none where there is no such kind (yet).

        They are listed although others may watch them: a watch can be behind, and then a limit would not be counted.
        """
        code, _ = self._api.request("GET", path, query={"limit": "1"})
        return () if code == 404 else Listing(self._api, path)

    def _charged_to_pod(self, namespace: str, claim: Object) -> Amounts:
        """What the pod has been charged for which the scheduler makes a claim."""
        owner = pod_served_by(claim)
        if owner is None:
            return {}
        with self._turns.of(namespace):
            code, pod = self._api.request(
                "GET", f"/api/v1/namespaces/{namespace}/pods/{quote(owner[0], safe='')}"
            )
            if code == 404:
                return {}
            expect((code, pod), f"pod {namespace}/{owner[0]}", 200)
            others = Listing(
                self._api, f"/apis/{HUB}/namespaces/{namespace}/resourceclaims", most=MOST_CLAIMS
            )
            is_charged = is_charged_to_pod(claim, pod, others, is_new=self._reserves)
            return usage_of_pod(pod, self._server.profile) if is_charged else {}

    def _cached(self, key: str, read: Callable[[], Any]) -> Any:
        now = self._clock()
        with self._lock:
            entry = self._cache.get(key)
        if entry is not None and now - entry[0] < self._lifetime:
            return entry[1]
        value = read()
        with self._lock:
            # what is older is of no use, and may be large: namespaces have as many users as tenants like
            fresh = {name: each for name, each in self._cache.items() if now - each[0] < self._lifetime}
            if len(fresh) > MAX_CACHED:
                fresh.clear()
            self._cache = {**fresh, key: (now, value)}
        return value


def _typed(item: Object, api_version: str, kind: str) -> Object:
    """Items of a list leave out what they are."""
    return {"apiVersion": api_version, "kind": kind, **item}
