"""The objects of a cluster that scheduling depends on, kept up to date by watches."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from claimcheck.answers.cluster_state import ClusterState, is_pending
from claimcheck.answers.outcome import Unread
from claimcheck.watching.held_objects import held_of, without_devices
from cluster.budget import Holdings
from cluster.client import Client
from cluster.live_objects import LiveObject, Resource
from cluster.objects import CLAIM, TEMPLATE, ClusterObjects
from cluster.reflector import Reflector
from cluster.store import MAX_REASON, Change
from cluster.store import Collection as Stored
from documents.manifest import Manifest
from resourceapi.caches import remember
from resourceapi.deep_json import most_bytes
from resourceapi.json_text import ZippedRaw
from resourceapi.logs import log
from resourceapi.manifests import entries, has_ended, mapping, text
from resourceapi.objects import Object
from resourceapi.phrases import shortened
from resourceapi.records.claims import DevicesReader, PackedDevices
from resourceapi.records.pods import Pod, read_pod
from resourceapi.releases import Profile

DEFAULT_NAMESPACE = "default"
#: What all objects may take that are held: five times what 5,000 nodes with 8 devices, and 20,000 pods with a claim each, do,
#: and half of what the manifest allows the process.
FOLLOWED_BYTES = 512 * 1024**2
#: So many objects that cannot be read are known to have been named in the log.
_MOST_IGNORED = 1_000
#: Kinds in namespaces of which changes are counted apart.
_MOST_COUNTED = 50_000
#: Why kube-scheduler says that a pod is on no node: no node fits, or it failed, as it does where a selector fails on a device.
_REFUSALS = frozenset(("Unschedulable", "SchedulerError"))


class WaitingPod(NamedTuple):
    """A pod that waits for a node, and that nobody keeps from one on purpose.

    :param refused: whether kube-scheduler has refused it; else it may be that it has not come to it yet.
    :param characters: how many are held of it.
    """

    pod: Pod
    refused: bool
    characters: int


class FollowedCluster:
    """A cluster as it was a moment ago.

    :ivar name: with which names of its objects begin.
    :ivar profile: the release that it runs.
    :ivar collections: the objects of each resource.
    """

    def __init__(self, name: str, profile: Profile, resources: Iterable[Resource]) -> None:
        """Know nothing yet; :meth:`follow` reads it.

        :param name: with which names of its objects begin.
        :param resources: what it serves of the kinds that scheduling depends on.
        """
        self.name = name
        self.profile = profile
        self._lock = Lock()
        self._changes = 0
        self._ignored: dict[tuple[Resource, str], _Held] = {}
        self.collections = {each: Stored(partial(_held, each)) for each in resources}
        self._objects = ClusterObjects(profile)
        self._readers = {each: DevicesReader(partial(self._devices, each)) for each in self.collections}
        #: how many there have been of each kind, by namespace, and how often it was begun to count
        self._changes_of: Counter[tuple[str, str]] = Counter()
        self._since = 0
        for resource, each in self.collections.items():
            each.listen(partial(self._note, resource))

    @property
    def changes(self) -> int:
        """Grows with each change."""
        return self._changes

    def changes_of(self, kind: str, namespace: str = "") -> int:
        """Another number after each change of a kind.

        :param namespace: the only one in which it is looked for them; empty for kinds that are in none.
        """
        return self._changes_of[kind, namespace] + self._since * _MOST_COUNTED

    @property
    def missing(self) -> list[str]:
        """The resources that have not been listed yet."""
        return [resource.name for resource, each in self.collections.items() if not each.is_known]

    def follow(self, client: Client, ending: Event) -> None:
        """Begin to read, and go on until told to end."""
        holdings = Holdings(FOLLOWED_BYTES)
        for resource, collection in self.collections.items():
            reflector = Reflector(
                client, resource.path, collection, holdings, weigh=partial(bytes_held, resource)
            )
            Thread(target=reflector.run, args=(ending,), daemon=True).start()

    def waiting(self) -> list[WaitingPod]:
        """The pods that wait."""
        return [each.waiting for _, each in self._pods() if each.waiting is not None]

    def pending(self) -> dict[str, dict[str, int]]:
        """The pods on no node of each PodGroup, both by ``namespace/name``, with how many characters are held of each."""
        found: dict[str, dict[str, int]] = defaultdict(dict)
        for key, each in self._pods():
            if each.is_pending and each.group:
                found[each.group][key] = each.text.length
        return found

    def characters_of_claims(self, pod: Pod) -> int:
        """How many characters are held of what the claims and templates that a pod names ask for; few are not counted."""
        named = {(CLAIM, each.claim) if each.claim else (TEMPLATE, each.template) for each in pod.claims}
        return sum(
            held.asked.length
            for kind, name in named
            for _, held in self._find(kind, f"{pod.namespace}/{name}")
            if held.asked is not None
        )

    def pods(self, keys: Iterable[str]) -> Iterator[Manifest]:
        """Pods by ``namespace/name``, each read when it is its turn; those that have gone are left out."""
        for key in keys:
            for resource, held in self._find("Pod", key):
                yield self._live_object(resource, held, {})

    def state(self, left_out: Collection[str] = ()) -> tuple[ClusterState, list[Manifest]]:
        """The cluster as commands that ask once have it, and the pods that wait or may do so.

        :param left_out: the pods on no node, by ``namespace/name``, of which no more is to be read than that they exist.
        """
        pods: list[Manifest] = []
        return self._state(pods, left_out), pods

    def state_without_pending(self) -> ClusterState:
        """The same without pods that are on no node: they can be large, and are not even read."""
        return self._state(None)

    def state_of(self, resources: Collection[Resource]) -> ClusterState:
        """The objects of some resources alone, as somebody sees the cluster who may read no others."""
        state = self._state([], only=resources)
        for each in self.collections.keys() - resources:
            state.unread[each.kind] = Unread(f"{self.name}/{each.name}", "", each.kind, is_forbidden=True)
        return state

    def largest_pending(self, most: int) -> list[str]:
        """The pods on no node without which the others are no more than so many characters, with what their claims ask for."""
        sizes = []
        for key, held in self._pods():
            if held.is_pending:
                claims = self.characters_of_claims(held.waiting.pod) if held.waiting is not None else 0
                sizes.append((held.text.length + claims, key))
        sizes.sort()
        up_to = accumulate(size for size, _ in sizes)
        return [key for (_, key), total in zip(sizes, up_to, strict=True) if total > most]

    def _state(
        self,
        pods: list[Manifest] | None,
        left_out: Collection[str] = (),
        only: Collection[Resource] | None = None,
    ) -> ClusterState:
        state, texts = ClusterState(self.profile, DEFAULT_NAMESPACE), dict[str, str]()
        for resource, collection in self.collections.items():
            if only is not None and resource not in only:
                continue
            for key, held in list(collection.objects.items()):
                if pods is None and held.is_pending:
                    continue
                try:
                    if pods is None and resource.kind == "Pod":
                        state.pods.set(key, self._on_node(held))
                        continue
                    if held.is_pending and key in left_out:
                        manifest = LiveObject(self.name, resource.name, _bare_pod(key, held.uid))
                    else:
                        manifest = self._live_object(resource, held, texts)
                    requesting = state.learn([manifest], live=True)
                    if held.asked is not None:
                        state.pack(resource.kind, key, PackedDevices(held.asked, self._readers[resource]))
                except Exception as error:  # noqa: BLE001 - one object does not keep the others from being read
                    self._ignore(resource, key, held, error)
                    continue
                if pods is not None and resource.kind == "Pod":
                    pods += requesting
        return state

    def _on_node(self, held: _Held) -> Pod | None:
        """A pod on a node, read once: it may have thousands of containers."""
        if held.on_node is None:
            held.on_node = self._objects.pod_on_node(held.text.value)
        return held.on_node

    def _devices(self, resource: Resource, value: Object) -> Object:
        """The normal form of what a claim or template asks for."""
        claim = {"apiVersion": resource.api_version, "spec": {"devices": value}}
        return mapping(self._objects.read_stored(CLAIM, claim) or {}, "spec", "devices")

    def _find(self, kind: str, key: str) -> Iterator[tuple[Resource, _Held]]:
        for resource, collection in self.collections.items():
            held = collection.objects.get(key) if resource.kind == kind else None
            if held is not None:
                yield resource, held

    def _pods(self) -> list[tuple[str, _Held]]:
        return [
            each
            for resource, collection in self.collections.items()
            if resource.kind == "Pod"
            for each in list(collection.objects.items())
        ]

    def _live_object(self, resource: Resource, held: _Held, texts: dict[str, str]) -> LiveObject:
        value = held.text.value
        with suppress(RecursionError):  # as deep as only what nobody looks into
            value = _with_shared(texts, value)
        return LiveObject(self.name, resource.name, value)

    def _ignore(self, resource: Resource, key: str, held: _Held, error: Exception) -> None:
        """Say once of an object that it cannot be read, as it is now."""
        if self._ignored.get((resource, key)) is not held:
            remember(self._ignored, (resource, key), held, _MOST_IGNORED)
            reason = shortened(f"{type(error).__name__}: {error}", MAX_REASON)
            log(logging.WARNING, "object ignored", kind=resource.kind, name=key, reason=reason)

    def _note(self, resource: Resource, changes: Sequence[Change[Any]]) -> None:
        with self._lock:
            self._changes += len(changes)
            for each in changes:
                namespace, _, _ = each.key.rpartition("/")
                self._changes_of[resource.kind, namespace] += 1
            if len(self._changes_of) > _MOST_COUNTED:  # namespaces come and go
                self._changes_of.clear()
                self._since += 1


class _Held:
    """What is held of an object: its text, which takes a tenth of the memory, and the pod if it is one that waits.

    :ivar asked: what a claim or template asks for, if that is long: few are ever read.
    :ivar is_pending: whether it is a pod on no node.
    :ivar uid: that of such a pod.
    :ivar group: the PodGroup of such a pod, as ``namespace/name``; empty for none.
    :ivar on_node: a pod on a node, once it has been read.
    """

    __slots__ = ("asked", "group", "is_pending", "on_node", "text", "uid", "waiting")

    def __init__(self, resource: Resource, value: Object) -> None:
        value, asked = without_devices(resource.kind, value)
        self.asked = ZippedRaw(asked) if asked is not None else None
        self.text = ZippedRaw(value)
        self.is_pending = is_pending(value)
        self.waiting: WaitingPod | None = None
        self.group = self.uid = ""
        self.on_node: Pod | None = None
        if self.is_pending:
            pod = read_pod(value)
            self.waiting, self.group = _waiting(value, pod, self.text.length), pod.group_key
            self.uid = pod.uid

    @property
    def bytes(self) -> int:
        """What its texts take."""
        return self.text.held_bytes + (self.asked.held_bytes if self.asked is not None else 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and self.text == other.text and self.asked == other.asked

    __hash__ = None  # type: ignore[assignment]  # as of its texts


def _held(resource: Resource, item: Object) -> _Held | None:
    if resource.kind == "Pod" and has_ended(item):
        return None  # it has no devices, and waits for none
    return _Held(resource, held_of(resource, item))


def bytes_held(resource: Resource, item: Object) -> int:
    """The bytes of what is held of an object."""
    try:
        held = _held(resource, item)
        return held.bytes if held is not None else 0
    except Exception:  # noqa: BLE001 - whatever is wrong with an object, it is known what it takes at most
        return most_bytes(item)


def _with_shared(texts: dict[str, str], value: Any) -> Any:
    """A value that has each text once: most names and texts are in thousands of objects."""
    if type(value) is str:
        return texts.setdefault(value, value)
    if type(value) is list:
        return [_with_shared(texts, each) for each in value]
    if type(value) is dict:
        return {_with_shared(texts, name): _with_shared(texts, each) for name, each in value.items()}
    return value


def _bare_pod(key: str, uid: str) -> Object:
    """A pod that asks for nothing."""
    namespace, _, name = key.partition("/")
    metadata = {"namespace": namespace, "name": name, "uid": uid}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "-"}]},
    }


def _waiting(value: Object, pod: Pod, characters: int) -> WaitingPod | None:
    if pod.is_leaving or pod.gates:
        return None
    conditions = entries(mapping(value, "status"), "conditions")
    said = [text(each, "reason") for each in conditions if text(each, "type") == "PodScheduled"]
    return WaitingPod(pod, bool(said), characters) if _REFUSALS.issuperset(said) else None
