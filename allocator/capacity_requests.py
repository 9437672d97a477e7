"""Consumable capacity: what a request takes of a device that several can share (KEP-5075).

A request is brought onto the device's policy: its default or all of it where nothing is asked for, up to the range's
minimum, up to the next step or to the next valid value. Steps may be fractional (gate DRAFractionalCapacityRange).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from enum import Enum
from typing import NamedTuple

from resourceapi.caches import remember
from resourceapi.go_text import quote
from resourceapi.objects import Object
from resourceapi.quantity import BINARY_SI, Quantity, added, value_of, values_of

Amounts = Mapping[str, Quantity]
_MAX_INT64 = (1 << 63) - 1
_NOT_REPRESENTABLE = "capacity request cannot be represented in the device's range arithmetic"
_NEGATIVE = "capacity value is negative"


class Arithmetic(Enum):
    """How steps are counted."""

    #: in thousandths where a range needs them (gate DRAFractionalCapacityRange)
    FRACTIONAL = "fractional"
    #: in whole numbers
    WHOLE = "whole"
    #: in whole numbers of 64 bits, beyond which they wrap around; negative ones are nothing special
    WRAPPING = "wrapping"

    @classmethod
    def of(cls, minor: int, *, fractional: bool) -> Arithmetic:
        """That of kube-scheduler 1.`minor`; `fractional`: whether the gate is on."""
        if minor < 37:
            return cls.WRAPPING
        return cls.FRACTIONAL if fractional else cls.WHOLE


class CapacityError(ValueError):
    """A request that no arithmetic of 64 bits can bring onto a policy; it ends the search."""


class Share(NamedTuple):
    """What a request takes of a device (None: there is no way), and whether there is that much if nobody else uses it."""

    amounts: Amounts | None
    fits: bool


UNSERVABLE = Share(None, False)


class Portion(NamedTuple):
    """What a request takes of one capacity, and whether the policy of that allows it."""

    amount: Quantity
    allowed: bool


Portions = dict[tuple[object, ...], Portion]
"""Portions that are known, by capacity and request."""

#: What is kept of other claims' requests with capacities, of which there may be very many: so many shares with all capacities
#: of devices together, and at least with each of them; as many portions of each capacity. Claims keep their own while they search.
MOST_TOGETHER, LEAST_EACH = 256, 2


class DeviceCapacities:
    """The capacities of devices, which devices of several shapes may have in common, with what requests take of them."""

    __slots__ = ("__weakref__", "_all", "by_name", "portions", "shares", "totals")

    def __init__(self, by_name: Mapping[str, Object], all: Sized = ()) -> None:
        """`by_name`: the `capacity` of a device in normal form, with request policies; `all`: these and those of other devices."""
        self.by_name = by_name
        self._all = all
        #: all of each
        self.totals = values_of(by_name)
        #: caches of :func:`share_of`
        self.portions: Portions = {}
        self.shares: dict[tuple[object, ...], Share] = {}

    @property
    def most(self) -> int:
        """How many shares are kept, and portions of each capacity."""
        return max(LEAST_EACH, MOST_TOGETHER // (len(self._all) + 1))


def request_key(requests: Amounts) -> tuple[object, ...]:
    """The same for requests that take the same of any device."""
    return tuple((name, *spelling(amount)) for name, amount in requests.items())


def share_of(
    requests: Amounts, request: tuple[object, ...], capacities: DeviceCapacities, arithmetic: Arithmetic
) -> Share:
    """What a request (`request` is its key) takes of a device with these capacities. Raises CapacityError."""
    key = (arithmetic, request)
    share = capacities.shares.get(key)
    if share is None:
        if any(name not in capacities.by_name for name in requests):
            return UNSERVABLE  # not kept: the request may be of any size
        if len(capacities.portions) >= capacities.most * len(capacities.by_name):
            capacities.portions.clear()
        amounts = consumed(requests, capacities.by_name, arithmetic, capacities.portions)
        share = Share(amounts, amounts is not None and has_room(amounts, capacities.by_name, ()))
        remember(capacities.shares, key, share, capacities.most)
    return share


def consumed(
    requests: Amounts, capacities: Mapping[str, Object], arithmetic: Arithmetic, known: Portions | None = None
) -> dict[str, Quantity] | None:
    """What a request takes of each capacity of a device; None if the device cannot serve it even when unused.

    `known` is added to. Raises CapacityError.
    """
    if any(name not in capacities for name in requests):
        return None
    known = {} if known is None else known
    portions = {
        name: _portion(name, requests.get(name), capacity or {}, arithmetic, known)
        for name, capacity in capacities.items()
    }
    if not all(portion.allowed for portion in portions.values()):
        return None
    return {name: portion.amount for name, portion in portions.items()}


def refused(
    requests: Amounts, capacities: Mapping[str, Object], arithmetic: Arithmetic
) -> dict[str, Quantity]:
    """The amounts that a request would take but that the policies of the capacities forbid. Raises CapacityError."""
    portions = {
        name: _portion(name, requests.get(name), capacity or {}, arithmetic, {})
        for name, capacity in capacities.items()
    }
    return {name: portion.amount for name, portion in portions.items() if not portion.allowed}


def _portion(
    name: str, requested: Quantity | None, capacity: Object, arithmetic: Arithmetic, known: Portions
) -> Portion:
    key = (name, arithmetic) if requested is None else (name, arithmetic, *spelling(requested))
    portion = known.get(key)
    if portion is None:
        amount, written = _of_one(name, requested, capacity, arithmetic)
        policy = capacity.get("requestPolicy")
        allowed = policy is None or not _violates(amount, policy, arithmetic, written)
        portion = known[key] = Portion(amount, allowed)
    return portion


def spelling(amount: Quantity) -> tuple[object, ...]:
    """What tells quantities apart, also those of the same value."""
    return amount.mantissa, amount.scale, amount.format, amount.big, str(amount)


def has_room(taken: Amounts, capacities: Mapping[str, Object], in_use: Iterable[Amounts | None]) -> bool:
    """Whether that much is left of each capacity."""
    totals = taken
    for amounts in in_use:
        if amounts:
            totals = added(totals, amounts)
    return all(totals[name].cmp(value_of(capacities[name])) <= 0 for name in taken)


def _of_one(
    name: str, requested: Quantity | None, capacity: Object, arithmetic: Arithmetic
) -> tuple[Quantity, bool]:
    """The amount, and whether it is written like that in an object rather than worked out."""
    try:
        amount, written = _rounded(requested, capacity, arithmetic)
    except CapacityError as error:
        raise CapacityError(f"capacity {quote(name)}: {error}") from None
    if amount.sign() < 0 and arithmetic is not Arithmetic.WRAPPING:
        raise CapacityError(f"capacity {quote(name)}: {_NEGATIVE}")
    return amount, written


def _rounded(requested: Quantity | None, capacity: Object, arithmetic: Arithmetic) -> tuple[Quantity, bool]:
    policy: Object = capacity.get("requestPolicy") or {}
    if requested is None:
        default: Quantity | None = policy.get("default")
        return value_of(capacity) if default is None else default, True
    valid_range, valid_values = policy.get("validRange"), policy.get("validValues")
    if valid_range is not None and "min" in valid_range:
        return _up_to_step(requested, valid_range, arithmetic)
    for value in valid_values or ():
        if requested.cmp(value) <= 0:
            return value, True
    return requested, True


def _up_to_step(requested: Quantity, valid_range: Object, arithmetic: Arithmetic) -> tuple[Quantity, bool]:
    least: Quantity = valid_range["min"]
    step: Quantity | None = valid_range.get("step")
    if requested.cmp(least) < 0:
        return least, True
    if step is None:
        return requested, True
    if arithmetic is Arithmetic.WRAPPING:
        return _up_to_step_wrapping(requested, least, step), False
    scale = _unit(valid_range, arithmetic)
    if scale and not requested.is_milli():
        raise CapacityError(f"{_NOT_REPRESENTABLE}: request {requested} is not a representable milli value")
    if not scale and requested.cmp_int(_MAX_INT64) > 0:
        raise CapacityError(f"{_NOT_REPRESENTABLE}: request {requested} exceeds MaxInt64")
    first, width = least.scaled_value(scale), step.scaled_value(scale)
    if not width:
        return requested, True
    steps = -((first - requested.scaled_value(scale)) // width)
    amount = first + width * steps
    if amount > _MAX_INT64:
        limit = "the milli-value range" if scale else "MaxInt64"
        raise CapacityError(
            f"{_NOT_REPRESENTABLE}: rounding request {requested} up to the next step passes {limit}"
        )
    if scale and amount % 1000 == 0:
        return Quantity(amount // 1000, 0, step.format), False
    return Quantity(amount, scale, step.format), False


def _up_to_step_wrapping(requested: Quantity, least: Quantity, step: Quantity) -> Quantity:
    first, width = least.scaled_value(0), step.scaled_value(0)
    beyond = _wrapped(requested.scaled_value(0) - first)
    steps = abs(beyond) // width * (1 if beyond >= 0 else -1) + bool(beyond % width) if width else 0
    return Quantity(_wrapped(first + width * steps), 0, BINARY_SI)


def _wrapped(number: int) -> int:
    """As Go's int64 has it."""
    return (number - _MAX_INT64 - 1) % (1 << 64) - _MAX_INT64 - 1


