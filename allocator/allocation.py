"""Allocating the claims of a pod on a node."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from allocator.allocated import AllocatedState
from allocator.attempt import Attempt
from allocator.attempt_state import Taken
from allocator.demand import Alternative, ClaimDemand, RequestDemand, read_claim
from allocator.devices import Device
from allocator.errors import AllocationError, Mention, NodeError, UnreadyPoolError
from allocator.features import Features
from allocator.former_attempt import FormerAttempt
from allocator.inventory import Inventory
from allocator.ledgers import Ledger
from allocator.pools import Pool, pools_of
from allocator.results import allocation_result
from allocator.rules.capacity import could_serve
from allocator.selection import Selectors
from allocator.solving import solve
from allocator.time_limit import TimeLimit
from resourceapi.limits import ALLOCATION_RESULTS
from resourceapi.objects import Object

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
        classes: Mapping[str, Object],
        inventory: Inventory,
        allocated: AllocatedState,
        share_id: Callable[[], str] = _new_share_id,
    ) -> None:
        """`classes`: DeviceClasses of v1 in normal form, by name; `share_id` makes the ID of a share."""
        self.features = features
        self.inventory = inventory
        self.allocated = allocated
        self._classes = classes
        self.new_share_id = share_id
        self.selectors = Selectors(features.minor)

    def demand(self, claims: Sequence[Object], time_limit: TimeLimit) -> list[ClaimDemand]:
        """What claims of a pod ask for, to be looked for on any number of nodes."""
        return [read_claim(claim, self._classes, self.features, time_limit) for claim in claims]

    def allocate(
        self, node: Object, claims: Sequence[ClaimDemand], time_limit: TimeLimit
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
        node: Object,
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
    if len(pools) > 1:
        drivers = attempt.drivers_of(
            each for claim in claims for request in claim.requests for each in request.alternatives
        )
        pools = [pool for pool in pools if pool.usable and not attempt.passes_over(pool, drivers)]
    if len(pools) == 1 and pools[0].usable:
        return pools[0].devices
    return [device for pool in pools if pool.usable for device in pool.devices]


def _check_claim(
    claim: ClaimDemand,
    pools: Sequence[Pool],
    attempt: Attempt,
    all_devices: dict[Alternative, Sequence[Device]],
) -> None:
    """Refuse a claim that is bad anywhere, in alternatives that would not be chosen as well; find what `All` means."""
    least = 0
    for request in claim.requests:
        attempt.time_limit.check()
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
