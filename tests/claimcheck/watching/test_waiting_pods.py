"""Which pods `watch` tells of, when, and in whose words."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from functools import partial
from time import thread_time
from typing import Any

import pytest

from allocator.explaining.snapshot import Snapshot
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers import explain
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.gangs import GangAnswer
from claimcheck.answers.scenario import Reader, Scenario
from claimcheck.watching import waiting_pods
from claimcheck.watching.followed_cluster import FollowedCluster
from claimcheck.watching.waiting_pods import (
    MOST_CLAIMS,
    MOST_PODS,
    QUIET_SECONDS,
    REFUSED_SECONDS,
    REPEAT_SECONDS,
    SAME_WORDS_SECONDS,
    WaitingPods,
)
from cluster.event_writer import MOST_BYTES, Subject
from cluster.live_objects import Resource
from cluster.objects import ClusterObjects
from cluster.workloads import Workload
from documents.manifest import Manifest
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from resourceapi.records.claims import PackedDevices
from resourceapi.records.pods import Pod
from resourceapi.releases import Profile

V1 = "resource.k8s.io/v1"
RESOURCES = [
    Resource("v1", "Namespace", "namespaces"),
    Resource("v1", "Node", "nodes"),
    Resource("v1", "ResourceQuota", "resourcequotas"),
    Resource(V1, "DeviceClass", "deviceclasses"),
    Resource(V1, "DeviceTaintRule", "devicetaintrules"),
    Resource(V1, "ResourceSlice", "resourceslices"),
    Resource(V1, "ResourceClaimTemplate", "resourceclaimtemplates"),
    Resource(V1, "ResourceClaim", "resourceclaims"),
    Resource("scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups"),
    Resource("scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups"),
    Resource("v1", "Pod", "pods"),
]
REFUSED = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
DRIVER = "gpu.acme.example"


class Watched:
    """A cluster of a node with one GPU, which `team/train` holds."""

    def __init__(self, *gates: str, **options: Any) -> None:
        self.cluster = FollowedCluster("cluster", Profile("1.37", dict.fromkeys(gates, True)), RESOURCES)
        self._of = {resource.kind: each for resource, each in self.cluster.collections.items()}
        self.now = 0.0
        self.told: list[tuple[str, str]] = []
        self.pods = WaitingPods(
            self.cluster, self._tell, ["default-scheduler"], clock=lambda: self.now, **options
        )
        status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "2000"}}
        self.put("Node", {"metadata": {"name": "node-1"}, "status": status})
        selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
        self.put("DeviceClass", {"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}})
        pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": "node-1", "pool": pool, "devices": [{"name": "gpu-0"}]}
        self.put("ResourceSlice", {"metadata": {"name": "node-1"}, "spec": spec})
        result = {"request": "gpu", "driver": DRIVER, "pool": "node-1", "device": "gpu-0"}
        allocated = {
            "allocation": {"devices": {"results": [result]}},
            "reservedFor": [{"resource": "pods", "name": "train", "uid": "train"}],
        }
        self.put("Pod", pod("train", node="node-1"))
        self.claim("train", status=allocated)

    def _tell(self, subject: Subject, note: str) -> None:
        self.told.append((f"{subject.namespace}/{subject.name}", note))

    def put(self, kind: str, obj: Object) -> None:
        self._of[kind].put(obj)

    def claim(
        self,
        name: str,
        namespace: str = "team",
        status: Object | None = None,
        count: int = 1,
        requests: Sequence[Object] = (),
    ) -> None:
        requests = requests or [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": count}}]
        metadata = {"name": name, "namespace": namespace, "uid": f"claim-{name}"}
        spec = {"devices": {"requests": requests}}
        self.put("ResourceClaim", {"metadata": metadata, "spec": spec, "status": status or {}})

    def waits(
        self,
        name: str,
        namespace: str = "team",
        count: int = 1,
        requests: Sequence[Object] = (),
        **options: Any,
    ) -> None:
        """A pod with a claim."""
        self.claim(name, namespace, count=count, requests=requests)
        self.put("Pod", pod(name, namespace, **options))

    def after(self, seconds: float) -> list[tuple[str, str]]:
        """What is told after so many seconds."""
        self.now += seconds
        self.told = []
        self.pods.look()
        return self.told


def pod(
    name: str,
    namespace: str = "team",
    *,
    node: str = "",
    conditions: Sequence[Object] = REFUSED,
    scheduler: str = "default-scheduler",
    spec: Object | None = None,
    metadata: Object | None = None,
) -> Object:
    claims = [{"name": "gpu", "resourceClaimName": name}]
    placed = {"nodeName": node} if node else {}
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": name, **(metadata or {})},
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": claims,
            **placed,
            **(spec or {}),
        },
        "status": {"conditions": [] if node else list(conditions)},
    }


def test_a_pod_is_told_a_moment_after_its_refusal() -> None:
    watched = Watched()
    watched.waits("next")
    watched.put("Pod", pod("without-its-claim", conditions=[]))  # that may be on its way
    assert watched.after(0.0) == []
    ((name, note),) = watched.after(REFUSED_SECONDS)
    assert name == "team/next"
    assert note.startswith("does not fit on node-1")
    assert "it would fit if pod team/train ended" in note


def test_a_pod_is_told_that_a_selector_fails() -> None:
    """kube-scheduler does not call it unschedulable, but says that it failed itself."""
    watched = Watched()
    watched.claim("train")  # it holds nothing
    selectors = [{"cel": {"expression": f'device.attributes["{DRIVER}"].none == "a"'}}]
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "selectors": selectors}}]
    failed = [{"type": "PodScheduled", "status": "False", "reason": "SchedulerError"}]
    watched.waits("next", requests=requests, conditions=failed)
    watched.after(0.0)
    ((name, note),) = watched.after(REFUSED_SECONDS)
    assert name == "team/next"
    assert note.startswith("cannot be scheduled because of an error on node-1: claim team/next: selector #0")


def test_it_is_told_again_where_something_else_is_in_the_way() -> None:
    """At most every half minute; the same words after ten minutes, as events last an hour."""
    watched = Watched()
    watched.waits("next")
    watched.after(0.0)
    assert len(watched.after(QUIET_SECONDS)) == 1
    watched.waits("other", conditions=[])
    assert watched.after(REPEAT_SECONDS / 2) == []
    watched.claim("next", count=2)
    assert watched.after(REPEAT_SECONDS / 4) == []
    ((_, note),) = watched.after(REPEAT_SECONDS)
    assert note.endswith("as it is, it would not fit even if no device were in use")
    assert watched.after(SAME_WORDS_SECONDS - REPEAT_SECONDS) == []
    assert watched.after(REPEAT_SECONDS) == [("team/next", note)]


def test_without_its_claims_a_pod_is_told_although_nobody_refused_it() -> None:
    watched = Watched()
    watched.put("Pod", pod("lost", conditions=[]))
    watched.waits("in-the-queue", conditions=[])
    watched.after(0.0)
    assert watched.after(QUIET_SECONDS) == [("team/lost", "waits for claim team/lost, which does not exist")]


@pytest.mark.parametrize(
    "options",
    [
        {"node": "node-1"},
        {"scheduler": "claimcheck"},
        {"spec": {"schedulingGates": [{"name": "quota"}]}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_who_does_not_wait_is_told_nothing(options: dict[str, Any]) -> None:
    watched = Watched()
    watched.waits("next", **options)
    watched.after(0.0)
    assert watched.after(QUIET_SECONDS) == []


def test_a_pod_that_fits_is_told_nothing() -> None:
    """kube-scheduler comes back to it by itself."""
    watched = Watched()
    watched.claim("train")
    watched.waits("next")
    watched.after(0.0)
    assert watched.after(QUIET_SECONDS) == []


def test_only_one_namespace() -> None:
    watched = Watched(namespace="other")
    watched.waits("a")
    watched.waits("b", "other")
    watched.after(0.0)
    assert [name for name, _ in watched.after(QUIET_SECONDS)] == ["other/b"]


def test_namespaces_take_turns() -> None:
    """However many pods wait in one of them."""
    watched = Watched()
    for number in range(2 * MOST_PODS):
        watched.put("Pod", pod(f"pod-{number:03}"))
    watched.put("Pod", pod("alone", "other"))
    watched.after(0.0)
    first = [name for name, _ in watched.after(QUIET_SECONDS)]
    assert len(first) == MOST_PODS
    assert "other/alone" in first
    second = [name for name, _ in watched.after(0.0)]
    assert set(first).isdisjoint(second)


def _fails(scenario: Scenario, _limit: TimeLimit) -> dict[str, GangAnswer]:
    if any(each.namespace == "attacker" for each in scenario.workloads):
        raise RecursionError
    return {}


def _takes_long(scenario: Scenario, limit: TimeLimit) -> dict[str, GangAnswer]:
    while any(each.namespace == "attacker" for each in scenario.workloads) and not limit.is_over:
        pass
    return {}


@pytest.mark.parametrize("try_gangs", [_fails, _takes_long])
def test_others_are_told_whatever_becomes_of_a_pod(
    try_gangs: Callable[[Scenario, TimeLimit], dict[str, GangAnswer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explain, "gang_answers", try_gangs)
    monkeypatch.setattr(waiting_pods, "POD_SECONDS", 0.1)
    watched = Watched()
    watched.waits("hard", "attacker")
    watched.waits("next")
    watched.waits("other", "other")
    watched.after(0.0)
    told = {name for name, _ in watched.after(QUIET_SECONDS)}
    assert told - {"attacker/hard"} == {"team/next", "other/other"}
    assert not watched.after(REPEAT_SECONDS / 2)  # it is tried again as late as others


@pytest.mark.parametrize(("where", "name"), [(Reader, "workloads"), (waiting_pods, "fellows_in")])
def test_others_are_told_whatever_a_pod_cannot_be_read_for(
    where: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., list[Workload]] = getattr(where, name)

    def refuse_hard(of: object, pods: Sequence[Manifest], *rest: Any) -> list[Workload]:
        if any(name_of(each.value).startswith("hard") for each in pods):
            raise RecursionError
        return real(of, pods, *rest)

    monkeypatch.setattr(where, name, refuse_hard)
    watched = Watched()
    watched.waits("hard", "attacker")
    watched.waits("next")
    watched.after(0.0)
    told = {name for name, _ in watched.after(QUIET_SECONDS)}
    assert told - {"attacker/hard"} == {"team/next"}


def test_others_are_told_whatever_is_wrong_with_an_object(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What cannot be read counts as absent, and is named once."""
    learn = ClusterState.learn

    def refuse_hard(state: ClusterState, found: list[Manifest], **options: Any) -> list[Manifest]:
        if name_of(found[0].value) == "hard":
            raise RecursionError
        return learn(state, found, **options)

    monkeypatch.setattr(ClusterState, "learn", refuse_hard)
    watched = Watched()
    watched.waits("hard")
    watched.waits("next")
    watched.after(0.0)
    hard, (name, _) = watched.after(QUIET_SECONDS)
    assert hard == ("team/hard", "waits for claim team/hard, which does not exist")
    assert name == "team/next"
    watched.claim("next", count=2)
    assert len(watched.after(REPEAT_SECONDS)) == 1
    ignored = [each.fields for each in caplog.records if each.message == "object ignored"]  # type: ignore[attr-defined]
    assert [(each["kind"], each["name"]) for each in ignored] == [("ResourceClaim", "team/hard")]


