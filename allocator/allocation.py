"""Allocating the claims of a pod on a node."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from allocator.allocated import AllocatedState
from allocator.attempt import Attempt
from allocator.attempt_state import Taken
from allocator.demand import Alternative, ClaimDemand, RequestDemand, read_claim
from allocator.devices import Device
from allocator.errors import AllocationError, CrashError, Mention, NodeError, UnreadyPoolError
from allocator.features import Features
from allocator.inventory import Inventory
from allocator.ledgers import Ledger
from allocator.pools import Pool, pools_of
from allocator.results import allocation_result
from allocator.rules.capacity import Capacity, could_serve
from allocator.rules.constraints import Constraints
from allocator.rules.counters import Counters, draws
from allocator.rules.standing import ExclusiveUse, FeatureGates, Taints
from allocator.selection import Selectors
from allocator.solving import solve
from allocator.time_limit import TimeLimit
from resourceapi.limits import ALLOCATION_RESULTS
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import Node

# What kube-scheduler before 1.37 remembers of devices that it has given back, or has not taken.


class FormerAttempt(Attempt):
    """An attempt as former releases make it.

    Before 1.37, `distinctAttribute` forgets all devices of a request once one of them is given back. Before 1.36, a device
    that is refused for a taint, a constraint or its capacity has drawn from counters nevertheless, and a share that is
    given back still draws from them; one that is refused for its capacity counts for constraints, and is taken. Requests
    for all devices crash 1.35 where devices draw from counters; 1.34 looks at the capacity of another device.
    """

    def candidates(
        self, alternative: Alternative, devices: Sequence[Device], start: int = 0
    ) -> Iterator[int]:
        """See :meth:`Attempt.candidates`; before 1.35 a search ends at a pool that is not valid."""
        if self.closed:
            return self._up_to_closed_pool(alternative, devices, start)
        return super().candidates(alternative, devices, start)

    def _up_to_closed_pool(
        self, alternative: Alternative, devices: Sequence[Device], start: int
    ) -> Iterator[int]:
        for place in range(start, len(devices)):
            error = self.closed.get(devices[place].slice.pool)
            if error is not None and self.features.minor >= 33:
                raise error
            for _ in super().candidates(alternative, devices[place : place + 1]):
                if error is not None:  # 1.32 looks whether a pool is valid once it could use a device of it
                    raise error
                yield place

    def take(self, alternative: Alternative, device: Device, *, must: bool) -> bool:
        """See :meth:`Attempt.take`."""
        crashes = must and self.features.crashes_on_counters and draws(self, device)
        if crashes and ExclusiveUse.admits(self, alternative, device):
            raise CrashError("invalid memory address or nil pointer dereference")
        if super().take(alternative, device, must=must):
            return True
        if self._reserves(alternative, device):
            self._refuse(alternative, device)
        return False

    def give_back(self, mark: int, alternative: Alternative, device: Device) -> None:
        """See :meth:`Attempt.give_back`."""
        keeps = alternative.takes_all and self.features.keeps_all
        kept = self._held(alternative, device) if keeps else ()
        super().give_back(mark, alternative, device)
        for of, key, value in kept:
            of[key] = value
        if self.is_shared(device):
            self._keep_drawn(device)
        self._forget(alternative, len(alternative.constraints))

    def _admits(self, alternative: Alternative, device: Device, must: bool) -> bool:
        if not super()._admits(alternative, device, must):
            return False
        if self.features.minor >= 35 or not self.features.consumable_capacity:
            return True
        place = sum(each.alternative.main == alternative.main for each in self.taken(alternative.claim))
        devices = self.slice_of(device).devices
        if place >= len(devices):
            raise CrashError(f"index out of range [{place}] with length {len(devices)}")
        return Capacity.admits(self, alternative, devices[place])

    def _reserves(self, alternative: Alternative, device: Device) -> bool:
        """Whether the device is free and its counters would do."""
        mark = self.mark()
        free = ExclusiveUse.admits(self, alternative, device)
        rules = (FeatureGates, Counters) if device.consumes else ()
        found = free and all(rule.admits(self, alternative, device) for rule in rules)
        self.undo(mark)
        return found

    def _refuse(self, alternative: Alternative, device: Device) -> None:
        """Remember what is remembered of a device that is refused though its counters would do."""
        claim, mark, accepted = alternative.claim, self.mark(), 0
        lacks_capacity = False
        if Taints.admits(self, alternative, device):
            accepted = Constraints.accepted(self, alternative, device)
            lacks_capacity = self.features.minor < 36 and accepted == len(alternative.constraints)
        states = {(claim, place): self.constraint_state(claim, place) for place, _ in alternative.constraints}
        self.undo(mark)
        self._keep_drawn(device)
        if not lacks_capacity:
            self._forget(alternative, accepted)
            return
        if not self.is_shared(device):
            self.exclusive[device.id] = self.exclusive.get(device.id, frozenset()) | {claim}
        self.constraints.update(states)
        self.stuck.update(states)

    def _record(self, alternative: Alternative, device: Device) -> None:
        if alternative.admin_access and self.features.repeats_admin_access:
            claim = alternative.claim
            self.trail.set(self._taken, claim, (*self.taken(claim), Taken(device, alternative, None)))
        else:
            super()._record(alternative, device)

    def _held(self, alternative: Alternative, device: Device) -> list[tuple[dict[Any, Any], Any, Any]]:
        """What is remembered of a device that is taken: in which mapping, under which key, and what."""
        claim, states = alternative.claim, self.constraints
        held: list[tuple[dict[Any, Any], Any, Any]] = [(self._taken, claim, self.taken(claim))]
        if device.id in self.exclusive and not alternative.admin_access:
            held.append((self.exclusive, device.id, self.exclusive[device.id]))
        keys = [(claim, place) for place, _ in alternative.constraints if (claim, place) in states]
        return held + [(of, key, states[key]) for key in keys for of in (states, self.stuck)]

    def _keep_drawn(self, device: Device) -> None:
        if self.features.minor >= 36 or self.features.minor < 34 or not draws(self, device):
            return
        account = self.account(device)
        for name, counters, _ in device.consumes:
            for counter, amount in counters.items():
                key = account, (name, counter)
                before = self.kept.get(key)
                self.kept[key] = amount if before is None else before.add(amount)

    def _forget(self, alternative: Alternative, accepted: int) -> None:
        """Give a device back to the first of the constraints, which have accepted it."""
        for place, constraint in alternative.constraints[:accepted]:
            key = (alternative.claim, place)
            if constraint.distinct and key in self.constraints:
                entries = self.constraints[key]
                self.constraints[key] = tuple(each for each in entries if each[0] != alternative.main)
        for key, state in self.stuck.items():
            if not self.constraints.get(key):
                self.constraints[key] = state


Arrangement = Callable[[list[Device]], list[Device]]
"""Puts the devices of a node into the order in which they are tried."""


def _new_share_id() -> str:
    """A random UUID (RFC 9562, version 4)."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


