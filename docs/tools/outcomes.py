"""The page of outcomes that have been asked of a real control plane, from the data of the tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.claimcheck import pod_group_cases
from tests.claimcheck.outcome_objects import Object
from tests.claimcheck.outcomes import Case, Subject, subjects

Row = tuple[str, ...]
COLUMNS = ("subject", "upstream's files", "upstream's cases", "cases", "pods", "bound", "not bound", "differ")
OF_CASE = ("case", "what becomes of its pods", "upstream's cases")


def introduction() -> Iterator[str]:
    """What was asked of whom."""
    found = list(subjects())
    cases = [case for subject in found for case in subject.cases]
    gangs = pod_group_cases.cases()
    differ = sum(bool(case.ours) for case in cases)
    yield (
        f"{len(cases) + len(gangs)} small clusters, with what becomes of their pods: the node, the devices of each claim, for whom it is reserved, "
        "what the status of the pod says, or for which reasons kube-scheduler turned its nodes down. Each was asked of a real kube-scheduler "
        "1.37.1 with its own plugin, and its answer recorded. `explain` and `FakeCluster` of [the Python API](../how-to/python.md) say "
        + ("the same of all." if not differ else f"the same of all but {differ}, which are marked.")
    )
    with_sidecar = sum(bool(case.sidecar) for case in cases)
    yield (
        "`claimcheck schedule` was asked about the same, and decided as the plugin, whatever its words: the node, the devices, and who has to go. In "
        f"{with_sidecar} cases, which are marked, it does not ([why](../how-to/schedule.md#what-is-different)). `make e2e` asks it again about those, and about "
        "those in which it once differed."
    )
    yield (
        "The files of `tests/claimcheck/data/outcomes` have the clusters, written for this project. Many ask what a case of upstream's tests asks, which is "
        "named beside them. `make test` compares with what is recorded, `make e2e` asks a control plane again."
    )
    yield (
        "Not compared: how many nodes are turned down for their labels, for their taints, or because they are cordoned, as the cases share a "
        "cluster; and what Claimcheck adds to an error in kube-scheduler's words."
    )
    yield (
        "Not asked: what upstream's tests of outcomes do with a gate off that is on by default, with failing writes, timeouts and objects that the API "
        "server refuses; how binding goes on once a driver has set conditions of a device; what kube-scheduler takes back from a PodGroup that "
        "does not fit; preemption beside PodDisruptionBudgets, and what becomes of the pod once its victims are gone. Upstream's files "
        "`pod_group_dra_allocation.go`, `shared_consumable_capacity.go` and `preemption.go` are not among its integration tests of DRA in 1.37.1; the cases "
        "about their subjects are our own."
    )


def summary() -> list[Row]:
    """A row for each subject, and one for all."""
    rows = [_row(each) for each in subjects()]
    rows.append(_row_of_groups())
    total = [str(sum(int(row[column]) for row in rows)) for column in range(2, len(COLUMNS))]
    return [*rows, ("all", "", *total)]


def lists() -> Iterator[tuple[str, str, list[Row]]]:
    """Of each subject its title, what it is about, and a row for each case."""
    for subject in subjects():
        yield _title(subject.name), subject.about, [_case_row(case) for case in subject.cases]
    about = (
        "Pods that are placed together. The cases are in `tests/claimcheck/data/pod_groups.yaml`, and are asked with the scheduling "
        "sidecar as well."
    )
    yield "Pod groups", about, [_group_row(case) for case in pod_group_cases.cases()]


def _row(subject: Subject) -> Row:
    outcomes = [each for case in subject.cases for each in case.expected.values()]
    bound = sum("node" in each and "waits" not in each for each in outcomes)
    like = {name for case in subject.cases for name in case.like}
    return (
        f"[{_title(subject.name)}](#{subject.name.replace('_', '-')})",
        ", ".join(f"`{each}`" for each in subject.upstream),
        str(len(like)),
        str(len(subject.cases)),
        str(len(outcomes)),
        str(bound),
        str(len(outcomes) - bound),
        str(sum(bool(case.ours) for case in subject.cases)),
    )


def _row_of_groups() -> Row:
    cases = pod_group_cases.cases()
    upstream = [case.content["upstream"].split() for case in cases if "upstream" in case.content]
    files = dict.fromkeys(name.rstrip(",") for each in upstream for name in each if ".go" in name)
    pods = sum(each.get("count", 1) for case in cases for each in case.content["pods"])
    bound = sum(sum(case.expected.bound.values()) for case in cases)
    return (
        "[Pod groups](#pod-groups)",
        ", ".join(f"`{each}`" for each in files),
        str(len(upstream)),
        str(len(cases)),
        str(pods),
        str(bound),
        str(pods - bound),
        "0",
    )


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _case_row(case: Case) -> Row:
    outcomes = "; ".join(f"{pod}: {_outcome(each)}" for pod, each in case.expected.items())
    differs = " (Claimcheck differs)" if case.ours else ""
    with_sidecar = [f"{pod} {_decision(each)}" for pod, each in case.sidecar.items()]
    differs += f" (with the sidecar: {'; '.join(with_sidecar)})" if with_sidecar else ""
    return case.name.replace("-", " "), outcomes + differs, _names(case.like)


def _outcome(outcome: Object) -> str:
    """An outcome in a few words."""
    text = _end(outcome)
    evicted: Sequence[str] = outcome.get("evicts", ())
    return f"{text}, evicts {' and '.join(evicted)}" if evicted else text


def _decision(outcome: Object) -> str:
    """A decision in a few words."""
    return (
        _end(outcome)
        if "node" in outcome
        else f"evicts {' and '.join(outcome.get('evicts', ())) or 'nobody'}"
    )


def _end(outcome: Object) -> str:
    if "waits" in outcome:
        return f"waits for its devices on {outcome['node']}" if "node" in outcome else "waits"
    if "node" in outcome:
        return f"on {outcome['node']}"
    if "says" in outcome:
        return "turned down as a whole"
    return (
        ", ".join(f"{count} {_cut(reason)}" for reason, count in outcome["reasons"].items())
        or "no node of the case"
    )


def _cut(reason: str) -> str:
    """A reason without what is particular to the case."""
    return reason if len(reason) < 60 else f"{reason[:57]}…"


def _group_row(case: pod_group_cases.Case) -> Row:
    bound = ", ".join(f"{count} {name}" for name, count in case.expected.bound.items() if count)
    return str(case), f"bound: {bound}" if bound else "none bound", _names([case.content.get("upstream", "")])


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names if each)
