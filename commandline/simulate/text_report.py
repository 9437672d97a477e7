"""Simulations for people: how many pods are placed, which are not, what is left, which new nodes would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from allocator.fitting.leftover import Leftover
from allocator.growing import Growth, Way
from allocator.simulation import Placement
from commandline.reports.escaping import write_lines
from commandline.reports.text import number
from commandline.simulate.runs import Report, Run

#: Pods and devices that are listed.
MAX_PODS, MAX_DEVICES = 200, 8


def write(report: Report, stream: TextIO) -> None:
    """The report."""
    write_lines(_lines(report), stream)


def _lines(report: Report) -> Iterator[str]:
    for title, problem in report.problems:
        yield f"{title}: error: {problem}"
    for failure in report.failures:
        yield f"{failure.file}: error: {failure.message}"
    for name in report.unknown_classes:
        yield f"there is no DeviceClass {name}"
    first = report.runs[0]
    yield f"{first.objective}: {first.placed} of {number(len(first.placements), 'pod')} placed on {number(first.nodes_used, 'node')}"
    for run in report.runs:
        if run.undecided:
            count, first_pod = number(len(run.undecided), "pod"), run.undecided[0]
            yield f"{run.objective}: {count} not decided, such as {first_pod.pod}: {first_pod.error}"
    if len(report.runs) > 1:
        yield ""
        yield from _comparison(report.runs)
    yield ""
    yield from _placements(first)
    if len(report.runs) > 1:
        yield from _differences(report.runs)
    for run in report.runs:
        yield ""
        yield f"left after {run.objective}"
        yield from _leftover(run.leftover)
    if report.growth is not None:
        yield ""
        yield from _growth(report.growth)


def _comparison(runs: Sequence[Run]) -> Iterator[str]:
    """A line per objective: what it places, and what could still be placed of each kind of partition."""
    profiles = [(row.driver, row.profile) for row in runs[0].leftover.partitions]
    head = ("objective", "placed", "of", "nodes", *(f"{profile} left" for _, profile in profiles))
    yield from _table(head, (_compared(run, profiles) for run in runs), left=1)


def _compared(run: Run, profiles: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    rests = {(row.driver, row.profile): str(row.placeable) for row in run.leftover.partitions}
    numbers = (str(run.placed), str(len(run.placements)), str(run.nodes_used))
    return (run.objective, *numbers, *(rests.get(profile, "0") for profile in profiles))


def _placements(run: Run) -> Iterator[str]:
    yield f"placements ({run.objective})"
    width = max((len(each.pod) for each in run.placements[:MAX_PODS]), default=0)
    for placement in run.placements[:MAX_PODS]:
        yield f"  {placement.pod.ljust(width)}  {_placement(placement)}"
    if len(run.placements) > MAX_PODS:
        yield f"  and {number(len(run.placements) - MAX_PODS, 'more pod')} (see -o json)"


def _placement(placement: Placement) -> str:
    if not placement.node:
        return f"not placed: {placement.error or 'fits on no node'}"
    devices = [
        f"{each['request']}={each['pool']}/{each['device']}"
        for result in placement.results.values()
        for each in result["devices"].get("results", ())
    ]
    more = f" and {len(devices) - MAX_DEVICES} more" if len(devices) > MAX_DEVICES else ""
    chance = f"  (left to chance: {placement.error})" if placement.error else ""
    return "  ".join([placement.node, *devices[:MAX_DEVICES]]) + more + chance


def _differences(runs: Sequence[Run]) -> Iterator[str]:
    """Which pods only some objectives place."""
    yield ""
    yield "pods that are left over"
    for run in runs:
        names = Counter(each.pod for each in run.left)
        shown = ", ".join(list(names)[:MAX_DEVICES]) or "none"
        more = f" and {len(names) - MAX_DEVICES} more" if len(names) > MAX_DEVICES else ""
        yield f"  {run.objective.ljust(max(len(each.objective) for each in runs))}  {shown}{more}"


def _leftover(rest: Leftover) -> Iterator[str]:
    if rest.partitions:
        yield from _table(
            ("partition", "could be placed", "free would suffice for", "lost", "of", "driver"),
            (
                (
                    row.profile,
                    str(row.placeable),
                    str(row.sufficient),
                    str(row.sufficient - row.placeable),
                    str(row.whole),
                    row.driver,
                )
                for row in rest.partitions
            ),
        )
    if rest.groups:
        yield from _table(
            ("devices by", "free", "of", "largest rest", "intact groups", "of", "driver"),
            (
                (
                    row.attribute or "pool",
                    str(row.free),
                    str(row.devices),
                    str(row.largest),
                    str(row.intact),
                    str(row.groups),
                    row.driver,
                )
                for row in rest.groups
            ),
        )
    if rest.shares:
        yield from _table(
            ("shared capacity", "free", "of", "largest rest", "devices", "driver"),
            (
                (
                    row.capacity,
                    _amount(row.free),
                    _amount(row.total),
                    _amount(row.largest),
                    str(row.devices),
                    row.driver,
                )
                for row in rest.shares
            ),
        )
    if not (rest.partitions or rest.groups or rest.shares):
        yield "  no devices"


def _amount(amount: float) -> str:
    """A number of bytes and the like, as short as it can be without loss."""
    for unit, size in (("Ti", 1024**4), ("Gi", 1024**3), ("Mi", 1024**2), ("Ki", 1024)):
        if amount and amount % size == 0:
            return f"{int(amount // size)}{unit}"
    return f"{amount:g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 2) -> Iterator[str]:
    """`left`: whether only the first column is of texts (1) or the last as well (2)."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    last = len(head) - 1
    for line in lines:
        cells = [
            cell.ljust(width) if column == 0 or (column == last and left > 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def _growth(growth: Growth) -> Iterator[str]:
    missing = sum(not each.node for each in growth.placements)
    if not missing:
        yield "no new nodes are needed"
        return
    yield f"new nodes for {number(missing, 'pod')} that {'does' if missing == 1 else 'do'} not fit, the best way first"
    if not growth.complete:
        yield "  (the time was over before all was tried)"
    for place, way in enumerate(growth.ways, 1):
        yield f"  {place}. {_way(way)}"
        for name, count in sorted(_requests(way).items()):
            yield f"       {name}: {count}"
        for pod in way.left[:MAX_DEVICES]:
            yield f"       still left: {pod}"
        if len(way.left) > MAX_DEVICES:
            yield f"       and {number(len(way.left) - MAX_DEVICES, 'more pod')}"


def _way(way: Way) -> str:
    nodes = ", ".join(f"{count} x {name}" for name, count in way.nodes.items() if count)
    if not nodes:
        return f"{', '.join(way.nodes)}: no number of such nodes would place any of them"
    placed = sum(bool(each.node) for each in way.placements)
    end = "places all of them" if not way.left else f"places {placed}, leaves {len(way.left)}"
    return f"{nodes}: {end}"


def _requests(way: Way) -> Counter[str]:
    """How often each alternative is chosen, where there is a choice."""
    return Counter(
        f"alternative {request}"
        for placement in way.placements
        for result in placement.results.values()
        for request in sorted({each["request"] for each in result["devices"].get("results", ())})
        if "/" in request
    )
