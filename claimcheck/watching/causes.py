"""Why pods wait, in a word, for counting them: what there is too many of to read one by one."""

from __future__ import annotations

from allocator.explaining.explanation import FITS, MISFIT, UNDECIDED
from allocator.explaining.finder import RELEASE
from claimcheck.answers.explain import WAITS, Explained

#: A claim, a template, a PodGroup or a DeviceClass that does not exist; ResourceQuota; others of the PodGroup.
MISSING, QUOTA, GROUP = "missing", "quota", "group"
#: No node is for the pod; it would fit if others ended; it does not fit even if no device were in use; any other reason.
NODES, IN_USE, IMPOSSIBLE, DEVICES = "nodes", "in-use", "impossible", "devices"
#: It fits, and kube-scheduler has to come to it; devices have to be bound; no time to find out; it cannot be answered, or not yet.
FITTING, BINDING, NO_TIME, ERROR, NOT_EXPLAINED = "fits", "binding", "no-time", "error", "not-explained"
CAUSES = (
    *(MISSING, QUOTA, GROUP, NODES, IN_USE, IMPOSSIBLE, DEVICES),
    *(FITTING, BINDING, NO_TIME, ERROR, NOT_EXPLAINED),
)


def cause_of(explained: Explained) -> str:
    """Why a pod waits: one of :data:`CAUSES`."""
    explanation, workload = explained.explanation, explained.workload
    if workload.missing or (explanation is not None and explanation.unknown_classes):
        return MISSING
    if workload.refused:
        return QUOTA
    if explained.waits_for:
        return GROUP
    verdict = explained.verdict
    if explained.open_conditions:
        return BINDING if verdict == WAITS else ERROR
    if verdict in (FITS, UNDECIDED):
        return FITTING if verdict == FITS else NO_TIME
    if explanation is None or explanation.verdict not in (MISFIT, FITS) or explanation.refusal:
        return ERROR
    if explanation.verdict == FITS:
        return GROUP
    if not explanation.answers:
        return NODES
    if explanation.never:
        return IMPOSSIBLE
    released = any(
        RELEASE in (each.kind, *(part.kind for part in each.parts)) for each in explanation.remedies
    )
    return IN_USE if released else DEVICES