def test_patches_that_take_too_long_are_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once, until they do not: nobody is told anything meanwhile."""

    def late(state: ClusterState, limit: TimeLimit) -> Snapshot:
        raise OutOfTime

    monkeypatch.setattr(waiting_pods, "snapshot_of", late)
    watched = Watched()
    watched.waits("next")
    watched.after(0.0)
    assert not watched.after(QUIET_SECONDS)
    assert not watched.after(0.0)
    assert [each.message for each in caplog.records] == [
        "pods not looked at: ResourceSlicePatches take too long"
    ]


def test_who_takes_long_does_not_take_the_time_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "gang_answers", _takes_long)
    monkeypatch.setattr(waiting_pods, "POD_SECONDS", 1.0)  # far more than those take that take no time
    monkeypatch.setattr(waiting_pods, "SECONDS", 10.0)
    monkeypatch.setattr(waiting_pods, "monotonic", thread_time)  # what else the machine does takes none of it
    watched = Watched()
    for number in range(20):
        watched.waits(f"hard-{number}", "attacker", count=2 + number)  # each asks for something else
        watched.waits(f"next-{number}")
    watched.after(0.0)
    told = [name for name, _ in watched.after(QUIET_SECONDS)]
    assert sum(name.startswith("team/") for name in told) == 20
    assert sum(name.startswith("attacker/") for name in told) < 3


def test_namespaces_that_take_all_the_time_come_last_in_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three of them, with a few slow pods each, kept those of others from ever being told: their pods came first in each look."""
    real, now = Reader.workloads, 0.0

    def slow(reader: Reader, pods: Sequence[Manifest], limit: TimeLimit) -> list[Workload]:
        nonlocal now
        if name_of(pods[0].value).startswith("slow"):
            now += 3.0
            limit.check()
        return real(reader, pods, limit)

    monkeypatch.setattr(Reader, "workloads", slow)
    monkeypatch.setattr(waiting_pods, "TimeLimit", partial(TimeLimit, clock=lambda: now))
    monkeypatch.setattr(waiting_pods, "monotonic", lambda: now)
    watched = Watched()
    for number in range(8):
        for namespace in ("a", "b", "c"):
            watched.waits(f"slow-{namespace}-{number}", namespace)
    watched.waits("next")
    watched.after(0.0)
    looks = [[name for name, _ in watched.after(QUIET_SECONDS)] for _ in range(2)]
    assert "team/next" not in looks[0]
    assert looks[1][0] == "team/next"


