"""The answer of ``claimcheck explain`` for programs: ``objects`` and ``failures``. docs/how-to/explain.md has the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from allocator.answers import NodeAnswer
from allocator.binding_conditions import OpenCondition
from allocator.explaining import in_words
from allocator.explaining.absent_names import AbsentName
from allocator.explaining.conflicts import Conflict
from allocator.explaining.constraint_checks import ConstraintCheck
from allocator.explaining.explanation import (
    FITS,
    AllocatedElsewhere,
    Explanation,
    NodeKind,
    RequestSteps,
    Total,
)
from allocator.explaining.finder import Remedy
from allocator.explaining.holders import Holder
from allocator.explaining.rejections import Rejection
from allocator.explaining.steps import Step
from allocator.pod_nodes import Refusal
from commandline.explain.remedy_report import holders
from commandline.explain.text_report import ABOUT_QUOTA, said
from commandline.reports.writing import device_documents, failure_documents
from resourceapi.manifests import text

if TYPE_CHECKING:
    from claimcheck.answers.explain import Answer, Explained

Json = dict[str, Any]
Users = Mapping[str, Holder]
#: Names of nodes, and of pods, that are listed.
MAX_NODES = MAX_NAMES = 20


def document(answer: Answer) -> Json:
    """The answer as plain data."""
    return {
        "objects": [_object(each) for each in answer.explained],
        "notes": answer.notes,
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
        "said": said(explained),
    }
    if workload.running:
        document["running"] = workload.running
    if explained.allocated:
        document["allocated"] = device_documents(explained.allocated)
    if explained.bound:
        return document | {"boundTo": explained.bound}
    if (gang := explained.gang) is not None:
        document["podGroup"] = {
            "name": gang.gang.name,
            "minCount": gang.gang.min_count,
            "pods": gang.known,
            "fitting": gang.fitting,
            "misfits": [each.pod.name for each in gang.misfits[:MAX_NAMES]],
        }
    if explanation is None:
        return document | {"problem": explained.bypassed or workload.problem or explained.waits_for}
    if workload.waits_for:
        document["problem"] = explained.waits_for
    if explained.open_conditions:
        document["bindingConditions"] = [_open_condition(each) for each in explained.open_conditions]
    if explained.users is not None:
        document["usedBy"] = [*explained.users.pods, *explained.users.others]
    document |= _explanation(explanation)
    if workload.refused:
        document["findings"] = [ABOUT_QUOTA, *document.get("findings", ())]
    document["nodes"]["rejected"] = [
        {"node": node, "reasons": [_refusal(each) for each in refusals]}
        for node, refusals in explained.rejected.items()
    ]
    if explained.later is not None:
        document["onceEligible"] = list(in_words.causes(explained.later))
    if explained.with_patches:
        document["withPatches"] = True
    if explained.unavailable:
        document["kubeSchedulerWouldSay"] = explained.unavailable
    if workload.scheduler_message:
        document["podScheduled"] = workload.scheduler_message
    if explained.evicts_for_no_devices:
        document["evictsForNoDevices"] = True
    if explained.resource_notes:
        document["extendedResources"] = explained.resource_notes
    return document


def _open_condition(condition: OpenCondition) -> Json:
    return {
        "claim": condition.claim,
        "request": condition.result.request,
        **condition.result.device._asdict(),
        "condition": condition.name,
        "failed": condition.failed,
        **{key: text(condition.found, key) for key in ("status", "reason", "message")},
    }


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
        if explanation.away:
            document["allocatedElsewhere"] = [_away(each) for each in explanation.away]
        document["findings"] = list(in_words.findings(explanation))
        document["mistakes"] = [{"text": each.text, "meant": each.meant} for each in explanation.mistakes]
        document["unknownClasses"] = explanation.unknown_classes
        document["absentNames"] = [_absent(name) for name in explanation.absent_names]
        document["clashes"] = [
            {"node": each.node, "kind": each.kind, "text": each.text} for each in explanation.clashes
        ]
        document["totals"] = [_total(total) for total in explanation.totals]
    document["nodeKinds"] = [_kind(kind, explanation.claim_users) for kind in explanation.kinds]
    document["alternatives"] = [
        {"claim": note.claim, "request": note.name, "note": note.text} for note in explanation.alternatives
    ]
    if explanation.verdict != FITS:
        document["conflict"] = _conflict(explanation.conflict) if explanation.conflict else None
        document["nodeConflicts"] = [_conflict(conflict) for conflict in explanation.conflicts]
        document["fitsIfNothingWereAllocated"] = None if explanation.never is None else not explanation.never
        document["remedies"] = [remedy_document(remedy) for remedy in explanation.remedies]
        document["holders"] = list(holders(explanation))
    return document


def _refusal(refusal: Refusal) -> Json:
    return {"plugin": refusal.plugin, "reason": refusal.reason, "detail": refusal.detail}


def _error(error: NodeAnswer, errors: Sequence[NodeAnswer]) -> Json:
    names = [each.node for each in errors[:MAX_NODES]]
    document = {"node": error.node, "message": error.error, "nodes": len(errors), "names": names}
    return document | ({"mend": error.fix} if error.fix else {})


def _placement(explanation: Explanation) -> Json:
    assert explanation.placed is not None
    names = (claim.name for claim in explanation.demand)
    results = zip(names, explanation.placed.result or (), strict=False)
    return {"node": explanation.placed.node, "devices": device_documents(results)}


def _away(claim: AllocatedElsewhere) -> Json:
    document: Json = {"claim": claim.holder.claim, "pods": list(claim.holder.pods)}
    return document | {"nodes": len(claim.nodes), "names": list(claim.nodes[:MAX_NODES])}


def _absent(name: AbsentName) -> Json:
    document: Json = {"kind": name.kind, "name": name.qualified, "claim": name.claim, "place": name.place}
    patches = [
        {"name": patch} | ({} if failure is None else {"failure": failure.reason})
        for patch, failure in name.idle_patches
    ]
    return (
        document
        | {"devices": name.devices, "known": list(name.listed)}
        | ({"meant": name.meant} if name.meant else {})
        | ({"patchesWithoutDevices": patches} if patches else {})
    )


def _total(total: Total) -> Json:
    return {
        "claim": total.alternative.claim.name,
        "request": total.alternative.name,
        "devices": total.devices,
        "askedFor": total.selected,
        "available": total.left,
        "failing": total.failing,
    }


def _kind(kind: NodeKind, users: Users) -> Json:
    document: Json = {
        "nodes": len(kind.nodes),
        "names": list(kind.nodes[:MAX_NODES]),
        "requests": [_request(request, users) for request in kind.requests],
        "constraints": [_constraint(check) for check in kind.constraint_checks],
    }
    said = {"error": kind.error, "lacks": kind.lacks}
    return document | {name: words for name, words in said.items() if words}


def _request(request: RequestSteps, users: Users) -> Json:
    alternative = request.alternative
    return {
        "claim": alternative.claim.name,
        "request": alternative.name,
        "deviceClass": alternative.details.device_class,
        "allocationMode": alternative.details.mode,
        "needed": request.needed,
        "available": request.left,
        "steps": [_step(step, users) for step in request.steps],
    }


def _step(step: Step, users: Users) -> Json:
    document: Json = {
        "rule": step.rule,
        "title": step.title,
        "left": step.left,
        "lost": [_rejection(rejection, users) for rejection in step.rejected],
    }
    if step.about:
        document["about"] = step.about
    if step.failed:
        document["failed"] = step.failed
    if step.missing:
        document["missing"] = step.missing
    if step.patched:
        document["patched"] = [each._asdict() for each in step.patched]
    return document


def _rejection(rejection: Rejection, users: Users) -> Json:
    reason = rejection.reason or "held by another claim"
    document: Json = {"reason": reason, "text": rejection.said(users), "devices": rejection.devices}
    if rejection.example:
        document["example"] = rejection.example
    if rejection.claims:
        document["claims"] = list(rejection.claims)
        pods = dict.fromkeys(pod for claim in rejection.claims for pod in users[claim].pods)
        document["pods"] = list(pods)
    return document


def _constraint(check: ConstraintCheck) -> Json:
    document: Json = {
        "claim": check.claim,
        "index": check.place,
        "type": "distinctAttribute" if check.constraint.distinct else "matchAttribute",
        "attribute": check.constraint.attribute,
        "satisfiable": check.satisfiable,
        "needed": dict(check.needed),
        "values": {value: dict(counts) for value, counts in check.values.items()},
    }
    return document | ({"patched": [each._asdict() for each in check.patched]} if check.patched else {})


def _conflict(conflict: Conflict) -> Json:
    members = [
        {"kind": each.kind, "name": each.name, "text": each.text}
        | ({"claims": list(each.holders)} if each.holders else {})
        for each in conflict.members
    ]
    return {**({"node": conflict.node} if conflict.node else {}), "members": members}


def remedy_document(remedy: Remedy) -> Json:
    """A change that would help, with the nodes on which it does."""
    document: Json = {
        "kind": remedy.kind,
        "text": remedy.text,
        "who": remedy.who,
        "subject": remedy.subject,
        "nodes": len(remedy.nodes),
        "names": list(remedy.nodes[:MAX_NODES]),
    }
    if remedy.parts:
        return document | {"changes": [remedy_document(each) for each in remedy.parts]}
    return document | ({"value": remedy.value} if remedy.value is not None else {})
