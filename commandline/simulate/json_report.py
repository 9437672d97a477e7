"""The report of ``claimcheck simulate`` for programs. docs/how-to/simulate.md describes the keys."""

from __future__ import annotations

from typing import Any

from allocator.expansion import Expansion
from allocator.explaining import in_words
from allocator.fitting.fragmentation import Fragmentation
from allocator.simulation import Placement
from claimcheck.answers.simulate import Report, Run
from claimcheck.answers.unplaced import Unplaced
from commandline.explain.json_report import remedy_document
from commandline.reports.writing import device_documents, failure_documents

Json = dict[str, Any]


def document(report: Report) -> Json:
    """The report as plain data."""
    answer: Json = {
        "pods": len(report.pods),
        "runs": [_run(run) for run in report.runs],
        "unknownClasses": report.unknown_classes,
        "problems": [{"object": title, "problem": problem} for title, problem in report.problems],
        "waiting": [{"object": each.workload.title, "missing": each.missing} for each in report.waiting],
        "notes": report.checked,
        "failures": failure_documents(report.failures),
    }
    if report.unplaced:
        answer["unplaced"] = [unplaced_document(each) for each in report.unplaced]
    if report.with_patches:
        answer["withPatches"] = True
    if report.expansion is not None:
        answer["newNodes"] = _expansion(report.expansion)
    return answer


def _run(run: Run) -> Json:
    return {
        "objective": run.objective,
        "placed": run.placed,
        "nodesUsed": run.nodes_used,
        "undecided": [each.pod for each in run.undecided],
        "placements": [_placement(each) for each in run.placements],
        "left": [each.pod for each in run.left],
        "fragmentation": None if run.fragmentation is None else fragmentation_document(run.fragmentation),
    }


def unplaced_document(group: Unplaced) -> Json:
    """The pods, and what keeps them from being placed, as plain data."""
    document: Json = {"pods": list(group.pods), "reason": group.said}
    explanation = group.explained.explanation if group.explained is not None else None
    if explanation is not None:
        document["causes"] = list(in_words.causes(explanation))
        document["remedies"] = [remedy_document(each) for each in explanation.remedies]
    return document


def _placement(placement: Placement) -> Json:
    document: Json = {"pod": placement.pod, "node": placement.node or None}
    if placement.error:
        document["error"] = placement.error
    if placement.reason:
        document["reason"] = placement.reason
    if placement.undecided:
        document["undecided"] = True
    if placement.node:
        document["devices"] = device_documents(placement.results.items())
    if placement.equal:
        document["equalNodes"] = placement.equal
    return document


def fragmentation_document(remaining: Fragmentation) -> Json:
    """What is left of devices, as plain data."""
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
            for row in remaining.partitions
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
            for row in remaining.groups
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
            for row in remaining.shares
        ],
    }


def _expansion(expansion: Expansion) -> Json:
    return {
        "complete": expansion.complete,
        "placedWithout": sum(bool(each.node) for each in expansion.placements),
        "ways": [
            {
                "nodes": dict(option.nodes),
                "total": option.total,
                "rank": option.rank,
                "placements": [_placement(each) for each in option.placements],
                "left": list(option.left),
            }
            for option in expansion.options
        ],
    }