def test_nothing_of_other_namespaces_is_named() -> None:
    """Tenants read events: who holds the devices is only counted."""
    watched = Watched()
    watched.waits("next", "other")
    watched.after(0.0)
    ((name, note),) = watched.after(QUIET_SECONDS)
    assert name == "other/next"
    assert "train" not in note.replace("request", "")
    assert "1 claim of another namespace" in note


def _entries(number: int, name: str = "x") -> list[Object]:
    return [{"name": f"a{each}", "resourceClaimName": f"{name}{each}"} for each in range(number)]


def test_pods_are_read_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pod with 1,024 claims that do not exist kept all others from being told for 103 s: all were read first, without a limit."""
    real, read = Reader.workloads, list[list[str]]()

    def slow(reader: Reader, pods: Sequence[Manifest], limit: TimeLimit) -> list[Workload]:
        read.append([name_of(each.value) for each in pods])
        if read[-1][0].startswith("slow"):
            TimeLimit(-1.0).check()
        return real(reader, pods, limit)

    monkeypatch.setattr(Reader, "workloads", slow)
    watched = Watched()
    watched.waits("slow-1", "attacker")
    watched.waits("slow-2", "attacker")
    watched.waits("next")
    watched.after(0.0)
    told = dict(watched.after(QUIET_SECONDS))
    assert read == [["slow-1"], ["next"], ["slow-2"]]
    assert told["attacker/slow-1"] == (
        "there was no time to find out whether it fits: ask `claimcheck explain pod/slow-1 -n attacker`"
    )
    assert told["team/next"].startswith("does not fit")
    assert watched.pods.causes()["no-time"] == 2
    read.clear()
    watched.claim("others")
    watched.after(REPEAT_SECONDS / 2)
    assert read == []  # they are tried again as late as others


@pytest.mark.parametrize(
    ("spec", "is_read"),
    [
        ({"resourceClaims": _entries(MOST_CLAIMS)}, True),
        ({"resourceClaims": _entries(MOST_CLAIMS + 1)}, False),
        ({"tolerations": [{"operator": "Exists"}] * 4_000}, True),
        ({"tolerations": [{"operator": "Exists"}] * 6_000}, False),
    ],
    ids=["claims", "too many claims", "text", "too much text"],
)
def test_large_pods_are_not_read(spec: Object, is_read: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 pods of 1.2 MB took 1.2 GB, with which the process ended again and again."""
    real, read = Reader.workloads, list[str]()

    def counted(reader: Reader, pods: Sequence[Manifest], limit: TimeLimit) -> list[Workload]:
        read.extend(name_of(each.value) for each in pods)
        return real(reader, pods, limit)

    monkeypatch.setattr(Reader, "workloads", counted)
    watched = Watched()
    watched.waits("large", spec=spec)
    watched.after(0.0)
    ((_, note),) = watched.after(QUIET_SECONDS)
    assert bool(read) == is_read
    too_large = "it is not looked at, as the pod or its PodGroup or claims are too large: ask `claimcheck explain pod/large -n team`"
    assert (note == too_large) is not is_read


