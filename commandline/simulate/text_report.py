"""The report of ``claimcheck simulate`` for people: placements, what is left, and which new nodes would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from allocator.expansion import Expansion, ExpansionOption
from allocator.explaining import in_words
from allocator.fitting.fragmentation import Fragmentation
from allocator.simulation import Placement
from claimcheck.answers.simulate import Report, Run
from claimcheck.answers.unplaced import Unplaced
from commandline.explain import node_report, remedy_report
from commandline.reports.writing import failure_lines, table
from resourceapi.phrases import number
from resourceapi.records.claims import Allocation

#: Pods and devices that are listed.
MAX_PODS, MAX_DEVICES = 200, 8
#: Reasons why pods are not placed, and pods of each, that are listed.
MAX_REASONS, MAX_PODS_OF_REASON = 8, 4


def lines(report: Report) -> Iterator[str]:
    """The report line by line."""
    for title, problem in report.problems:
        yield f"{title}: error: {problem}"
    for each in report.waiting:
        yield f"{each.workload.title}: {each.said}"
    yield from failure_lines(report.failures)
    for name in report.unknown_classes:
        yield f"there is no DeviceClass {name}"
    first = report.runs[0]
    yield f"{first.objective}: {first.placed:,} of {number(len(first.placements), 'pod')} placed on {number(first.nodes_used, 'node')}"
    for run in report.runs:
        if run.undecided:
            count, first_pod = number(len(run.undecided), "pod"), run.undecided[0]
            yield f"{run.objective}: {count} not decided, such as {first_pod.pod}: {first_pod.error}"
    if len(report.runs) > 1:
        yield ""
        yield from _comparison(report.runs)
    yield from _placements(first)
    yield from unplaced_lines(report.unplaced)
    if len(report.runs) > 1:
        yield from _differences(report.runs)
    for run in report.runs:
        yield ""
        yield f"left after {run.objective}"
        if run.fragmentation is None:
            yield "  no time to find out (--timeout)"
        else:
            yield from _fragmentation(run.fragmentation)
    if report.expansion is not None:
        yield ""
        yield from _expansion(report.expansion)
    yield ""
    yield from report.checked


def _comparison(runs: Sequence[Run]) -> Iterator[str]:
    """A line per objective: what it places, and how many of each kind of partition could still be placed."""
    profiles = list(_placeable(runs[0]))
    head = ("objective", "placed", "pods", "nodes used", *(f"room for {profile}" for _, profile in profiles))
    yield from table([head, *(_compared(run, profiles) for run in runs)])


def _compared(run: Run, profiles: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    placeable = _placeable(run)
    nothing = "0" if run.fragmentation is not None else "?"
    numbers = (f"{run.placed:,}", f"{len(run.placements):,}", f"{run.nodes_used:,}")
    return (run.objective, *numbers, *(placeable.get(profile, nothing) for profile in profiles))


def _placeable(run: Run) -> dict[tuple[str, str], str]:
    """How many of each kind of partition could still be placed."""
    rows = run.fragmentation.partitions if run.fragmentation is not None else ()
    return {(row.driver, row.profile): f"{row.placeable:,}" for row in rows}


def _placements(run: Run) -> Iterator[str]:
    placed = [each for each in run.placements if each.node]
    if not placed:
        return
    rows = [("pod", "node", "devices"), *((each.pod, each.node, _got(each)) for each in placed[:MAX_PODS])]
    yield ""
    yield f"placements ({run.objective})"
    yield from table(rows, left=range(3))
    if len(placed) > MAX_PODS:
        yield f"  and {number(len(placed) - MAX_PODS, 'more pod')} (see -o json)"
    yield from _ties(run.placements)


def _ties(placements: Sequence[Placement]) -> Iterator[str]:
    """That kube-scheduler may choose other nodes as well."""
    equal = [each for each in placements if each.equal]
    if equal:
        first = equal[0]
        more = ", …" if len(equal) > 1 else ""
        yield (
            f"  {number(len(equal), 'pod')} may get another node with the same score, which kube-scheduler leaves to chance: "
            f"{first.pod} {first.equal[0]} instead of {first.node}{more}"
        )


def _got(placement: Placement) -> str:
    """The devices that a pod gets, as request=pool/device."""
    devices = [
        f"{each.request}={each.device.pool}/{each.device.device}"
        for allocation in placement.results.values()
        for each in Allocation(allocation).results
    ]
    more = f" and {len(devices) - MAX_DEVICES} more" if len(devices) > MAX_DEVICES else ""
    chance = f"  (depends on the order of nodes: {placement.error})" if placement.error else ""
    return "  ".join(devices[:MAX_DEVICES]) + more + chance


def _differences(runs: Sequence[Run]) -> Iterator[str]:
    """The pods that each objective leaves."""
    yield ""
    yield "pods that are not placed"
    for run in runs:
        names = Counter(each.pod for each in run.left)
        shown = ", ".join(list(names)[:MAX_DEVICES]) or "none"
        more = f" and {len(names) - MAX_DEVICES} more" if len(names) > MAX_DEVICES else ""
        yield f"  {run.objective.ljust(max(len(each.objective) for each in runs))}  {shown}{more}"


def _fragmentation(remaining: Fragmentation) -> Iterator[str]:
    for rows in (_partitions(remaining), _groups(remaining), _shares(remaining)):
        if len(rows) > 1:
            yield from table(rows, left=(0, len(rows[0]) - 1))
    if not (remaining.partitions or remaining.groups or remaining.shares):
        yield "  no devices"


def _partitions(remaining: Fragmentation) -> list[Sequence[str]]:
    head: Sequence[str] = (
        "partition",
        "still fit",
        "would fit in the free counters together",
        "lost to fragmentation",
        "fit in an empty cluster",
        "driver",
    )
    numbers = ((row, row.sufficient - row.placeable) for row in remaining.partitions)
    return [
        head,
        *(
            (
                row.profile,
                *(f"{count:,}" for count in (row.placeable, row.sufficient, lost, row.whole)),
                row.driver,
            )
            for row, lost in numbers
        ),
    ]


def _groups(remaining: Fragmentation) -> list[Sequence[str]]:
    head: Sequence[str] = (
        "devices by",
        "free",
        "all",
        "most free together",
        "unused groups",
        "groups",
        "driver",
    )
    return [
        head,
        *(
            (
                row.attribute or "pool",
                *(f"{count:,}" for count in (row.free, row.devices, row.largest, row.intact, row.groups)),
                row.driver,
            )
            for row in remaining.groups
        ),
    ]


def _shares(remaining: Fragmentation) -> list[Sequence[str]]:
    head: Sequence[str] = ("shared capacity", "free", "all", "most free on one device", "devices", "driver")
    return [
        head,
        *(
            (row.capacity, *map(_amount, (row.free, row.total, row.largest)), f"{row.devices:,}", row.driver)
            for row in remaining.shares
        ),
    ]


def _amount(amount: float) -> str:
    """An amount with the largest binary unit that represents it exactly."""
    for unit, size in (("Ti", 1024**4), ("Gi", 1024**3), ("Mi", 1024**2), ("Ki", 1024)):
        if amount and amount % size == 0:
            return f"{int(amount // size)}{unit}"
    return f"{amount:g}"


def _expansion(expansion: Expansion) -> Iterator[str]:
    missing = sum(not each.node for each in expansion.placements)
    if not missing:
        yield "no new nodes are needed"
        return
    yield f"new nodes for {number(missing, 'pod')} that {'does' if missing == 1 else 'do'} not fit, best option first"
    if not expansion.complete:
        yield "  (the time limit was reached before everything was tried)"
    for place, option in enumerate(expansion.options, 1):
        yield f"  {place}. {_option(option)}"
        for name, count in sorted(_requests(option).items()):
            yield f"       {name}: {count:,}"
        for pod in option.left[:MAX_DEVICES]:
            yield f"       not placed: {pod}"
        if len(option.left) > MAX_DEVICES:
            yield f"       and {number(len(option.left) - MAX_DEVICES, 'more pod')}"


def _option(option: ExpansionOption) -> str:
    nodes = ", ".join(f"{count} x {name}" for name, count in option.nodes.items() if count)
    if not nodes:
        return f"{', '.join(option.nodes)}: no number of such nodes would place any of them"
    placed = sum(bool(each.node) for each in option.placements)
    end = "places all of them" if not option.left else f"places {placed}, leaves {len(option.left)}"
    return f"{nodes}: {end}"


def _requests(option: ExpansionOption) -> Counter[str]:
    """How often each alternative of a request is chosen."""
    return Counter(
        f"alternative {request}"
        for placement in option.placements
        for allocation in placement.results.values()
        for request in sorted({each.request for each in Allocation(allocation).results})
        if "/" in request
    )


def unplaced_lines(groups: Sequence[Unplaced]) -> Iterator[str]:
    """The pods that are not placed: each reason once, those of most pods first, with what would help."""
    if not groups:
        return
    yield ""
    yield f"not placed: {number(sum(len(each.pods) for each in groups), 'pod')}"
    for each in groups[:MAX_REASONS]:
        yield from (f"  {line}" for line in _of_reason(each))
    if more := groups[MAX_REASONS:]:
        pods = sum(len(each.pods) for each in more)
        yield f"  {number(pods, 'more pod')}, for {number(len(more), 'other reason')} (see -o json)"


def _of_reason(group: Unplaced) -> Iterator[str]:
    shown = ", ".join(group.pods[:MAX_PODS_OF_REASON])
    more = (
        f" and {number(len(group.pods) - MAX_PODS_OF_REASON, 'other')}"
        if len(group.pods) > MAX_PODS_OF_REASON
        else ""
    )
    count = f"{number(len(group.pods), 'pod')}: " if len(group.pods) > 1 else ""
    explained = group.explained
    if explained is None or explained.explanation is None:
        yield f"{count}{shown}{more}: {group.said or 'fits on no node'}"
        return
    explanation = explained.explanation
    first, *others = in_words.causes(explanation)
    yield f"{count}{shown}{more}: {first}"
    yield from node_report.messages(explained)
    yield from (f"  {line}" for line in others)
    yield from remedy_report.later(explained.later)
    yield from remedy_report.remedies(explanation, "one of them" if len(group.pods) > 1 else "it")
    if explanation.never is False and not explanation.remedies:
        yield "  further nodes with such devices would help: claimcheck simulate --node-template FILE tells how many"
