"""A shared device has as much left of its capacities as the request consumes (KEP-5075)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from allocator.attempt_state import AttemptState
from allocator.capacity_requests import (
    Amounts,
    Arithmetic,
    CapacityError,
    DeviceCapacities,
    Share,
    refused,
    request_key,
    share_of,
)
from allocator.demand import MEMORY_BYTES, Alternative
from allocator.devices import Device
from allocator.errors import AllocationError, Mention
from allocator.rules.rule import Cause, Evidence, Objection, Rule, because
from deviceselectors.lookups import CAPACITY
from resourceapi.caches import remember
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Quantity, added


class Capacity(Rule):
    """The policies of the device's capacities admit the request, and nobody else uses too much of them."""

    name = "capacity"
    title = "capacity"

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        if not state.features.consumable_capacity:
            return True
        share = alternative.shares.get(device.shape.capacities) or share_for(state, alternative, device)
        amounts = share.amounts
        left = state.allocated.left(device) if state.allocated.capacity else None
        mine = state.shares.get(device.id) if state.shares else None
        if amounts is None or (left is None and mine is None):
            return share.fits
        if left is None:
            left = device.shape.capacities.totals
        return not _exceeded(added(amounts, mine) if mine else amounts, left)

    def looks_at(
        self, evidence: Evidence, alternative: Alternative, devices: Sequence[Device]
    ) -> Iterable[tuple[str, str]]:
        names = dict.fromkeys(alternative.capacity)
        for device in devices:
            with suppress(CapacityError):
                names |= dict.fromkeys(_share(evidence.state, alternative, device).amounts or {})
        return ((CAPACITY, name) for name in names)

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        state = evidence.state
        if not state.features.consumable_capacity:
            return None
        capacities = device.shape.capacities
        try:
            amounts = _share(state, alternative, device).amounts
        except CapacityError as error:
            return because(f"fails: {error}", failed=True)
        if amounts is None:
            return Objection(_unservable(state, alternative, device))
        left, mine = state.capacity_left(device), state.shares.get(device.id, {})
        exceeded = _exceeded(added(amounts, mine), left)
        if not exceeded:
            return None
        causes = [
            Cause(
                f"needs {_taken(alternative, device, name, amounts[name])}",
                (("", f"{_without(left, mine, name)} of {capacities.totals[name]} left"),),
            )
            for name in exceeded
        ]
        return Objection(tuple(causes), evidence.holders_of(device))


def share_for(state: AttemptState, alternative: Alternative, device: Device, *, short: bool = False) -> Share:
    """What the request takes of the device's capacities.

    :param short: whether the text of an error names the device without its driver and pool.
    :raises AllocationError: if the amounts go beyond the server's arithmetic.
    """
    try:
        return _share(state, alternative, device)
    except CapacityError as error:
        raise AllocationError(
            *alternative.place,
            ": checking capacity",
            Mention(" for device ", device, short=short),
            f": {error}",
        ) from None


def consumption(state: AttemptState, alternative: Alternative, device: Device) -> Amounts:
    """What the request consumes of a shared device that could serve it."""
    return share_for(state, alternative, device).amounts or {}


def could_serve(state: AttemptState, alternative: Alternative, device: Device) -> bool:
    """Whether the capacity of the device would do if nobody else used it: those are the devices of mode All.

    Before 1.37 they are those of which so much is left.

    :raises AllocationError: if the amounts go beyond the server's arithmetic.
    """
    if not state.features.consumable_capacity:
        return True
    if state.features.minor < 37:
        return Capacity.admits(state, alternative, device)
    return share_for(state, alternative, device, short=True).fits


def serves(requests: Amounts, capacity: Mapping[str, Object], arithmetic: Arithmetic) -> bool:
    """Whether a device could serve a request for capacity if nobody else used it.

    :param capacity: the `capacity` of the device in normal form, with request policies.
    :returns: False as well if the amounts go beyond the server's arithmetic.
    """
    try:
        return share_of(requests, request_key(requests), DeviceCapacities(capacity), arithmetic).fits
    except CapacityError:
        return False


def _share(state: AttemptState, alternative: Alternative, device: Device) -> Share:
    capacities = device.shape.capacities
    share = alternative.shares.get(capacities)
    if share is None:
        arithmetic = state.features.arithmetic
        share = share_of(alternative.capacity, alternative.capacity_key, capacities, arithmetic)
        remember(alternative.shares, capacities, share)
        alternative.claim.weight += MEMORY_BYTES
    return share


def _exceeded(amounts: Amounts, left: Amounts) -> list[str]:
    """The capacities of which less is left than these amounts."""
    return [name for name, amount in amounts.items() if name in left and amount.cmp(left[name]) > 0]


def _without(left: Amounts, mine: Amounts, name: str) -> object:
    return left[name].sub(mine[name]) if name in mine else left[name]


def _taken(alternative: Alternative, device: Device, name: str, amount: Quantity) -> str:
    """What a request takes of a capacity, and why so much if it does not say so itself."""
    requested = alternative.capacity.get(name)
    if requested is None:
        policy: Object = (device.capacity[name] or EMPTY).get("requestPolicy") or EMPTY
        if policy.get("default") is None:
            return f"all of {name} ({amount}), because the request does not name it and it has no default"
        return f"{amount} of {name}, its default, because the request does not name it"
    rounded = requested.cmp(amount) != 0
    return f"{amount} of {name}" + (f" ({requested}, rounded up by its policy)" if rounded else "")


def _unservable(state: AttemptState, alternative: Alternative, device: Device) -> tuple[Cause, ...]:
    """Why no amount of the capacities of the device, used or not, is what the request takes."""
    lacking = [name for name in alternative.capacity if name not in device.capacity]
    if lacking:
        has = f"; it has {', '.join(sorted(device.capacity))}" if device.capacity else ""
        return (Cause(f"has no capacity {', '.join(sorted(lacking))}{has}"),)
    amounts = refused(alternative.capacity, device.capacity, state.features.arithmetic)
    return tuple(
        Cause(
            f"its policy does not admit {_taken(alternative, device, name, amount)}",
            (("", _policy(device, name)),),
        )
        for name, amount in amounts.items()
    )


def _policy(device: Device, name: str) -> str:
    """The amounts that the policy of a capacity admits."""
    policy: Object = (device.capacity[name] or EMPTY).get("requestPolicy") or EMPTY
    valid_range, values = policy.get("validRange"), policy.get("validValues")
    if valid_range is None:
        return f"only {', '.join(map(str, values or ()))}"
    bounds = [
        f"{word} {valid_range[key]}" for word, key in (("from", "min"), ("to", "max")) if key in valid_range
    ]
    step = f" in steps of {valid_range['step']}" if "step" in valid_range else ""
    return f"only {' '.join(bounds) or 'multiples'}{step}"
