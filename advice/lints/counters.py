"""CC008: consumed counters that the pool does not have.

The counter sets are in other slices of the pool, so the server cannot check the references; the scheduler does not use
such a pool.  Only pools with all slices given are checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.lints.facts import Facts, pool_key
from advice.lints.table import UNKNOWN_COUNTER, Warning
from resourceapi.field_path import Key
from resourceapi.manifests import devices_of, entries, mapping, text
from resourceapi.nearness import did_you_mean


def check(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """Warn about every counter that a device of a ResourceSlice consumes and the pool does not have."""
    key = pool_key(manifest)
    pool = facts.pools.get(key) if key is not None else None
    if pool is None or not pool.complete:
        return
    for path, device in devices_of(manifest):
        for index, consumption in enumerate(entries(device, "consumesCounters")):
            at = (*path, "consumesCounters", index)
            name = text(consumption, "counterSet")
            known = pool.counters.get(name)
            if known is None:
                yield Warning(
                    UNKNOWN_COUNTER.code,
                    (*at, "counterSet"),
                    f'no slice of the pool has a counter set "{name}"',
                    did_you_mean(name, sorted(pool.counters)),
                )
                continue
            for counter in mapping(consumption, "counters"):
                if counter not in known:
                    message = f'the counter set "{name}" has no counter "{counter}"'
                    yield Warning(
                        UNKNOWN_COUNTER.code,
                        (*at, "counters", Key(counter)),
                        message,
                        did_you_mean(counter, sorted(known)),
                    )
