"""CC008: consumed counters that the pool does not have.

They stand in other slices of the pool, so the server cannot check them; the scheduler refuses the whole pool.  Only
pools all of whose slices are given are judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.lints.facts import Facts, pool_key
from advice.lints.table import UNKNOWN_COUNTER, Warning
from resourceapi.field_path import Key
from resourceapi.manifests import devices_of, entries, mapping, text
from resourceapi.nearness import nearest


def check(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """Every counter that a device of a ResourceSlice consumes."""
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
                    _near(name, pool.counters),
                )
                continue
            for counter in mapping(consumption, "counters"):
                if counter not in known:
                    message = f'the counter set "{name}" has no counter "{counter}"'
                    yield Warning(
                        UNKNOWN_COUNTER.code, (*at, "counters", Key(counter)), message, _near(counter, known)
                    )


def _near(name: str, candidates: Any) -> str:
    meant = nearest(name, sorted(candidates))
    return f"did you mean `{meant}`?" if meant else ""
