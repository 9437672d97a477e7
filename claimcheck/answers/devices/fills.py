"""How full the devices are that claims share, and which amounts of their capacity a request can take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allocator.devices import Device
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Quantity, value_of

DEFAULT, MIN, MAX, STEP, VALUE = "default", "min", "max", "step", "value"
#: More steps than these are not told one by one, nor more values.
MOST_STEPS = 40


class Tick(NamedTuple):
    """An amount that a request can take.

    :param place: from 0, nothing, to 1, all of the capacity.
    """

    kind: str
    amount: Quantity
    place: float


class Fill(NamedTuple):
    """A capacity of a device that claims share.

    :param used: from 0 to 1; None if it is not known what claims use.
    :param ticks: the default, then what the policy allows.
    :param step: by which amounts grow; None if any is allowed.
    """

    capacity: str
    total: Quantity
    used: float | None
    ticks: Sequence[Tick]
    step: Quantity | None


def fills(devices: ClusterDevices, device: Device) -> list[Fill]:
    """The capacities of a device that claims can share; none of another."""
    if not device.multiple:
        return []
    found, left = [], devices.capacity_left(device)
    for name, capacity in device.capacity.items():
        total = value_of(capacity or EMPTY)
        if total.sign() > 0:
            used = share(total.sub(left[name]), total) if name in left else 0.0
            policy: Object = (capacity or EMPTY).get("requestPolicy") or EMPTY
            step = (policy.get("validRange") or EMPTY).get("step")
            ticks = list(_ticks(policy, total))
            found.append(Fill(name, total, used if devices.holders_are_known else None, ticks, step))
    return found


def _ticks(policy: Object, total: Quantity) -> Iterator[Tick]:
    range: Object = policy.get("validRange") or EMPTY
    least, most, step = (range.get(name) for name in ("min", "max", "step"))
    if (default := policy.get("default")) is not None:
        yield Tick(DEFAULT, default, share(default, total))
    for value in list(policy.get("validValues") or ())[:MOST_STEPS]:
        yield Tick(VALUE, value, share(value, total))
    if least is None:
        return
    yield Tick(MIN, least, share(least, total))
    end = total if most is None else most
    if step is not None and step.sign() > 0:
        steps = end.sub(least).approximate_float() / step.approximate_float()
        amount = least.add(step)
        while steps <= MOST_STEPS and amount.cmp(end) < 0:
            yield Tick(STEP, amount, share(amount, total))
            amount = amount.add(step)
    yield Tick(MAX, end, share(end, total))


def share(amount: Quantity, total: Quantity) -> float:
    """How much of a total an amount is, from 0 to 1."""
    whole = total.approximate_float()
    return min(1.0, max(0.0, amount.approximate_float() / whole)) if whole > 0 else 1.0
