"""Which claims hold how much of which GPUs: as the API server has it, and as the driver has just decided.

The API server's claims are the one record that counts; nothing else is stored, so a driver that starts again knows what the
one before has written. A decision holds its GPUs until the claim has another version: then either it has been written, or it
never will be, as it was made for the version before. So there is no decision for a claim that is known to have changed, or to
be gone: nothing would end it.
"""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Collection as AnyOf
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

from classic.gpu.parameters import ParametersError, memory_bytes, written
from cluster.store import Change, version_of
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import log
from resourceapi.manifests import entries, key_of, mapping, text, uid_of
from resourceapi.objects import Object

# What an allocated claim says about its GPUs: written by the driver, read by its node plugin and after a
# restart.


class UnreadableAllocation(ClaimcheckError):
    """The driver has not written this allocation, or another version of it has."""


class Allocation(NamedTuple):
    """GPUs of a node: how many bytes of each, by name, and how they are initialized."""

    node: str
    memory: dict[str, int]
    init_command: tuple[str, ...] = ()


def allocation_result(driver_name: str, allocation: Allocation) -> Object:
    """The AllocationResult of a claim, which pods on the node may share."""
    data: Object = {
        "devices": [{"device": name, "memory": written(memory)} for name, memory in allocation.memory.items()]
    }
    if allocation.init_command:
        data["initCommand"] = list(allocation.init_command)
    on_node = {"key": "metadata.name", "operator": "In", "values": [allocation.node]}
    return {
        "availableOnNodes": {"nodeSelectorTerms": [{"matchFields": [on_node]}]},
        "resourceHandles": [{"driverName": driver_name, "data": json.dumps(data)}],
        "shareable": True,
    }


def allocation_of(driver_name: str, result: Object) -> Allocation | None:
    """What an AllocationResult gives of the driver's GPUs; None if nothing.

    :raises UnreadableAllocation: if it is not one that :func:`allocation_result` has made.
    """
    handles = [each for each in entries(result, "resourceHandles") if text(each, "driverName") == driver_name]
    if not handles:
        return None
    nodes = list(_nodes(result))
    if len(handles) != 1 or len(nodes) != 1:
        raise UnreadableAllocation("an allocation has one handle, and is for one node")
    memory, init_command = read_data(text(handles[0], "data"))
    return Allocation(nodes[0], memory, init_command)


