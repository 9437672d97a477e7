"""Pods that a simulation has placed, as objects of the cluster: while rollouts go on, they stay where they are."""

from __future__ import annotations

from collections.abc import Iterator

from allocator.simulation import Placement
from claimcheck.answers.impact.change import POD, ChangedObjects, ObjectId
from claimcheck.answers.simulate import Report
from claimcheck.answers.tried import Tried
from cluster.objects import CLAIM
from resourceapi.manifests import entries, mapping, uid_of
from resourceapi.model.versions import GROUP
from resourceapi.model.workloads import TEMPLATES
from resourceapi.objects import Object
from resourceapi.records.claims import Claim


def keep(objects: ChangedObjects, report: Report, step: int) -> Iterator[tuple[str, str]]:
    """Put the pods that are placed on their nodes, with the devices that they got; yields each with its node.

    :param step: tells those apart that are made of one workload one after the other.
    """
    for tried, placement in zip(report.tried, report.runs[0].placements, strict=True):
        if placement.node and tried.workload.is_pod:
            _put(objects, tried, placement, step)
            yield placement.pod, placement.node


def _put(objects: ChangedObjects, tried: Tried, placement: Placement, step: int) -> None:
    workload, namespace = tried.workload, tried.workload.namespace
    is_there = workload.kind == POD
    suffix = "" if is_there else f".{step}.{tried.number}"
    name = workload.name + suffix
    value = workload.manifest.value
    id = ObjectId(POD, namespace, name)
    uid = workload.pod.uid or f"{namespace}/{name}"
    if not is_there:
        template = mapping(value, *TEMPLATES[workload.kind])
        owner = {
            "apiVersion": value["apiVersion"],
            "kind": workload.kind,
            "name": workload.name,
            "uid": uid_of(value) or workload.name,
            "controller": True,
        }
        metadata = {"labels": mapping(template, "metadata", "labels"), "ownerReferences": [owner]}
        value = {"apiVersion": "v1", "kind": POD, "metadata": metadata, "spec": mapping(template, "spec")}
    named: dict[str, str] = {}
    claims = list(tried.pod.claims.items())
    for index, (key, claim) in enumerate(claims):
        own = index in workload.from_templates
        kept = claim.named(claim.name + suffix) if own else claim
        named[key] = kept.name
        user = workload.consumer(key, name).reference | ({"uid": uid} if key not in workload.shared else {})
        _reserve(objects, kept, placement.results.get(key), user, id if own else None)
    status = dict(mapping(value, "status"))
    asked = [each for each in workload.pod.claims if each.is_needed]
    status["resourceClaimStatuses"] = [
        {"name": entry.entry, "resourceClaimName": named[key]}
        for entry, (key, _) in zip(asked, claims, strict=False)
        if entry.is_generated
    ]
    if workload.classes and claims:
        status["extendedResourceClaimStatus"] = {"resourceClaimName": named[claims[-1][0]]}
    metadata = {**mapping(value, "metadata"), "name": name, "namespace": namespace, "uid": uid}
    spec = {**mapping(value, "spec"), "nodeName": placement.node}
    objects.add(id, {**value, "metadata": metadata, "spec": spec, "status": status})


def _reserve(
    objects: ChangedObjects, claim: Claim, allocation: Object | None, user: Object, owner: ObjectId | None
) -> None:
    """Let a claim have its devices, if it has none yet, and a further user.

    :param owner: the pod for which it is made.
    """
    id = ObjectId(CLAIM, claim.namespace, claim.name)
    known = objects.get(id) or {**claim.object, "apiVersion": f"{GROUP}/v1", "kind": CLAIM}
    before = mapping(known, "status")
    users = [each for each in entries(before, "reservedFor") if each != user]
    status = {**before, "reservedFor": [*users, user]}
    if allocation is not None:
        status["allocation"] = allocation
    metadata = mapping(known, "metadata")
    if owner is not None:
        reference = {
            "apiVersion": "v1",
            "kind": POD,
            "name": owner.name,
            "uid": user["uid"],
            "controller": True,
        }
        metadata = {**metadata, "ownerReferences": [reference]}
    objects.add(id, {**known, "metadata": metadata, "status": status})