class Allocator:
    """Finds devices for claims. It reads inventory and allocated state as they are when it is asked."""

    def __init__(
        self,
        features: Features,
        classes: Mapping[str, DeviceClass],
        inventory: Inventory,
        allocated: AllocatedState,
        share_id: Callable[[], str] = _new_share_id,
    ) -> None:
        """`classes`: DeviceClasses by name; `share_id` makes the ID of a share."""
        self.features = features
        self.inventory = inventory
        self.allocated = allocated
        self._classes = classes
        self.new_share_id = share_id
        self.selectors = Selectors(features.minor)

    def demand(self, claims: Sequence[Claim], time_limit: TimeLimit) -> list[ClaimDemand]:
        """What claims of a pod ask for, to be looked for on any number of nodes."""
        return [read_claim(claim, self._classes, self.features, time_limit) for claim in claims]

    def allocate(
        self, node: Node, claims: Sequence[ClaimDemand], time_limit: TimeLimit
    ) -> list[Object] | None:
        """One AllocationResult per claim, in normal form; None if the claims do not fit on the node.

        `node`: a Node as JSON. Raises AllocationError, which ends the pod's attempt, and NodeError.
        """
        found = self.find(node, pools_of(self.inventory, node, self.features), claims, time_limit)
        if found is None:
            return None
        return [
            allocation_result(claim, taken, node, self.features, self.new_share_id)
            for claim, taken in zip(claims, found, strict=True)
        ]

    def find(
        self,
        node: Node,
        pools: Sequence[Pool],
        claims: Sequence[ClaimDemand],
        time_limit: TimeLimit,
        ledger: Callable[[Pool], Ledger] | None = None,
        arrange: Arrangement | None = None,
        hard: Callable[[], None] | None = None,
    ) -> list[tuple[Taken, ...]] | None:
        """The devices that each claim gets of the pools that a node sees, in the order in which they are tried.

        `ledger`: what is left of a pool's counters, if somebody keeps account. `arrange`: another order for devices.
        `hard` is called before a search that takes long, and may raise what ends it. Raises as `allocate`, and OutOfTime.
        """
        make = Attempt if self.features.minor >= 37 else FormerAttempt
        attempt = make(node, pools, self.allocated, self.features, self.selectors, time_limit, ledger)
        all_devices: dict[Alternative, Sequence[Device]] = {}
        for claim in claims:
            _check_claim(claim, pools, attempt, all_devices)
        candidates = _candidates(pools, claims, attempt)
        if arrange is not None:
            candidates = arrange(list(candidates))
        if solve(attempt, claims, candidates, all_devices, self.features, hard):
            return [attempt.taken(claim.header) for claim in claims]
        if any(pool.invalid for pool in pools):
            raise NodeError("invalid resource pools were encountered")
        return None


