"""Pools of devices as plain data: all of them in short, and one with its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from allocator.time_limit import TimeLimit
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.answers.devices.partitions import CounterSet, Pairs, Together, counter_sets
from claimcheck.answers.devices.pool_checks import Trouble, check_pool, checks_of, published
from commandline.reports.structured import finding_document
from resourceapi.objects import Object
from resourceapi.records.pools import PoolId
from serving.routes import HTTPError

Json = dict[str, Any]
#: How long releases are asked which fields they keep.
SECONDS = 3.0
#: Pools, slices of one, and findings that are listed.
MOST_POOLS, MOST_SLICES, MOST_FINDINGS = 2_000, 1_000, 200
#: Counter sets with their partitions, and kinds of them of which it is told which go together.
MOST_SETS, MOST_PARTITIONS, MOST_PAIRS = 64, 128, 4
#: Devices that are asked about together, and that are told not to go with them.
MOST_CHOSEN, MOST_REFUSED = 128, 2_000


def listed(devices: ClusterDevices, pools: Mapping[PoolId, Sequence[Object]]) -> Json:
    """All pools, those first with which something is wrong."""
    trouble = Trouble.of(devices)
    told = [_short(trouble, id, slices) for id, slices in pools.items()]
    told.sort(key=lambda each: not each["problems"])
    return {"pools": told[:MOST_POOLS], "morePools": max(0, len(told) - MOST_POOLS)}


def _short(trouble: Trouble, id: PoolId, slices: Sequence[Object]) -> Json:
    newest = published(slices[0])
    current = [each for each in map(published, slices) if each.generation == newest.generation]
    return {
        **id._asdict(),
        "generation": newest.generation,
        "slices": len(current),
        "wanted": max(each.count_in_pool for each in current),
        "devices": sum(each.devices for each in current),
        "problems": [
            f"{check.title}: no{f' ({check.detail})' if check.detail else ''}"
            for check in checks_of(trouble, id, slices)
            if not check.holds
        ],
    }


def checked(
    devices: ClusterDevices, pools: Mapping[PoolId, Sequence[Object]], driver: str, name: str
) -> Json:
    """A pool with its slices and checks, findings, and what releases drop."""
    id = PoolId(driver, name)
    if id not in pools:
        raise HTTPError(f"there is no pool {name} of {driver}", 404)
    found = check_pool(devices, id, pools[id], TimeLimit(SECONDS))
    return {
        **id._asdict(),
        "slices": [
            {
                "name": each.name,
                "generation": each.generation,
                "resourceSliceCount": each.count_in_pool,
                "devices": each.devices,
                "nodeName": each.node,
            }
            for each in found.slices[:MOST_SLICES]
        ],
        "moreSlices": max(0, len(found.slices) - MOST_SLICES),
        "checks": [each._asdict() for each in found.checks],
        "findings": [
            {"resourceSlice": slice, **finding_document(finding)}
            for slice, finding in found.findings[:MOST_FINDINGS]
        ],
        "moreFindings": max(0, len(found.findings) - MOST_FINDINGS),
        "unseen": found.unseen,
        "releases": list(found.releases),
        "dropped": [
            {
                "release": each.release,
                "fields": [{"field": field, "places": places} for field, places in each.fields.items()],
            }
            for each in found.dropped
        ],
    }


def partitioned(devices: ClusterDevices, driver: str, name: str) -> Json:
    """How the devices of a pool share its counters, and which two of them cannot be in use together."""
    id = PoolId(driver, name)
    if devices.pool(id) is None:
        raise HTTPError(f"there is no pool {name} of {driver} whose devices can be used", 404)
    sets = counter_sets(devices, id)
    limit = TimeLimit(SECONDS)
    pairs = list(islice(Together(devices, id).pairs(sets, limit), MOST_PAIRS))
    return {
        **id._asdict(),
        "counterSets": [_counter_set(devices, each) for each in sets[:MOST_SETS]],
        "moreCounterSets": max(0, len(sets) - MOST_SETS),
        "pairs": [_pairs(each) for each in pairs],
        "unfinished": limit.is_over,
    }


def _counter_set(devices: ClusterDevices, found: CounterSet) -> Json:
    return {
        "name": found.name,
        "counters": [{"name": name, "total": str(total)} for name, total in found.counters.items()],
        "partitions": [
            {
                "device": each.device.id.device,
                "status": devices.status(each.device),
                "tainted": devices.is_tainted(each.device),
                "shares": dict(each.shares),
                "groups": sorted(each.groups),
            }
            for each in found.partitions[:MOST_PARTITIONS]
        ],
        "morePartitions": max(0, len(found.partitions) - MOST_PARTITIONS),
    }


def _pairs(found: Pairs) -> Json:
    return {
        "counterSets": list(found.counter_sets[:MOST_SETS]),
        "moreCounterSets": max(0, len(found.counter_sets) - MOST_SETS),
        "devices": list(found.devices),
        "refused": [
            {"first": first, "second": second, "reason": reason}
            for (first, second), reason in found.refused.items()
        ],
        "moreDevices": found.more,
    }


def beside(devices: ClusterDevices, driver: str, name: str, chosen: str) -> Json:
    """Which devices of a pool cannot be in use once some are, and no others.

    :param chosen: the names of these, with spaces between them.
    """
    together = Together(devices, PoolId(driver, name))
    known = together.devices
    names = list(dict.fromkeys(chosen.split()))[:MOST_CHOSEN]
    if missing := [each for each in names if each not in known]:
        raise HTTPError(f"there is no device {missing[0]} in the pool {name} of {driver}", 404)
    refused = list(together.refusals([known[each] for each in names], known.values()))
    return {
        "refused": [{"device": device.id.device, "reason": why} for device, why in refused[:MOST_REFUSED]],
        "moreRefused": max(0, len(refused) - MOST_REFUSED),
    }
