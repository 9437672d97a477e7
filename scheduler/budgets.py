"""PodDisruptionBudgets: for which of the pods that may be deleted for another one there is no room in them.

Source: Kubernetes, `pkg/scheduler/framework/preemption` (FilterVictimsWithPDBViolation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from allocator.time_limit import OutOfTime, TimeLimit
from resourceapi.json_text import PackedRaw, Raw
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from resourceapi.records.pods import Pod, importance
from validation.selectors import is_empty, selects

#: Requirements of a selector, and characters in all, beyond which a budget is not regarded.
MOST_REQUIREMENTS, MOST_CHARACTERS = 100, 10_000
#: Longer selectors are kept as text, which takes a tenth of the memory.
MOST_UNPACKED = 500


class Budget(NamedTuple):
    """What is kept of a PodDisruptionBudget.

    :param kept_selector: a LabelSelector that is not empty, or its text.
    :param allowed: how many more pods may be deleted.
    :param disrupted: the names of pods that are being deleted, and counted.
    """

    namespace: str
    kept_selector: Object | PackedRaw
    allowed: int
    disrupted: frozenset[str]

    @property
    def selector(self) -> Object:
        """The LabelSelector."""
        kept = self.kept_selector
        selector: Object = kept.value if isinstance(kept, PackedRaw) else kept
        return selector


def read_budget(value: Object) -> Budget | None:
    """What is kept of a budget; None for one that selects no pods, as it has no selector or an empty one."""
    selector, status = mapping(value, "spec", "selector"), mapping(value, "status")
    size = sum(len(str(each)) for each in _requirements(selector))
    if is_empty(selector) or len(_requirements(selector)) > MOST_REQUIREMENTS or size > MOST_CHARACTERS:
        return None
    allowed = status.get("disruptionsAllowed")
    return Budget(
        text(mapping(value, "metadata"), "namespace"),
        selector if size <= MOST_UNPACKED else PackedRaw(Raw(selector)),
        allowed if isinstance(allowed, int) else 0,
        frozenset(mapping(status, "disruptedPods")),
    )


def _requirements(selector: Object) -> list[object]:
    return [*mapping(selector, "matchLabels").items(), *entries(selector, "matchExpressions")]


def by_namespace(budgets: Iterable[Budget]) -> Mapping[str, Sequence[Budget]]:
    """The budgets of each namespace."""
    found: dict[str, list[Budget]] = {}
    for each in list(budgets):  # which others may change meanwhile
        found.setdefault(each.namespace, []).append(each)
    return found


def violating(
    pods: Iterable[Pod], budgets: Mapping[str, Sequence[Budget]], time_limit: TimeLimit, late: set[str]
) -> frozenset[str]:
    """The pods (uids) for whose deletion there is no room in a budget, if all are deleted, the most important first.

    Namespaces with little to look at come first, and each takes at most half of the time that is left. Pods with labels of a
    namespace for whose budgets that is not enough all count as such: whoever makes too many keeps nobody else from an answer.

    :param late: the namespaces that have not been looked through in time, to which others are added.
    """
    labelled: dict[str, list[Pod]] = {}
    for each in sorted(pods, key=importance):
        if each.labels and each.namespace in budgets:
            labelled.setdefault(each.namespace, []).append(each)
    found: set[str] = set()
    for namespace in sorted(labelled, key=lambda name: len(labelled[name]) * len(budgets[name])):
        there = labelled[namespace]
        try:
            if namespace in late:
                raise OutOfTime
            found |= _without_room(there, budgets[namespace], time_limit.share(2))
        except OutOfTime:
            late.add(namespace)
            found.update([each.uid for each in there])
    return frozenset(found)


def _without_room(pods: Sequence[Pod], budgets: Sequence[Budget], time_limit: TimeLimit) -> set[str]:
    """Those of the pods of a namespace for which there is no room in its budgets."""
    left = [each.allowed for each in budgets]
    selectors: list[Object] = []
    for each in budgets:
        time_limit.check()
        selectors.append(each.selector)

    def violates(pod: Pod) -> bool:
        labels = dict(pod.labels)
        for place, (budget, selector) in enumerate(zip(budgets, selectors, strict=True)):
            time_limit.check()
            if pod.name not in budget.disrupted and selects(selector, labels):
                left[place] -= 1
                if left[place] < 0:
                    return True
        return False

    return {each.uid for each in pods if violates(each)}
