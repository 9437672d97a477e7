"""Whether the devices that claims were given are those that the allocator gives in that order of events.

Writes of pods that are scheduled at the same time may reach etcd in another order than that in which their devices were chosen.
So where the allocator says something else, those of the same node that follow soon may have come before.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from allocator.features import Features
from allocator.scheduling import Mode, SchedulingState
from allocator.time_limit import UNLIMITED
from cluster.objects import ClusterObjects
from resourceapi.encoding import encode
from resourceapi.kinds import CLAIM, DEVICE_CLASS, RESOURCE_SLICE
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import read_device_class
from resourceapi.records.nodes import read_node
from resourceapi.releases import Profile
from tests.e2e.allocation_history import results_of
from tests.e2e.etcd_history import Change

RESOURCES = ("minions", "resourceslices", "deviceclasses", "resourceclaims")
"""What is needed of a history; etcd knows nodes by their first name."""
_AT_ONCE = 3
"""How many of those that follow on a node may have been chosen before, at most."""
_SOON = 64


class Replay:
    """`compared`: how many allocations were looked at; `reordered`: for how many others had to come first."""

    def __init__(self, changes: Iterable[Change], profile: Profile) -> None:
        self.compared = 0
        self.reordered = 0
        self._read = ClusterObjects(profile).read_stored
        self._changes = list(changes)
        self._claims: dict[str, Object] = {}
        self._given = self._allocations()
        self._state = SchedulingState(Features(profile.gates), (), {}, ())

    def differences(self) -> Iterator[str]:
        """Claims that were given something else than the allocator says."""
        for place, change in enumerate(self._changes):
            if change.resource == "resourceclaims":
                if place in self._given:
                    yield from self._difference(place, change)
                self._take_claim(change)
            elif change.obj is not None:
                self._take(change.resource, change.obj)

    def _allocations(self) -> dict[int, str]:
        """The changes that give a claim devices, with the node."""
        found: dict[int, str] = {}
        holds: set[str] = set()
        for place, change in enumerate(self._changes):
            if change.resource != "resourceclaims":
                continue
            has = bool(results_of(change.obj))
            if has and change.key not in holds and change.obj is not None:
                found[place] = _node_of(change.obj)
            (holds.add if has else holds.discard)(change.key)
        return found

    def _difference(self, place: int, change: Change) -> Iterator[str]:
        assert change.obj is not None
        node, given = self._given[place], _comparable(change.obj)
        self.compared += 1
        first = said = self._says(change.key, node)
        if said == given:
            return
        for earlier in self._perhaps_earlier(place, node):
            for each in earlier:
                self._state.put_claim(Claim(self._decoded(each)))
            said = self._says(change.key, node)
            for each in earlier:
                namespace, name = each["metadata"]["namespace"], each["metadata"]["name"]
                self._state.remove_claim(namespace, name)
            if said == given:
                self.reordered += 1
                return
        yield f"{change.key} was given {given} on {node}; the allocator says {first}"

    def _perhaps_earlier(self, place: int, node: str) -> Iterator[Sequence[Object]]:
        follow = [
            obj
            for later, at in itertools.islice(((p, n) for p, n in self._given.items() if p > place), _SOON)
            if at == node and (obj := self._changes[later].obj) is not None
        ]
        for count in range(1, _AT_ONCE + 1):
            yield from itertools.combinations(follow, count)

    def _says(self, key: str, node: str) -> list[Any] | None:
        claim = self._claims[key]
        answer = self._state.place([Claim(claim)], Mode.FILTER, UNLIMITED, only_node=node)
        (found,) = answer.nodes
        if not found.fits or found.result is None:
            return None
        status = {"allocation": found.result[0]}
        return _comparable(encode(SCHEMAS["v1"], CLAIM.name, {**claim, "status": status}))

    def _take_claim(self, change: Change) -> None:
        if change.obj is None:
            self._claims.pop(change.key, None)
            self._state.remove_claim(*change.key.split("/"))
            return
        claim = self._claims[change.key] = self._decoded(change.obj)
        self._state.put_claim(Claim(claim))

    def _take(self, resource: str, obj: Object) -> None:
        if resource == "minions":
            node = read_node(obj)
            assert node is not None
            self._state.put_node(node)
        elif resource == "resourceslices":
            self._state.put_slice(self._checked(RESOURCE_SLICE.name, obj))
        else:
            self._state.put_class(read_device_class(self._checked(DEVICE_CLASS.name, obj)))

    def _decoded(self, claim: Object) -> Object:
        return self._checked(CLAIM.name, claim)

    def _checked(self, kind: str, obj: Object) -> Object:
        metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
        found = self._read(kind, {**obj, "metadata": metadata})
        assert found is not None, obj
        return found


def _comparable(claim: Object) -> list[Any]:
    """The devices that a claim was given, but for what is random."""
    return [{name: value for name, value in each.items() if name != "shareID"} for each in results_of(claim)]


def _node_of(claim: Object) -> str:
    (term,) = claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    return str(term["matchFields"][0]["values"][0])
