"""Pods that wait: those that `simulate` leaves, and those that wait for what does not exist."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from allocator.explaining import in_words
from allocator.explaining.explanation import FITS
from allocator.time_limit import POD_SECONDS
from claimcheck.answers.doctor.checks import POD_WAITS
from claimcheck.answers.doctor.examined import Affected, Diagnosis, Examined, command
from claimcheck.answers.explain import explain_one
from claimcheck.answers.simulate import as_scheduled
from claimcheck.answers.unplaced import Unplaced
from cluster.workloads import Workload


def check(examined: Examined) -> Iterator[Diagnosis]:
    """The pods that wait, one finding for those with the same reason.

    Pods that would be placed now are left out, as kube-scheduler has not come to them yet, and so are those with scheduling gates,
    which somebody keeps from it on purpose.
    """
    scenario = examined.waiting
    if not scenario.workloads:
        return
    answer = as_scheduled(scenario, examined.limit)
    causes: dict[str, list[Affected]] = {}
    for workload in scenario.workloads:
        if workload.problem:
            cause = f"nothing can be said about it: {workload.problem}"
            causes.setdefault(cause, []).append(_affected(workload))
    for waiting in answer.waiting:
        if not (waiting.workload.problem or waiting.workload.pod.gates):
            causes.setdefault(waiting.said, []).append(_affected(waiting.workload))
    for cause, pods in causes.items():
        yield Diagnosis(POD_WAITS, cause, pods, command=_explain(pods))
    for group in answer.unplaced:
        yield _waiting(
            group, _simulate(examined) if answer.runs[0].placed and _fits_alone(examined, group) else ""
        )


def _waiting(group: Unplaced, more: str) -> Diagnosis:
    pods = [_affected(each.workload) for each in group.tried]
    explained = group.explained.explanation if group.explained is not None else None
    cause, remedy = group.said or "fits on no node", ""
    if explained is not None:
        cause = next(in_words.causes(explained))
        # the first one asks least of people
        for text in in_words.remedies(explained.remedies[:1]):
            remedy = f"{'it' if len(pods) == 1 else 'one of them'} would fit {text}"
    return Diagnosis(POD_WAITS, cause, pods, remedy, more or _explain(pods))


def _affected(pod: Workload) -> Affected:
    return Affected("Pod", pod.namespace, pod.name)


def _fits_alone(examined: Examined, group: Unplaced) -> bool:
    """Whether a pod is left only because others are placed before it, of which `explain` knows nothing."""
    first = group.tried[0].alone({})
    return explain_one(examined.waiting, first, examined.limit.part(POD_SECONDS)).verdict == FITS


def _simulate(examined: Examined) -> str:
    scope = ("-n", examined.namespace) if examined.namespace else ("-A",)
    return command("simulate", *scope)


def _explain(pods: Sequence[Affected]) -> str:
    return command("explain", f"pod/{pods[0].name}", "-n", pods[0].namespace)