def _candidates(pools: Sequence[Pool], claims: Sequence[ClaimDemand], attempt: Attempt) -> Sequence[Device]:
    """The devices that can be had, in the order in which they are tried; those that no request is about may be missing."""
    usable = [pool for pool in pools if pool.usable]
    if len(usable) > 1:
        drivers = attempt.drivers_of(
            [each for claim in claims for request in claim.requests for each in request.alternatives]
        )
        usable = [pool for pool in usable if not attempt.passes_over(pool, drivers)]
    if len(usable) == 1:
        return usable[0].devices
    return [device for pool in usable for device in pool.devices]


def _check_claim(
    claim: ClaimDemand,
    pools: Sequence[Pool],
    attempt: Attempt,
    all_devices: dict[Alternative, Sequence[Device]],
) -> None:
    """Refuse a claim that is bad anywhere, in alternatives that would not be chosen as well; find what `All` means."""
    least = 0
    for request in claim.requests:
        if request.problem:
            raise AllocationError(*request.problem)
        for alternative in request.alternatives:
            if alternative.problem:
                raise AllocationError(*alternative.problem)
            if alternative.takes_all:
                all_devices[alternative] = _everything(alternative, pools, attempt)
        count = _least(request, all_devices)
        if count > ALLOCATION_RESULTS - least and attempt.features.minor >= 37:
            raise AllocationError(
                *("claim ", claim.header, f", request {request.name}: "),
                f"adding {count} devices exceeds the claim limit of {ALLOCATION_RESULTS}, with {least} already accounted for",
            )
        least += count
    if least > ALLOCATION_RESULTS:
        raise AllocationError(
            *("claim ", claim.header),
            f": number of requested devices {least} exceeds the claim limit of {ALLOCATION_RESULTS}",
        )
    if claim.problem:
        raise AllocationError(*claim.problem)


def _least(request: RequestDemand, all_devices: Mapping[Alternative, Sequence[Device]]) -> int:
    """How many devices a request needs at least."""
    counts = [
        len(all_devices[alternative]) if alternative.takes_all else alternative.count
        for alternative in request.alternatives
    ]
    return min(counts)


def _everything(alternative: Alternative, pools: Sequence[Pool], attempt: Attempt) -> list[Device]:
    """The devices that `All` asks for, whether they are free or not. Any pool that is not in order is an error."""
    found = []
    drivers = attempt.drivers_of((alternative,))
    for pool in pools:
        attempt.time_limit.check()
        if pool.incomplete or pool.invalid:
            state = "being updated" if pool.incomplete else "invalid"
            raise UnreadyPoolError(
                *alternative.place,
                ": asks for all devices, but",
                Mention(" resource pool ", pool, " a resource pool"),
                f" is currently {state}",
            )
        if attempt.passes_over(pool, drivers):
            continue
        for device in pool.devices:
            if attempt.selects(alternative, device) and could_serve(attempt, alternative, device):
                found.append(device)
    return found
