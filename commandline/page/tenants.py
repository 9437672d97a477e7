"""What the page shows to people who may not read all of the cluster.

Devices are shown from a picture that has only what belongs to no namespace, so nothing of it can come from pods and claims. Why a pod waits is said to
who may list the pods and claims of its namespace, in the words of the events that `claimcheck watch` writes for tenants. What somebody is told
to have changed is counted from what they may read.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from allocator.time_limit import TimeLimit
from claimcheck.answers.doctor.checks import POD_WAITS
from claimcheck.answers.doctor.examined import Affected, Diagnosis
from claimcheck.watching.followed_cluster import FollowedCluster
from claimcheck.watching.waiting_pods import WaitingPods
from cluster.event_writer import Subject
from cluster.live_objects import Resource
from cluster.objects import CLAIM
from commandline import doctor_report
from commandline.page.cluster_pages import BESIDE, FIX, SELECT, VALIDATE, ClusterPages, as_rendered
from commandline.page.questions import given
from commandline.watch import keep_looking
from resourceapi.api_client import Unavailable
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.manifests import full_name
from serving.browser_pages import Query, Rendered, Visitor
from serving.routes import HTTPError

Json = dict[str, Any]
MayList = Callable[[Resource, str], bool]
"""Whether somebody may list a resource in a namespace, empty for all; raises :class:`Unavailable`."""

#: Pods are looked at as long as somebody has asked within so many seconds.
ASKED_SECONDS = 120.0
#: Namespaces with waiting pods about which it is asked whether somebody may read them; others can be asked for by name.
MOST_NAMESPACES = 200
#: How long is asked about these: an API server may take long for each.
RIGHTS_SECONDS = 5.0
#: Namespaces of which it is counted what their pods have been told.
MOST_TOLD = 10_000
#: Pictures of devices that are kept: for those who may read other kinds of what belongs to no namespace.
MOST_PICTURES = 4
NOT_ALL = "You see the pods of namespaces in which you may list pods and resourceclaims, and of devices only what is published."
NOT_YOURS = "only who may list pods and resourceclaims in a namespace is told why its pods wait"
_NOT_YET = "it has not been looked at yet, or there is room for it"
_PODS = ("Pod", CLAIM)
#: Their questions wait for each other, and for nobody else's.
LANE = "tenants"
#: What is shown of devices to who may list ResourceSlices; the others show nothing of the cluster but to who asks about a text of their own.
_OF_DEVICES = frozenset(
    (
        *(f"/api/v1/{name}" for name in ("map", "node", "device", "pools", "pool", "partitions")),
        SELECT,
        BESIDE,
    )
)
_OF_TEXTS = frozenset((VALIDATE, FIX, "/api/v1/openapi.json"))


class TenantPages:
    """What is shown of a cluster to people who may not read all of it; for any thread."""

    def __init__(self, followed: FollowedCluster, seconds: float, ending: Event) -> None:
        """Look at nothing before somebody asks.

        :param seconds: how long everything may take that is found out at once.
        :param ending: when to look no more.
        """
        self.followed = followed
        self._seconds = seconds
        self._ending = ending
        self._lock = Lock()
        self._asked = float("-inf")
        self._is_looking = False
        #: how often pods of a namespace have been told something new
        self.told: Counter[str] = Counter()
        self.waiting = WaitingPods(followed, self._tell)
        self._pictures: OrderedDict[frozenset[Resource], ClusterPages] = OrderedDict()

    def visitor(self, name: str, may: MayList) -> Visitor:
        """Somebody with these rights.

        :raises Unavailable: if they cannot be asked about.
        """
        self._look()
        own = frozenset(
            each for each in self.followed.collections if not each.is_namespaced and may(each, "")
        )
        return _Tenant(self, self._devices(own), own, may).visitor(name)

    def _look(self) -> None:
        """Have pods looked at for a while."""
        with self._lock:
            self._asked = monotonic()
            if not self._is_looking:
                self._is_looking = True
                Thread(target=keep_looking, args=(self._look_once, [], self._ending), daemon=True).start()

    def _look_once(self) -> None:
        if not self.followed.missing and monotonic() - self._asked < ASKED_SECONDS:
            self.waiting.look()

    def _tell(self, subject: Subject, _: str) -> None:
        if len(self.told) > MOST_TOLD and subject.namespace not in self.told:  # namespaces come and go
            self.told.clear()
        self.told[subject.namespace] += 1

    def _devices(self, resources: frozenset[Resource]) -> ClusterPages:
        """What is shown of devices to who may read these."""
        with self._lock:
            found = self._pictures.get(resources)
            if found is None:
                found = self._pictures[resources] = ClusterPages(
                    self.followed.name,
                    lambda: (self.followed.state_of(resources), []),
                    lambda: self._changes(resources),
                    is_live=True,
                    seconds=self._seconds,
                    has_holders=False,
                )
            self._pictures.move_to_end(resources)
            if len(self._pictures) > MOST_PICTURES:
                self._pictures.popitem(last=False)
            return found

    def _changes(self, resources: frozenset[Resource]) -> int:
        if missing := self.followed.missing:
            raise HTTPError(f"still reading {', '.join(missing)}", 503)
        return sum(self.followed.changes_of(each.kind) for each in resources)


class _Tenant:
    """Somebody who may not read everything, for as long as their rights are taken for what they are."""

    def __init__(
        self, pages: TenantPages, devices: ClusterPages, resources: frozenset[Resource], may: MayList
    ) -> None:
        self._pages = pages
        self._devices = devices
        self._kinds = {each.kind for each in resources}
        self._may = may
        self._of_pods = [each for each in pages.followed.collections if each.kind in _PODS]
        self._known: dict[str, bool] = {}
        found = sorted({each.pod.namespace for each in pages.followed.waiting()})[:MOST_NAMESPACES]
        limit = TimeLimit(RIGHTS_SECONDS)
        self._namespaces = frozenset(each for each in found if not limit.is_over and self._reads(each))

    def visitor(self, name: str) -> Visitor:
        """Who it is, and what they see: what is not here is refused."""
        own: dict[str, Callable[[Query], Json]] = {
            "/api/v1/cluster": self._cluster,
            "/api/v1/doctor": self._doctor,
            "/api/v1/explain": self._explain,
        }
        shown = _OF_TEXTS | (_OF_DEVICES if RESOURCE_SLICE.name in self._kinds else frozenset())
        devices = self._devices.visitor(name)
        answers = {path: answer for path, answer in devices.answers.items() if path in shown}
        answers |= {path: as_rendered(make) for path, make in own.items()}

        def kept(path: str, query: Query) -> Rendered | None:
            return devices.kept(path, query) if path in shown else None

        return Visitor(name, answers, self._version, kept, lambda _: LANE)

    def _version(self) -> int:
        followed = self._pages.followed
        of_pods = (followed.changes_of(kind, each) for each in self._namespaces for kind in _PODS)
        told = (self._pages.told[each] for each in self._namespaces)
        return self._devices.version() + sum(of_pods) + sum(told)

    def _reads(self, namespace: str) -> bool:
        """Whether what waits in a namespace is shown.

        :raises Unavailable: if it cannot be asked.
        """
        known = self._known.get(namespace)
        if known is None:
            known = bool(namespace) and all(self._may(each, namespace) for each in self._of_pods)
            if len(self._known) < 2 * MOST_NAMESPACES:
                self._known[namespace] = known
        return known

    def _cluster(self, _: Query) -> Json:
        return {
            "source": self._pages.followed.name,
            "kubeVersion": f"1.{self._pages.followed.profile.minor}",
            "isLive": True,
            "version": self._version(),
            "nodes": self._nodes(),
            "devices": self._devices.devices() if RESOURCE_SLICE.name in self._kinds else None,
            "free": None,
            "waiting": len(self._words()),
            "failures": [],
            "notes": [NOT_ALL],
        }

    def _nodes(self) -> int | None:
        collections = self._pages.followed.collections
        found = [len(each.objects) for resource, each in collections.items() if resource.kind == "Node"]
        return sum(found) if "Node" in self._kinds else None

    def _words(self) -> Mapping[str, str]:
        return self._pages.waiting.words(self._namespaces)

    def _doctor(self, _: Query) -> Json:
        causes: dict[str, list[Affected]] = {}
        for key, words in sorted(self._words().items()):
            namespace, name = key.split("/", 1)
            causes.setdefault(words or _NOT_YET, []).append(Affected("Pod", namespace, name))
        found = [Diagnosis(POD_WAITS, cause, affected) for cause, affected in causes.items()]
        found.sort(key=lambda each: -len(each.objects))
        findings = [doctor_report.finding(each) for each in found]
        return {"findings": findings, "unfinished": [], "unread": [NOT_ALL], "failures": []}

    def _explain(self, query: Query) -> Json:
        namespace, name = given(query, "namespace"), given(query, "name")
        try:
            reads = self._reads(namespace)
        except Unavailable:
            raise HTTPError("the API server does not say what you may see", 503) from None
        if not reads:
            raise HTTPError(NOT_YOURS, 403)
        words = self._pages.waiting.words((namespace,)).get(full_name(namespace, name))
        if words is None:
            raise HTTPError(f"no pod {namespace}/{name} waits for devices", 404)
        said = {"kind": "Pod", "namespace": namespace, "name": name, "verdict": "waits"}
        return {"objects": [{**said, "said": words or _NOT_YET}], "notes": [NOT_ALL], "failures": []}
