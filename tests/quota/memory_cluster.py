"""A cluster in memory: claims, one quota, ledgers with versions; every access can be made a point to switch threads."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from threading import Lock

from quota.evaluators import ClaimEvaluator, Evaluator
from quota.ledger import Charged
from quota.names import ExtendedResources, devices_of
from quota.resource_quotas import ResourceQuota
from quota.store import Stored
from resourceapi.errors import WriteConflict
from resourceapi.objects import Object
from resourceapi.quantity import Amounts, Quantity, added

NAMESPACE, GPU = "team", devices_of("gpu")


def no_switch(what: str) -> None:
    """Let other threads run only when the interpreter does."""


def claim(uid: str, devices: int, name: str = "") -> Object:
    """A claim for so many devices of the class `gpu`; the name is made of the uid if there is none."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": devices}
    requests = [{"name": "r", "exactly": exactly}]
    metadata = {"name": name or f"claim-{uid}", "uid": uid}
    return {"metadata": metadata, "spec": {"devices": {"requests": requests}}}


class MemoryStore:
    """A Store; `switch` is called before every access."""

    def __init__(self, switch: Callable[[str], None] = no_switch) -> None:
        self.switch = switch
        self.writes = 0
        self._objects: dict[str, Stored] = {}
        self._lock = Lock()

    def get(self, key: str) -> Stored | None:
        self.switch("get")
        with self._lock:
            return copy.deepcopy(self._objects.get(key))

    def create(self, key: str, content: Object) -> None:
        self.switch("create")
        with self._lock:
            if key in self._objects:
                raise WriteConflict
            self._write(key, content)

    def replace(self, key: str, content: Object, version: str) -> None:
        self.switch("replace")
        with self._lock:
            self._expect(key, version)
            self._write(key, content)

    def delete(self, key: str, version: str) -> None:
        self.switch("delete")
        with self._lock:
            self._expect(key, version)
            del self._objects[key]

    def keys(self) -> list[str]:
        return list(self._objects)

    def _expect(self, key: str, version: str) -> None:
        stored = self._objects.get(key)
        if stored is None or stored.version != version:
            raise WriteConflict

    def _write(self, key: str, content: Object) -> None:
        self.writes += 1
        self._objects[key] = Stored(copy.deepcopy(content), str(self.writes))


class Cluster:
    """One namespace with a quota on devices of the class `gpu`, and the claims that are stored in it."""

    def __init__(self, limit: int, switch: Callable[[str], None] = no_switch) -> None:
        self.switch = switch
        self.quota: tuple[ResourceQuota, ...] = ()
        self.set_limit(limit)
        self.most_used = 0
        self._claims: dict[str, Object] = {}
        self._evaluator = ClaimEvaluator(ExtendedResources())
        self._lock = Lock()

    def set_limit(self, limit: int, uid: str = "q1") -> None:
        self.quota = (ResourceQuota("gpus", NAMESPACE, {GPU: Quantity(limit)}, {}, (), uid),)

    def store(self, new: Object) -> None:
        """Nothing happens if the name is taken, as the API server would say."""
        self.switch("store")
        with self._lock:
            if new["metadata"]["name"] in (old["metadata"]["name"] for old in self._claims.values()):
                return
            self._claims[new["metadata"]["uid"]] = new
            self.most_used = max(self.most_used, self.used())

    def remove(self, uid: str) -> None:
        self.switch("remove")
        with self._lock:
            self._claims.pop(uid, None)

    def uids(self) -> list[str]:
        return list(self._claims)

    def used(self) -> int:
        """The devices of all stored claims."""
        total: Amounts = {}
        for stored in self._claims.values():
            total = added(total, self._evaluator.usage(stored))
        return total[GPU].value() if GPU in total else 0

    # --- as reservations see it ------------------------------------------------------------------------------

    def quotas(self, namespace: str) -> Sequence[ResourceQuota]:
        return self.quota

    def evaluator(self, namespace: str) -> Evaluator:
        return self._evaluator

    def uid_of(self, namespace: str, name: str) -> str:
        self.switch("look for the name")
        with self._lock:
            found = (uid for uid, stored in self._claims.items() if stored["metadata"]["name"] == name)
            return next(found, "")

    def charged(self, namespace: str) -> Iterable[Charged]:
        self.switch("list")
        with self._lock:
            return [
                Charged(uid, "ResourceClaim", stored["metadata"]["name"], self._evaluator.usage(stored))
                for uid, stored in self._claims.items()
            ]
