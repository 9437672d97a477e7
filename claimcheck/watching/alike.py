"""Pods that ask for the same: one explanation is true of all of them, and each is told it with its own names.

What is explained is a stand-in, whose names are placeholders. It has nothing of a pod but what is compared, so that what is said of it
is the same for all pods that are alike, as long as the cluster is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cluster.workloads import Workload
from resourceapi.manifests import entries, full_name, mapping
from resourceapi.objects import Object
from resourceapi.records.claim_use import objection
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from resourceapi.spelling import canonical, fingerprint

#: No name has it in it, and nobody gains from a text that has: there come names of the reader's own.
_MARK = "\0"
_PLACEHOLDER = re.compile(f"{_MARK}([0-9]{{3}}){_MARK}")
#: What is compared of a pod beside its spec, and the claims that it names.
_METADATA, _STATUS = (
    ("labels", "ownerReferences"),
    ("phase", "startTime", "nominatedNodeName"),
)


class Alike(NamedTuple):
    """What a pod asks for.

    :param asked: the same for pods of which the same is to be said, but for their names.
    :param names: the pod's name and those of its claims that exist; in the same place of another pod's are the names that stand for them.
    """

    asked: str
    names: Sequence[str]

    def stand_in(self, workload: Workload) -> Workload | None:
        """A pod with placeholders for names; None if what has been read of the pod tells names already."""
        if workload.problem or workload.waits or workload.group is not None or workload.running:
            return None
        return workload.renamed(_placeholder(0), {name: _placeholder(place) for place, name in self._claims})

    def filled(self, words: str) -> str:
        """What was said of the stand-in, with the names of this pod."""

        def name_of(found: re.Match[str]) -> str:
            place = int(found[1])
            return self.names[place] if place < len(self.names) else ""

        return _PLACEHOLDER.sub(name_of, words)

    @property
    def _claims(self) -> Sequence[tuple[int, str]]:
        return list(enumerate(self.names))[1:]


def read_alike(
    value: Object, pod: Pod, refused: bool, claim_of: Callable[[str], Claim | None]
) -> Alike | None:
    """What a pod asks for; None if more than that matters: it has devices already, or is one of a PodGroup.

    :param value: the pod as it is held.
    :param refused: whether kube-scheduler has refused it.
    :param claim_of: the claim with a ``namespace/name``, if there is one.
    """
    status = mapping(value, "status")
    if pod.group or pod.node or status.get("nodeAllocatableResourceClaimStatuses"):
        return None
    asked: dict[str, str] = {}
    for entry in pod.claims:
        if entry.claim:
            claim = claim_of(full_name(pod.namespace, entry.claim))
            if claim is None or objection(pod, entry, claim):
                return None
            asked[entry.claim] = ""
    if pod.extended_claim:
        asked[pod.extended_claim] = ""
    for name in asked:
        claim = claim_of(full_name(pod.namespace, name))
        if claim is None or claim.is_allocated or claim.consumers:
            return None
        asked[name] = claim.asked.spelled()
    names = [pod.name, *sorted(asked)]
    placeholders = {name: _placeholder(place) for place, name in enumerate(names) if place}
    spec = {**mapping(value, "spec")}
    spec["resourceClaims"] = _renamed(entries(spec, "resourceClaims"), placeholders)
    compared = [
        *(pod.namespace, refused, spec, [asked[name] for name in names[1:]]),
        [mapping(value, "metadata").get(field) for field in _METADATA],
        [status.get(field) for field in _STATUS],
        _renamed(entries(status, "resourceClaimStatuses"), placeholders),
        _renamed([mapping(status, "extendedResourceClaimStatus")], placeholders),
    ]
    return Alike(fingerprint(canonical(compared)), names)


def _renamed(references: Sequence[Any], placeholders: Mapping[str, str]) -> list[Any]:
    field = "resourceClaimName"
    return [
        {**each, field: placeholders.get(each[field], each[field])} if each.get(field) else each
        for each in references
    ]


def _placeholder(place: int) -> str:
    return f"{_MARK}{place:03}{_MARK}"
