"""Simulations for programs: one JSON object, described in docs/how-to/simulate.md."""

from __future__ import annotations

from typing import Any, TextIO

from allocator.fitting.leftover import Leftover
from allocator.growing import Growth
from allocator.simulation import Placement
from commandline.reports.escaping import write_json
from commandline.simulate.runs import Report, Run

Json = dict[str, Any]


def write(report: Report, stream: TextIO) -> None:
    """All that is known."""
    document: Json = {
        "pods": len(report.pods),
        "runs": [_run(run) for run in report.runs],
        "unknownClasses": report.unknown_classes,
        "problems": [{"object": title, "problem": problem} for title, problem in report.problems],
        "failures": [{"file": failure.file, "message": failure.message} for failure in report.failures],
    }
    if report.growth is not None:
        document["newNodes"] = _growth(report.growth)
    write_json(document, stream)


def _run(run: Run) -> Json:
    return {
        "objective": run.objective,
        "placed": run.placed,
        "nodesUsed": run.nodes_used,
        "undecided": [each.pod for each in run.undecided],
        "placements": [_placement(each) for each in run.placements],
        "left": [each.pod for each in run.left],
        "fragmentation": _leftover(run.leftover),
    }


def _placement(placement: Placement) -> Json:
    document: Json = {"pod": placement.pod, "node": placement.node or None}
    if placement.error:
        document["error"] = placement.error
    if placement.undecided:
        document["undecided"] = True
    if placement.node:
        document["devices"] = [
            {"claim": claim, **{key: each[key] for key in ("request", "driver", "pool", "device")}}
            for claim, result in placement.results.items()
            for each in result["devices"].get("results", ())
        ]
    return document


def _leftover(rest: Leftover) -> Json:
    return {
        "partitions": [
            {
                "driver": row.driver,
                "partition": row.profile,
                "placeable": row.placeable,
                "sufficientFor": row.sufficient,
                "whole": row.whole,
                "counterSetsWithRoom": row.sets,
            }
            for row in rest.partitions
        ],
        "groups": [
            {
                "driver": row.driver,
                "attribute": row.attribute or None,
                "groups": row.groups,
                "intact": row.intact,
                "devices": row.devices,
                "free": row.free,
                "largestRest": row.largest,
            }
            for row in rest.groups
        ],
        "shares": [
            {
                "driver": row.driver,
                "capacity": row.capacity,
                "devices": row.devices,
                "total": row.total,
                "free": row.free,
                "largestRest": row.largest,
            }
            for row in rest.shares
        ],
    }


def _growth(growth: Growth) -> Json:
    return {
        "complete": growth.complete,
        "placedWithout": sum(bool(each.node) for each in growth.placements),
        "ways": [
            {
                "nodes": dict(way.nodes),
                "total": way.total,
                "rank": way.rank,
                "placements": [_placement(each) for each in way.placements],
                "left": list(way.left),
            }
            for way in growth.ways
        ],
    }