def test_memory_of_a_look_does_not_grow_with_its_pods() -> None:
    """All pods that are due were held at once, in thirty times their text."""
    taken = []
    for number in (4, 16):
        watched = Watched()
        for each in range(number):
            watched.waits(f"p{each}", spec={"tolerations": [{"operator": "Exists"}] * 4_000})
        watched.after(0.0)
        tracemalloc.start()
        try:
            watched.after(QUIET_SECONDS)
            taken.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert taken[1] < 1.5 * taken[0]  # was about four times


def test_large_groups_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waiting pods of a PodGroup were all read at each look, however many: 8,000 took 13 s."""
    monkeypatch.setattr(waiting_pods, "MOST_GROUP_CHARACTERS", 5_000)
    group = {"schedulingGroup": {"podGroupName": "g"}}
    notes = []
    for number in (3, 30):
        watched = Watched("GenericWorkload")
        metadata = {"name": "g", "namespace": "team", "uid": "g"}
        watched.put(
            "PodGroup", {"metadata": metadata, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}
        )
        for each in range(number):
            watched.waits(f"p{each}", spec=group)
        watched.after(0.0)
        notes.append(dict(watched.after(QUIET_SECONDS))["team/p0"])
    assert notes[0].startswith("of PodGroup team/g, 0 of 3 pods fit, and it needs 2 (minCount)")
    assert notes[1].startswith("it is not looked at, as the pod or its PodGroup or claims are too large: ")


def _large(number: int) -> list[Object]:
    """Requests with so many alternatives, which ask for what a selector says 32 times."""
    selectors = [{"cel": {"expression": "true"}}] * 32
    alternatives = [
        {"name": f"a{each}", "deviceClassName": "gpu", "selectors": selectors} for each in range(8)
    ]
    return [{"name": f"r{each}", "firstAvailable": alternatives} for each in range(number)]


def test_what_claims_ask_for_is_read_for_pods_that_name_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: 250 claims of 390 KB that nobody names took 1 GiB and 17 s of CPU at each look."""
    watched, read = Watched(), list[int]()
    packed = PackedDevices.read

    def noted(devices: PackedDevices) -> Object:
        read.append(len(devices.raw.source))
        return packed(devices)

    monkeypatch.setattr(PackedDevices, "read", noted)
    for number in range(20):
        watched.claim(f"huge-{number}", "evil", requests=_large(32))
    watched.waits("next")
    watched.waits("long", requests=_large(4))
    watched.after(0.0)
    assert [name for name, _ in watched.after(QUIET_SECONDS)] == ["team/next", "team/long"]
    assert 0 < max(read) < 50_000


