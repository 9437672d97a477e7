"""The answer of ``claimcheck explain`` for programs: ``objects`` and ``failures``. docs/how-to/explain.md has the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from allocator.answers import NodeAnswer
from allocator.explaining.conflicts import Conflict
from allocator.explaining.constraints import Clash
from allocator.explaining.explanation import FITS, Explanation, Funnel, NodeKind, Total
from allocator.explaining.finder import Remedy
from allocator.explaining.steps import Loss, Step
from commandline.reports.writing import failure_documents

if TYPE_CHECKING:
    from commandline.explain.explanations import Answer, Explained

Json = dict[str, Any]
#: Names of nodes that are listed.
MAX_NODES = 20


def document(answer: Answer) -> Json:
    """The answer as plain data."""
    return {
        "objects": [_object(each) for each in answer.explained],
        "failures": failure_documents(answer.failures),
    }


def _object(explained: Explained) -> Json:
    workload, explanation = explained.workload, explained.explanation
    document: Json = {
        "file": workload.file,
        "line": workload.line,
        "kind": workload.kind,
        "namespace": workload.namespace,
        "name": workload.name,
        "verdict": explained.verdict,
    }
    if explanation is None:
        return document | {"problem": explained.bypassed or workload.problem}
    return document | _explanation(explanation)


def _explanation(explanation: Explanation) -> Json:
    document: Json = {
        "nodes": {
            "asked": len(explanation.answers),
            "fitting": len(explanation.fitting),
            "excluded": [{"node": node, "reason": reason} for node, reason in explanation.excluded.items()],
        },
        "complete": explanation.complete,
    }
    if explanation.placed is not None:
        document["placement"] = _placement(explanation)
    if explanation.error is not None:
        document["error"] = _error(explanation.error, explanation.errors)
    if explanation.verdict != FITS:
        document["unknownClasses"] = explanation.unknown_classes
        document["totals"] = [_total(total) for total in explanation.totals]
    document["nodeKinds"] = [_kind(kind) for kind in explanation.kinds]
    document["alternatives"] = [
        {"claim": note.claim, "request": note.name, "note": note.text} for note in explanation.alternatives
    ]
    if explanation.verdict != FITS:
        document["conflict"] = _conflict(explanation.conflict) if explanation.conflict else None
        document["nodeConflicts"] = [_conflict(conflict) for conflict in explanation.conflicts]
        document["fitsIfNothingWereAllocated"] = None if explanation.never is None else not explanation.never
        document["remedies"] = [_remedy(remedy) for remedy in explanation.remedies]
    return document


def _error(error: NodeAnswer, errors: Sequence[NodeAnswer]) -> Json:
    names = [each.node for each in errors[:MAX_NODES]]
    document = {"node": error.node, "message": error.error, "nodes": len(errors), "names": names}
    return document | ({"mend": error.fix} if error.fix else {})


def _placement(explanation: Explanation) -> Json:
    assert explanation.placed is not None
    devices = [
        {"claim": claim.name, **{key: each[key] for key in ("request", "driver", "pool", "device")}}
        for claim, result in zip(explanation.demand, explanation.placed.result or (), strict=True)
        for each in result["devices"].get("results", ())
    ]
    return {"node": explanation.placed.node, "devices": devices}


def _total(total: Total) -> Json:
    return {
        "claim": total.alternative.claim.name,
        "request": total.alternative.name,
        "devices": total.devices,
        "askedFor": total.selected,
        "available": total.left,
        "failing": total.failing,
    }


def _kind(kind: NodeKind) -> Json:
    document: Json = {
        "nodes": len(kind.nodes),
        "names": list(kind.nodes[:MAX_NODES]),
        "requests": [_funnel(funnel, kind) for funnel in kind.funnels],
        "constraints": [_clash(clash) for clash in kind.clashes],
    }
    return document | ({"error": kind.error} if kind.error else {})


def _funnel(funnel: Funnel, kind: NodeKind) -> Json:
    alternative = funnel.alternative
    return {
        "claim": alternative.claim.name,
        "request": alternative.name,
        "deviceClass": alternative.details.get("deviceClassName", ""),
        "allocationMode": alternative.details.get("allocationMode", ""),
        "needed": funnel.needed,
        "available": funnel.left,
        "steps": [_step(step, kind) for step in funnel.steps],
    }


def _step(step: Step, kind: NodeKind) -> Json:
    document: Json = {"rule": step.rule, "left": step.left, "lost": [_loss(loss, kind) for loss in step.lost]}
    if step.about:
        document["about"] = step.about
    if step.failed:
        document["failed"] = step.failed
    if step.missing:
        document["missing"] = step.missing
    return document


def _loss(loss: Loss, kind: NodeKind) -> Json:
    document: Json = {"reason": loss.reason, "devices": loss.devices}
    if loss.reason not in kind.common:
        document["node"] = kind.nodes[0]
    if loss.example:
        document["example"] = loss.example
    if loss.claims:
        document["claims"] = list(loss.claims)
    return document


def _clash(clash: Clash) -> Json:
    return {
        "claim": clash.claim,
        "index": clash.place,
        "type": "distinctAttribute" if clash.constraint.distinct else "matchAttribute",
        "attribute": clash.constraint.attribute,
        "satisfiable": clash.satisfiable,
        "needed": dict(clash.needed),
        "values": {value: dict(counts) for value, counts in clash.values.items()},
    }


def _conflict(conflict: Conflict) -> Json:
    members = [{"kind": each.kind, "name": each.name, "text": each.text} for each in conflict.members]
    return {**({"node": conflict.node} if conflict.node else {}), "members": members}


def _remedy(remedy: Remedy) -> Json:
    document: Json = {
        "kind": remedy.kind,
        "text": remedy.text,
        "subject": remedy.subject,
        "nodes": len(remedy.nodes),
        "names": list(remedy.nodes[:MAX_NODES]),
    }
    return document | ({"value": remedy.value} if remedy.value is not None else {})