def read_data(data: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """The bytes of GPUs, and the command that initializes them, in the ``data`` of a handle.

    :raises UnreadableAllocation: if the driver has not written it.
    """
    try:
        found = json.loads(data)
        devices = entries(found, "devices")
        memory = {device["device"]: memory_bytes(device["memory"], "memory") for device in devices}
        command = tuple(entries(found, "initCommand"))
    except (ValueError, RecursionError, KeyError, TypeError, ParametersError):
        raise UnreadableAllocation("the data of the handle is not the driver's") from None
    if (
        not memory
        or len(memory) != len(devices)
        or not all(isinstance(each, str) for each in (*memory, *command))
    ):
        raise UnreadableAllocation("the data of the handle is not the driver's")
    return memory, command


def _nodes(result: Object) -> Iterator[str]:
    """The names of the nodes that an allocation names."""
    for term in entries(mapping(result, "availableOnNodes"), "nodeSelectorTerms"):
        for requirement in entries(term, "matchFields"):
            if text(requirement, "key") == "metadata.name":
                yield from (value for value in entries(requirement, "values") if isinstance(value, str))


class ClaimChanged(ClaimcheckError):
    """The API server would refuse to write an allocation: it has another version of the claim by now, or none."""


class _Stored(NamedTuple):
    """A version of a claim, and what it has allocated of the driver's GPUs, if anything."""

    version: int
    allocation: Allocation | None


class _Decided(NamedTuple):
    """An allocation for a claim of this version; once there is a newer one, the API server refuses to write it."""

    allocation: Allocation
    version: int


class Ledger:
    """The memory of GPUs that claims hold; for any number of threads."""

    def __init__(self, driver_name: str) -> None:
        """Make an empty ledger; :meth:`note` is to be told of the cluster's claims."""
        self._driver_name = driver_name
        self._lock = Lock()  # for all of the following
        self._stored: dict[str, _Stored] = {}  # all claims that there are, by uid
        self._decided: dict[str, _Decided] = {}
        #: what they hold together of the GPUs of each node, as tenants may have many thousands of small ones
        self._used: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def note(self, changes: Iterable[Change[Object]]) -> None:
        """Take over changes of ResourceClaims (a :data:`cluster.store.Listener`)."""
        with self._lock:
            for change in changes:
                before, after = change.before, change.after
                if before is not None and (after is None or uid_of(after) != uid_of(before)):
                    with self._recounted(uid_of(before)) as uid:
                        self._stored.pop(uid, None)
                        self._decided.pop(uid, None)
                if after is not None:
                    self._store(after)

    def decide(self, claim: Object, allocation: Allocation) -> None:
        """Hold GPUs for a claim, in place of those that were decided for it before.

        :raises ClaimChanged: if :meth:`note` has been told of a newer version, or of no such claim.
        """
        with self._lock:
            stored = self._stored.get(uid_of(claim))
            if stored is None:
                raise ClaimChanged("the claim has been deleted")
            if version_of(claim) < stored.version:
                raise ClaimChanged("the claim has been modified")
            with self._recounted(uid_of(claim)) as uid:
                self._decided[uid] = _Decided(allocation, version_of(claim))

    def decided(self, claim: Object) -> Allocation | None:
        """What is held for a claim that may not have been written yet."""
        with self._lock:
            found = self._decided.get(uid_of(claim))
            return None if found is None else found.allocation

    def free(self, node: str, sizes: Mapping[str, int], without: AnyOf[str] = ()) -> dict[str, int]:
        """What claims leave of each GPU of a node; less than nothing where a GPU has become smaller.

        :param sizes: all memory of each GPU.
        :param without: UIDs of claims that do not count.
        """
        with self._lock:
            used = self._used.get(node, Counter())
            left = {name: size - used[name] for name, size in sizes.items()}
            for uid in without:
                for name, memory in self._held(uid, node):
                    if name in left:
                        left[name] += memory
        return left

    def _held(self, uid: str, node: str) -> Iterator[tuple[str, int]]:
        """What a claim holds on a node: the most of what is stored and what is decided, of each GPU."""
        memories = [each.memory for each in self._allocations(uid) if each.node == node]
        for name in {name for memory in memories for name in memory}:
            yield name, max(memory.get(name, 0) for memory in memories)

    def _allocations(self, uid: str) -> list[Allocation]:
        """What is stored, and what is decided."""
        both = (self._stored.get(uid), self._decided.get(uid))
        return [each.allocation for each in both if each is not None and each.allocation is not None]

    @contextmanager
    def _recounted(self, uid: str) -> Iterator[str]:
        """Count what a claim holds anew after a change of that."""
        self._count(uid, -1)
        yield uid
        self._count(uid, 1)

    def _count(self, uid: str, sign: int) -> None:
        for node in {each.node for each in self._allocations(uid)}:
            used = self._used[node]
            for name, memory in self._held(uid, node):
                used[name] += sign * memory
                if not used[name]:
                    del used[name]
            if not used:
                del self._used[node]

    def _store(self, claim: Object) -> None:
        with self._recounted(uid_of(claim)) as uid:
            stored = self._stored[uid] = _Stored(version_of(claim), self._read(claim))
            decided = self._decided.get(uid)
            if decided is not None and stored.version > decided.version:
                del self._decided[uid]

    def _read(self, claim: Object) -> Allocation | None:
        try:
            return allocation_of(self._driver_name, mapping(claim, "status", "allocation"))
        except UnreadableAllocation as error:
            log(logging.ERROR, "allocation does not count", claim=key_of(claim), reason=str(error))
            return None
