"""A cluster in memory with sidecars that bind pods in it, for tests of what is written and what is left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any

from cluster.group_snapshots import InResults
from cluster.leading import NotLeading
from resourceapi.objects import Object
from resourceapi.records.claims import pod_served_by
from resourceapi.releases import Profile
from scheduler.binding import Binder
from scheduler.binding_conditions import BindingConditions
from scheduler.claim_writes import FINALIZER, ClaimWrites
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decisions
from scheduler.extender_api import BindingRequest, CandidateNodes
from scheduler.filtering import Filter, Refused
from scheduler.giving_up import GivingUp
from scheduler.picture_lock import SearchTime
from scheduler.pod_allocation import Undoing
from scheduler.releasing import Releaser, Releasing
from scheduler.take_over import TakeOver
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CORE, RESOURCE

DRIVER = "gpu.example.com"
TIMEOUT = 600
GPU = "deviceclass.resource.kubernetes.io/gpu"
START = datetime(2026, 1, 1, tzinfo=UTC)
GATES = {"DRADeviceBindingConditions": True, "DRAResourceClaimDeviceStatus": True}
CLAIMS, PODS = f"{RESOURCE}/namespaces/ns/resourceclaims", f"{CORE}/namespaces/ns/pods"


def v1(kind: str, name: str, **more: Any) -> Object:
    """An object of the group."""
    namespace = {"namespace": "ns"} if "Claim" in kind else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, **namespace, **more.pop("metadata", {})},
        **more,
    }


def node(name: str) -> Object:
    """A node without labels."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


def gpus(node_name: str, count: int, **device: Any) -> Object:
    """The only slice of a node."""
    spec = {
        "driver": DRIVER,
        "nodeName": node_name,
        "pool": {"name": node_name, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{index}", **device} for index in range(count)],
    }
    return v1("ResourceSlice", node_name, spec=spec)


def claim(name: str, count: int = 1, **more: Any) -> Object:
    """A claim for so many GPUs."""
    request = {"name": "g", "exactly": {"deviceClassName": "gpu", "count": count}}
    return v1("ResourceClaim", name, spec={"devices": {"requests": [request]}}, **more)


def pod(name: str, *claims: str, **spec: Any) -> Object:
    """A pod that references claims, each by its own name."""
    entries = [{"name": each, "resourceClaimName": each} for each in claims]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {"schedulerName": "claimcheck", "resourceClaims": entries, **spec},
    }


def asking(name: str, *claims: str, **containers: int) -> Object:
    """A pod whose containers ask for so many GPUs by the resource that stands for their class."""
    described = [
        {"name": each, "resources": {"requests": {GPU: str(count)}, "limits": {GPU: str(count)}}}
        for each, count in containers.items()
    ]
    return pod(name, *claims, containers=described)


def cluster(*objects: Object, count: int = 2, nodes: Iterable[str] = ("n1",), **device: Any) -> FakeApi:
    """A cluster whose nodes have GPUs."""
    return FakeApi(
        [
            v1("DeviceClass", "gpu", spec={}),
            *(each for name in nodes for each in (node(name), gpus(name, count, **device))),
            *objects,
        ]
    )


class Leader:
    """Leads until told otherwise."""

    def __init__(self) -> None:
        self.current = 1
        self.leads = True
        #: leads no longer once it has been asked so often
        self.answers = -1

    @property
    def term(self) -> int:
        """The present term."""
        self.insist(self.current)
        return self.current

    def insist(self, term: int) -> None:
        """Raise NotLeading if it leads no longer, or in another term."""
        self.answers -= 1
        if not self.leads or term != self.current or self.answers == -1:
            self.leads = False
            raise NotLeading("another replica leads")