def test_pods_with_huge_claims_are_not_looked_at() -> None:
    watched = Watched()
    watched.waits("huge", requests=_large(32))
    watched.after(0.0)
    ((_, note),) = watched.after(QUIET_SECONDS)
    assert note.startswith("it is not looked at, as the pod or its PodGroup or claims are too large: ask ")


def test_pods_on_nodes_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: 50 pods of 15,000 containers that somebody has created on a node took 22 s of CPU at each look."""
    watched, read = Watched(), list[str]()
    on_node = ClusterObjects.pod_on_node

    def noted(objects: ClusterObjects, value: Object) -> Pod | None:
        read.append(name_of(value))
        return on_node(objects, value)

    monkeypatch.setattr(ClusterObjects, "pod_on_node", noted)
    watched.waits("next")
    for _ in range(3):
        watched.after(REPEAT_SECONDS)
        watched.put("Pod", pod("train", node="node-1", metadata={"labels": {"a": str(watched.now)}}))
    assert read == ["train"]
    watched.put("Pod", pod("train", node="node-1", spec={"priority": 1}))
    watched.after(REPEAT_SECONDS)
    assert read == ["train", "train"]


def test_pods_that_ask_for_very_many_resources_are_not_looked_at() -> None:
    """The attack: 3,000 extended resources in 108 KB, all of which each node lacks, were 852 MB for 1,000 nodes."""
    watched = Watched()
    for number in (64, 65):
        limits = {f"example.com/r{each}": "1" for each in range(number - 1)} | {"cpu": "1"}
        containers = [{"name": "c", "image": "i", "resources": {"limits": limits, "requests": limits}}]
        watched.waits(f"asks-for-{number}", spec={"containers": containers})
    watched.after(0.0)
    assert [name for name, _ in watched.after(QUIET_SECONDS)] == ["team/asks-for-64"]
    assert watched.pods.causes() == {"nodes": 1, "error": 1}


def test_what_is_told_is_kept_as_long_as_an_event() -> None:
    """The attack: notes of 47 KB were kept of each pod, however many."""
    watched = Watched()
    watched.waits("next", spec={"nodeSelector": {f"label-{number}": "x" for number in range(3_000)}})
    watched.after(0.0)
    ((_, note),) = watched.after(QUIET_SECONDS)
    assert len(note.encode()) <= MOST_BYTES
