"""A remedy of a pod that waits, tried: the devices as they would be then. The cluster stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from allocator.explaining.finder import Remedy
from allocator.explaining.snapshot import Snapshot
from allocator.scheduling import Mode
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.answers.explain import explain_one
from claimcheck.answers.scenario import Scenario
from commandline.devices.device_map import DeviceMap
from commandline.explain.json_report import remedy_document
from commandline.page.questions import numbered
from resourceapi.records.claims import Allocation
from serving.routes import HTTPError

Json = dict[str, Any]
#: How long everything may take.
SECONDS = 10.0
#: Devices that are listed of those that change.
MOST_CHANGED = 200


def tried(scenario: Scenario, devices: ClusterDevices, number: str) -> Json:
    """What becomes of the devices if a remedy is carried out, and the only pod of a scenario is placed.

    :param devices: as they are now.
    :param number: the place of the remedy among those that `explain` tells.
    """
    limit = TimeLimit(SECONDS)
    try:
        return _tried(scenario, devices, number, limit)
    except OutOfTime:
        raise HTTPError(f"trying it took longer than {SECONDS:g} s", 503) from None


def _tried(scenario: Scenario, devices: ClusterDevices, number: str, limit: TimeLimit) -> Json:
    (workload, *_) = scenario.workloads
    explanation = explain_one(scenario, workload, limit).explanation
    remedies = [] if explanation is None else explanation.remedies
    remedy = numbered(remedies, number, "there is no such remedy any more")
    after = _changed(scenario.snapshot, remedy, limit)
    claims = remedy.variation.claims or tuple(workload.claims)
    answer = after.cluster.place(claims, Mode.FILTER, limit, only_node=remedy.nodes[0])
    (found,) = answer.nodes
    unallocated = [each for each in claims if not each.is_allocated]
    results = list(zip(unallocated, found.result or (), strict=False))
    allocated = [claim.allocated(result) for claim, result in results]
    then = ClusterDevices(scenario.state, limit, after.with_allocated(allocated, limit))
    got = [each.device for _, result in results for each in Allocation(result).results]
    changed = list(_differences(devices, then))
    return {
        "remedy": remedy_document(remedy),
        "node": remedy.nodes[0],
        "devices": [each._asdict() for each in got],
        "changes": changed[:MOST_CHANGED],
        "moreChanges": max(0, len(changed) - MOST_CHANGED),
        "map": DeviceMap(then).document(),
    }


def _changed(snapshot: Snapshot, remedy: Remedy, limit: TimeLimit) -> Snapshot:
    """The cluster once a remedy is carried out, of which the pod's own part is in its claims."""
    variation = remedy.variation
    if not variation.changes_cluster:
        return snapshot
    return snapshot.changed(variation.change(lambda: snapshot.claims), None, limit)


def _differences(now: ClusterDevices, then: ClusterDevices) -> Iterator[Json]:
    before = {each.id: now.status(each) for each in now if not now.is_obsolete(each)}
    for each in then:
        if not then.is_obsolete(each) and (status := then.status(each)) != before.get(each.id):
            place = str(each.placement.get("nodeName", ""))
            yield {**each.id._asdict(), "nodeName": place, "before": before.get(each.id, ""), "after": status}
