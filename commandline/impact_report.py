"""The answer of ``claimcheck impact``: text for people, plain data, and a comment for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from claimcheck.answers.impact.departures import Departure
from claimcheck.answers.impact.impact import Impact
from claimcheck.answers.impact.rollouts import RolledOut
from commandline import changed_devices_report, doctor_report
from commandline.reports.escaping import on_one_line
from commandline.simulate.json_report import unplaced_document
from commandline.simulate.text_report import unplaced_lines
from resourceapi.phrases import number, shortened, some

#: Reasons that are written for each part of the text, and classes, claims and pods of a list.
MAX_REASONS, MAX_ROWS = 20, 10
#: The characters of a line and of all lines of a comment; GitHub takes 65,536, which it counts in its own way.
MAX_LINE, MAX_COMMENT = 1_000, 30_000


def lines(answer: Impact) -> Iterator[str]:
    """The summary, then a paragraph for each part that is not empty: what gets worse comes first."""
    yield summary(answer)
    yield from _departures(answer.departures)
    yield from _list("rollouts", list(map(rollout_line, answer.rollouts)))
    yield from unplaced_lines(answer.pending)
    yield from _list("wait for what is not there", [f"{pod}: {what}" for pod, what in answer.waiting])
    yield from _list(
        "allow less than is used, so that nothing new gets any",
        [f"ResourceQuota {quota}: {used} of {hard} {what}" for quota, what, used, hard in answer.exceeded],
    )
    lost = [
        f"claim {each.holder.claim}: {each.refused.device}: {each.refused.reason}" for each in answer.lost
    ]
    yield from _list("keep their devices, but would not get them again", lost)
    if answer.devices:
        yield ""
        yield "devices change:"
        yield from (f"  {line}" for line in changed_devices_report.lines(answer.devices))
    yield from _list(
        "devices chosen", [f"class {name}: {now} now, {then} then" for name, now, then in answer.classes]
    )
    yield from _list("start", [f"{pod} on {node}" for pod, node in answer.starting])
    for each in answer.found[:MAX_REASONS]:
        yield ""
        yield from doctor_report.paragraph(each)
    solved = [
        f"{each.check.code}: {doctor_report.subject(each.objects)}: {each.cause}" for each in answer.solved
    ]
    yield from _list("no longer wrong", solved)
    if said := [*answer.notes, *answer.unknown]:
        yield ""
        yield from said


def summary(answer: Impact) -> str:
    """How many things get worse and better, on one line."""
    counts = {
        "pods that leave their nodes": len(answer.departures),
        "pods that are replaced": sum(len(each.replaced) for each in answer.rollouts),
        "rollouts that do not end": sum(not each.ends for each in answer.rollouts),
        "pods that stay pending": sum(len(each.tried) for each in answer.pending) + len(answer.waiting),
        "quotas exceeded": len(answer.exceeded),
        "claims that would not get their devices again": len(answer.lost),
        "new findings": len(answer.found),
        "pods that start": len(answer.starting),
        "devices that change": sum(bool(each.changes) for each in answer.devices),
        "findings solved": len(answer.solved),
    }
    nothing = (
        "it is not known whether something changes for pods" if answer.unknown else "nothing changes for pods"
    )
    return "; ".join(f"{what}: {count:,}" for what, count in counts.items() if count) or nothing


def _list(title: str, rows: Sequence[str]) -> Iterator[str]:
    if rows:
        yield ""
        yield f"{title}:"
        yield from (f"  {row}" for row in rows[:MAX_ROWS])
        if len(rows) > MAX_ROWS:
            yield f"  {number(len(rows) - MAX_ROWS, 'other')} (see -o json)"


def rollout_line(rollout: RolledOut) -> str:
    """`Deployment team/web: 3 pods are replaced`, or how far it comes."""
    replaced = (
        f"{number(len(rollout.replaced), 'pod')} {'is' if len(rollout.replaced) == 1 else 'are'} replaced"
    )
    if rollout.ends:
        return f"{rollout.workload}: {replaced}"
    stays = number(len(rollout.kept), "former pod")
    kept = f", {stays} {'keeps' if len(rollout.kept) == 1 else 'keep'} running" if rollout.kept else ""
    waiting = (
        f", {rollout.waiting:,} of {number(rollout.new, 'new pod')} without a place"
        if rollout.waiting
        else ""
    )
    return f"{rollout.workload}: does not end: {replaced}{kept}{waiting}"


def _departures(departures: Sequence[Departure]) -> Iterator[str]:
    """The pods that leave, those of one owner together."""
    alike: dict[tuple[str, str, str, bool], list[str]] = {}
    for each in departures:
        owner = each.pod.owner
        who = f"{owner[0]} {each.pod.namespace}/{owner[1]}" if owner is not None else ""
        alike.setdefault((who, each.when, each.why, each.returns), []).append(each.pod.key)
    rows = []
    for (owner_name, when, why, returns), pods in alike.items():
        if len(pods) == 1:
            who = f"Pod {pods[0]}{f' of {owner_name}' if owner_name else ''}"
        else:
            who = f"{number(len(pods), 'pod')} {f'of {owner_name} ' if owner_name else ''}({some(pods)})"
        it, them = (
            ("a new one takes its place", "it") if len(pods) == 1 else ("new ones take their place", "them")
        )
        then = it if returns else f"nothing starts {them} again"
        rows.append(f"{who}: {when} because of {why}; {then}")
    yield from _list("leave their nodes", rows)


def document(answer: Impact) -> dict[str, Any]:
    """The answer as plain data; docs/how-to/impact.md has the keys."""
    return {
        "leaving": [
            {
                "pod": each.pod.key,
                "node": each.pod.node,
                "when": each.when,
                "why": each.why,
                "owner": None
                if each.pod.owner is None
                else dict(zip(("kind", "name"), each.pod.owner, strict=True)),
                "returns": each.returns,
            }
            for each in answer.departures
        ],
        "rollouts": [
            {
                "workload": each.workload._asdict(),
                "ends": each.ends,
                "replaced": list(each.replaced),
                "kept": list(each.kept),
                "new": each.new,
                "waiting": each.waiting,
            }
            for each in answer.rollouts
        ],
        "pending": [unplaced_document(each) for each in answer.pending],
        "waiting": [{"pod": pod, "reason": what} for pod, what in answer.waiting],
        "exceeded": [each._asdict() for each in answer.exceeded],
        "lost": [
            {
                "claim": each.holder.claim,
                "pods": list(each.holder.pods),
                "device": each.refused.device._asdict(),
                "reason": each.refused.reason,
            }
            for each in answer.lost
        ],
        "starting": [{"pod": pod, "node": node} for pod, node in answer.starting],
        "devices": [changed_devices_report.document(each) for each in answer.devices],
        "classes": [each._asdict() for each in answer.classes],
        "found": [doctor_report.finding(each) for each in answer.found],
        "solved": [doctor_report.finding(each) for each in answer.solved],
        "notes": list(answer.notes),
        "unknown": list(answer.unknown),
    }


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    """As many lines as a comment may have."""
    left = MAX_COMMENT
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            yield "… (see -o text)"
            return
        yield line


def markdown(answer: Impact) -> Iterator[str]:
    """A comment for a pull request: the summary, and the text in a block that no name in it can end."""
    text = list(_bounded(shortened(on_one_line(line), MAX_LINE) for line in lines(answer)))
    longest = max((len(run) for line in text for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield "### claimcheck impact"
    yield ""
    yield text[0]
    if len(text) > 1:
        yield ""
        yield f"{fence}text"
        yield from text[1:]
        yield fence
