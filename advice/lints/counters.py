"""CC008 and CC016: consumed counters that the pool does not have, or has less of.

The counter sets are in other slices of the pool, so the server cannot check the references. With an unknown counter the
scheduler does not use the pool; a device that consumes more than there is is never allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.lints.facts import Facts
from advice.lints.pools import Counters
from advice.lints.table import OVERCONSUMED, UNKNOWN_COUNTER, Warning
from resourceapi.field_errors import Key, Path
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.manifests import devices_of, entries, mapping, text
from resourceapi.phrases import did_you_mean
from resourceapi.quantity import QuantityError, parse
from resourceapi.records.pools import SliceRecord


def check(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """Warn about every counter that a device of a ResourceSlice consumes and the pool does not have enough of."""
    slice = SliceRecord(manifest)
    pool = facts.pools.of(slice)
    if pool is None:
        return
    counters = pool.counters(slice.generation)
    is_complete = RESOURCE_SLICE.name in facts.complete or pool.generation(slice.generation).is_complete
    if not (is_complete or counters):
        return
    enough = _Enough()
    for path, device in devices_of(manifest):
        for index, consumption in enumerate(entries(device, "consumesCounters")):
            at = (*path, "consumesCounters", index)
            yield from _check_consumption(consumption, at, counters, enough, is_complete=is_complete)


def _check_consumption(
    consumption: Any, path: Path, counters: Counters, enough: _Enough, *, is_complete: bool
) -> Iterator[Warning]:
    name = text(consumption, "counterSet")
    known = counters.get(name)
    if known is None:
        if name:
            yield Warning(
                UNKNOWN_COUNTER.code,
                (*path, "counterSet"),
                f'no slice of the pool has a counter set "{name}"',
                did_you_mean(name, sorted(counters)),
                is_note=not is_complete,
            )
        return
    for counter, amount in mapping(consumption, "counters").items():
        at = (*path, "counters", Key(counter))
        if counter not in known:  # a counter set is in one slice
            message = f'the counter set "{name}" has no counter "{counter}"'
            yield Warning(UNKNOWN_COUNTER.code, at, message, did_you_mean(counter, sorted(known)))
            continue
        value = str(mapping(amount).get("value"))
        if all(enough.is_more(value, there) for there in known[counter]):
            yield Warning(
                OVERCONSUMED.code,
                (*at, "value"),
                f'the device consumes {value} of the counter "{counter}", but the counter set "{name}" has only '
                + " or ".join(sorted(known[counter])),
                "such a device is never allocated: give the counter set more, or let the device consume less",
            )


class _Enough:
    """Compares quantities; devices consume the same few amounts."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], bool] = {}

    def is_more(self, value: str, there: str) -> bool:
        """Whether a value is more than there is; not if either is no quantity."""
        if value == there:
            return False
        key = value, there
        if key not in self._found:
            try:
                self._found[key] = parse(value).cmp(parse(there)) > 0
            except QuantityError:
                self._found[key] = False
        return self._found[key]