class Sidecar:
    """One process; a new one knows only what the API server has."""

    def __init__(self, api: FakeApi, gates: dict[str, bool] = GATES) -> None:
        self.api = api
        self.leader = Leader()
        self.clock = START
        self.picture = ClusterPicture(Profile("1.37", gates))
        self.decisions = Decisions(clock=lambda: 1e9)
        self.conditions = BindingConditions(self.picture, timeout_seconds=TIMEOUT, now=lambda: self.clock)
        self.writes = ClaimWrites(
            api,
            self.picture.profile.schemas["v1"],
            InResults(),
            self.picture.claims.seen,
            timestamp=(lambda: f"{self.clock:%Y-%m-%dT%H:%M:%SZ}")
            if self.picture.features.binding_conditions
            else None,
        )
        self.undoing = Undoing()
        self.binder = Binder(
            api,
            self.picture,
            self.decisions,
            self.leader,
            self.writes,
            self.undoing,
            self.conditions,
            SearchTime(),
        )
        self.releaser = Releaser(api, self.picture, self.writes, self.undoing, self.leader)
        self.releasing = Releasing(self.picture, self.releaser)
        self.filter = self.filter_that_tells(self.releasing.refused)
        #: what events say of pods that have lost their devices
        self.told: list[str] = []
        self.giving_up = GivingUp(
            self.picture,
            self.conditions,
            self.releaser,
            scheduler_name="claimcheck",
            tell=lambda record, words: self.told.append(f"{record.name}: {words}"),
        )
        self.sync()

    def filter_that_tells(self, refused: Callable[[Refused], None]) -> Filter:
        """A filter; the attribute ``filter`` is the one that is used."""
        return Filter(
            self.picture,
            self.decisions,
            seconds=60.0,
            term=lambda: self.leader.term,
            conditions=self.conditions,
            refused=refused,
        )

    def sync(self) -> None:
        """See everything as the API server has it."""
        for source in self.picture.sources():
            version, _, resource = source.path.rpartition("/")
            source.collection.replace(self.api.all(resource, version))

    def take_over(self) -> None:
        """Begin to lead, after another process."""
        TakeOver(
            self.api,
            "me",
            catch_up=self.sync,
            claims=lambda: [each.object for each in self.picture.claim_objects.objects.values()],
            seen=self.picture.claims.seen,
            is_on_node=lambda namespace, name, uid: any(
                record.uid == uid and record.node for record in self.picture.pods.objects.values()
            ),
        )(lambda: self.leader.insist(self.leader.current))

    def later(self, seconds: float) -> None:
        """Let so much time pass."""
        self.clock += timedelta(seconds=seconds)

    def decide(self, name: str) -> list[str]:
        """Filter a pod on all nodes; those that fit."""
        found = self.api.get(f"{PODS}/{name}")
        nodes = tuple(each["metadata"]["name"] for each in self.api.all("nodes", CORE))
        self.decisions._in_flight.clear()
        return list(self.filter.answer(CandidateNodes(found, nodes)).fitting)

    def bind(self, name: str, node_name: str = "n1", uid: str = "") -> str:
        """Bind a pod for which :meth:`decide` has been asked; the error."""
        return self.binder.bind(BindingRequest("ns", name, uid or f"uid-{name}", node_name))

    def schedule(self, name: str) -> str:
        """Try once to place a pod, as kube-scheduler does."""
        fitting = self.decide(name)
        return self.bind(name, fitting[0]) if fitting else "does not fit"

    def schedule_at_last(self, name: str) -> str:
        """The same, and once more when what is left of an earlier attempt is gone."""
        error = self.schedule(name)
        if error != "does not fit":
            return error
        self.releasing.release()
        self.sync()
        return self.schedule(name)


def in_time(work: Callable[[], object]) -> None:
    """Work that must not wait for what the caller holds."""
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive()


def node_of(api: FakeApi, name: str) -> str:
    """The node of a pod, if it is bound."""
    found: str = api.get(f"{PODS}/{name}")["spec"].get("nodeName", "")
    return found


def devices_of(found: Object) -> list[str]:
    """The devices that a claim holds, as `node/device`."""
    results = found.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
    return [f"{each['pool']}/{each['device']}" for each in results]


def assert_nothing_twice(api: FakeApi) -> None:
    """No device was held by two claims at any moment, and none changed hands while a pod on a node used it."""
    held: dict[str, list[str]] = {}
    for change in api.history:
        if change.resource != "resourceclaims":
            continue
        name = change.object["metadata"]["name"]
        held[name] = [] if change.type == "DELETED" else devices_of(change.object)
        every = [device for each in held.values() for device in each]
        assert len(every) == len(set(every)), (change, held)


def assert_used_claims_hold(api: FakeApi) -> None:
    """Pods on nodes have claims that are allocated, reserved for them and protected."""
    for each in api.all("pods", CORE):
        made = made_for(api, each["metadata"]["name"])
        assert len(made) <= 1
        named = each.get("status", {}).get("extendedResourceClaimStatus", {}).get("resourceClaimName")
        if GPU in str(each["spec"]) and each["spec"].get("nodeName"):
            assert made == [named]
        entries = [entry["resourceClaimName"] for entry in each["spec"]["resourceClaims"]]
        for name in [*entries, *made] if each["spec"].get("nodeName") else ():
            found = api.get(f"{CLAIMS}/{name}")
            assert devices_of(found)
            assert FINALIZER in found["metadata"]["finalizers"]
            assert each["metadata"]["uid"] in [user["uid"] for user in found["status"]["reservedFor"]]


def made_for(api: FakeApi, name: str) -> list[str]:
    """The claims that have been made for the extended resources of a pod."""
    return [
        each["metadata"]["name"]
        for each in api.all("resourceclaims")
        if pod_served_by(each) == (name, f"uid-{name}")
    ]


def traces(api: FakeApi) -> list[str]:
    """What there is of attempts: claims that were made; of all claims finalizers, devices and reservations."""
    found = [f"{each['metadata']['name']}: made" for each in api.all("resourceclaims") if pod_served_by(each)]
    for each in api.all("resourceclaims"):
        name, status = each["metadata"]["name"], each.get("status", {})
        found += [f"{name}: {part}" for part in (*each["metadata"].get("finalizers", ()), *devices_of(each))]
        found += [f"{name}: for {user['name']}" for user in status.get("reservedFor", ())]
    return found
