"""Devices that are parts of something larger draw from shared counters, of which none may be overdrawn (KEP-4815)."""

from __future__ import annotations

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.ledgers import CounterKey
from allocator.pools import Pool
from allocator.rules.rule import Cause, Evidence, Objection, Rule, because
from resourceapi.quantity import Quantity
from resourceapi.records.pools import PoolId

#: Counters that are named for one device.
MAX_NAMED = 3


def draws(state: AttemptState, device: Device) -> bool:
    """Whether taking the device draws from counters: of a shared one that is in use already, further shares do not."""
    features, allocated = state.features, state.allocated
    if not device.consumes or not features.partitionable_devices:
        return False
    if not device.multiple or not state.is_shared(device):
        return True
    # Before 1.37 a share without consumed capacity goes unnoticed.
    is_held = device.id in allocated.capacity if features.minor < 37 else allocated.is_shared(device.id)
    return not is_held and device.id not in state.shares


class Counters(Rule):
    """No counter of the device's pool is overdrawn then, not even one that the device does not use."""

    name = "counters"
    title = "counters"

    @staticmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        if not draws(state, device):
            return True
        account, drawn = state.account(device), state.drawn
        for name, counters, _ in device.consumes:
            for counter, amount in counters.items():
                key = (account, (name, counter))
                before = drawn.get(key)
                state.trail.set(drawn, key, amount if before is None else before.add(amount))
        # From others nothing is drawn that was not looked at before.
        ledger = state.ledger(device)
        for name, counters, _ in device.consumes:
            for counter in counters:
                left = ledger.left(name, counter)
                if left is None:
                    if state.features.only_own_counters:
                        return False
                elif left.cmp(drawn[account, (name, counter)]) < 0:
                    return False
        if state.features.only_own_counters:
            return True
        if state.kept and any(left.sign() < 0 for left in state.counters_left(device).values()):
            return False
        return not ledger.overdrawn or all((account, key) in drawn for key in ledger.overdrawn)

    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        state, pool = evidence.state, device.slice.pool
        if not draws(state, device):
            return None
        available = state.counters_left(device)
        wanted: dict[CounterKey, Quantity] = {}
        for name, counters, _ in device.consumes:
            for counter, amount in counters.items():
                key = name, counter
                wanted[key] = wanted[key].add(amount) if key in wanted else amount
        if state.features.only_own_counters:
            if missing := [key for key in wanted if key not in available]:
                name, counter = missing[0]
                return because(f"its slice has no counter {counter} in a counter set {name}")
            available = {key: available[key] for key in wanted}
        short = [
            key
            for key, amount in available.items()
            if (amount.sub(wanted[key]) if key in wanted else amount).sign() < 0
        ]
        if not short:
            return None
        name = short[0][0]
        texts = [shortage(key[1], wanted.get(key), available[key]) for key in short if key[0] == name]
        more = f" and {len(texts) - MAX_NAMED} more" if len(texts) > MAX_NAMED else ""
        claims = drawing(evidence, pool, {key[0] for key in short})
        seen = "", f"{name} ({', '.join(texts[:MAX_NAMED])}{more})"
        return Objection((Cause("too little is left in its counter set", (seen,)),), claims)


def drawing(evidence: Evidence, pool: PoolId, counter_sets: set[str]) -> tuple[str, ...]:
    """The names of the claims that hold devices which draw from counter sets of a pool."""
    found: dict[str, None] = {}
    for device in devices_of(evidence, pool):
        claims = evidence.holders_of(device)
        if claims and any(entry.counter_set in counter_sets for entry in device.consumes):
            found.update(dict.fromkeys(claims))
    return tuple(found)


def devices_of(evidence: Evidence, id: PoolId) -> tuple[Device, ...]:
    """The devices of a pool, those for other nodes included as far as they draw from its counters."""
    pool: Pool = next(pool for pool in evidence.state.pools if pool.id == id)
    return (*pool.devices, *pool.elsewhere)


def shortage(counter: str, wanted: Quantity | None, available: Quantity) -> str:
    """That too little is left of a counter for a device, or for what is in use if it wants nothing of it."""
    if wanted is None:
        return f"{counter} is overdrawn: {available} left"
    return f"{counter} needs {wanted}, {available} left"