def _unit(valid_range: Object, arithmetic: Arithmetic) -> int:
    """The power of ten in which a range is counted: thousandths if they are wanted and can express all of it."""
    if arithmetic is not Arithmetic.FRACTIONAL:
        return 0
    bounds = [valid_range[name] for name in ("min", "max", "step") if name in valid_range]
    if not all(bound.is_milli() for bound in bounds):
        return 0
    return -3 if "step" not in valid_range or valid_range["step"].milli_value() >= 1 else 0


def _violates(amount: Quantity, policy: Object, arithmetic: Arithmetic, written: bool) -> bool:
    """Whether the policy forbids an amount; the default, written the same way, is always allowed."""
    default = policy.get("default")
    if written and default is not None and _same_spelling(amount, default):
        return False
    valid_range, valid_values = policy.get("validRange"), policy.get("validValues") or ()
    if valid_range is not None:
        return _is_outside(amount, valid_range, arithmetic)
    return bool(valid_values) and all(amount.cmp(value) for value in valid_values)


def _is_outside(amount: Quantity, valid_range: Object, arithmetic: Arithmetic) -> bool:
    most, step = valid_range.get("max"), valid_range.get("step")
    if most is not None and amount.cmp(most) > 0:
        return True
    if step is None:
        return False
    scale = _unit(valid_range, arithmetic)
    if scale and not amount.is_milli():
        return True
    least = valid_range["min"].scaled_value(scale) if "min" in valid_range else 0
    width = step.scaled_value(scale)
    return bool(width) and (amount.scaled_value(scale) - least) % width != 0


def _same_spelling(one: Quantity, other: Quantity) -> bool:
    """kube-scheduler compares the representations here, not the numbers: `1024Mi` is not the default `1Gi`."""
    return (one.mantissa, one.scale, one.format, str(one)) == (
        other.mantissa,
        other.scale,
        other.format,
        str(other),
    ) and not one.big
