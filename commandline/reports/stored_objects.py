"""What a release does with objects that are stored already: a summary of all, and a remark on each finding.

That an object would be refused, or lose a field, if it were created again does not say that it stops working: the server
keeps what is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from advice.findings import ERROR, NO_SUCH_API, UPDATES_ACCEPTED, UPDATES_REFUSED, Finding, Result
from claimcheck.answers.outcome import Outcome
from resourceapi.phrases import number
from validation import requests

#: The lint about fields that the server drops; its module takes long to load.
_DROPPED = "CC006"
#: So many lines of the summary are about fields that would be dropped.
_MOST_LINES = 10


class Objects(NamedTuple):
    """Objects of one kind; slices also of one driver."""

    kind: str
    driver: str

    def counted(self, count: int) -> str:
        """``300 ResourceSlices of driver gpu.example.com``."""
        return number(count, self.kind) + (f" of driver {self.driver}" if self.driver else "")


class Dropped(NamedTuple):
    """A field that objects would lose; ``owners`` is the list whose entries have it, such as ``devices``."""

    field: str
    owners: str
    objects: Objects


def remark(result: Result, finding: Finding) -> str:
    """What a finding means for the object as it is stored; empty if it is not stored, or there is nothing to say."""
    stored = result.stored
    if stored is None:
        return ""
    if stored.updates == NO_SUCH_API:
        return (
            "the object stays in storage, where nobody can read, change or delete it until its kind is served"
        )
    if finding.rule == requests.NOT_SERVED:
        return f"the object can be read as {stored.api_version}" + _and_updates(stored.updates)
    if finding.rule == requests.UPDATE_REFUSED:
        return "the object can be read; created again, it is accepted, perhaps without some fields"
    if finding.severity == ERROR and stored.updates == UPDATES_ACCEPTED:
        return "the object can be read, and updated with its spec unchanged; it would be refused if it were created again"
    if finding.severity == ERROR:
        return "the object can be read, but the server refuses updates of it, too"
    if finding.rule != _DROPPED:
        return ""
    if finding.field in stored.lost:
        return "the object has the field until it is updated or created again"
    return "the object keeps the field, even when it is updated, and loses it only if it is created again"


def _and_updates(updates: str) -> str:
    return ", and can be updated" if updates == UPDATES_ACCEPTED else ", but the server refuses updates of it"


def summary_lines(outcome: Outcome) -> Iterator[str]:
    """The summary of all objects that are stored; none if there are no such objects."""
    numbers_of = _by_updates(outcome)
    if not numbers_of:
        return
    release = outcome.release
    total = sum(numbers_of.values())
    totals = Counter[str]()
    for (updates, _), count in numbers_of.items():
        totals[updates] += count
    parts = [
        f"{'all' if totals[updates] == total else f'{totals[updates]:,}'} {what}"
        for updates, what in (
            (UPDATES_ACCEPTED, "can be read and updated"),
            (UPDATES_REFUSED, "can be read but not updated"),
            (NO_SUCH_API, "can be neither"),
        )
        if totals[updates]
    ]
    yield f"{number(total, 'stored object')} under {release}: {', '.join(parts)}"
    for updates, what in ((UPDATES_REFUSED, "refuses updates of"), (NO_SUCH_API, "does not serve")):
        for (found, objects), count in numbers_of.items():
            if found == updates:
                yield f"  {release} {what} {objects.counted(count)}"
    for objects, count in _refused(outcome).items():
        yield f"  {release} would refuse {objects.counted(count)} {_created_again(count)}"
    dropped = list(dropped_fields(outcome).items())
    for field, (entries, count) in dropped[:_MOST_LINES]:
        of = f"{entries:,} {_noun(field.owners, entries)} in " if field.owners else ""
        lost = f"`{field.field}` from {of}{field.objects.counted(count)}"
        yield f"  {release} would drop {lost} {_created_again(count)}"
    if len(dropped) > _MOST_LINES:
        yield f"  … and {number(len(dropped) - _MOST_LINES, 'other field')}"


def _created_again(count: int) -> str:
    return "if it were created again" if count == 1 else "if they were created again"


def _noun(plural: str, count: int) -> str:
    return plural.removesuffix("s") if count == 1 else plural


def _by_updates(outcome: Outcome) -> Counter[tuple[str, Objects]]:
    return Counter(
        (result.stored.updates, _objects(result)) for result in outcome.results if result.stored is not None
    )


def _refused(outcome: Outcome) -> Counter[Objects]:
    """The objects that are stored, and would be refused as new ones."""
    return Counter(_objects(result) for result in outcome.results if _is_refused(result))


def _is_refused(result: Result) -> bool:
    if result.stored is None or result.stored.updates == NO_SUCH_API:
        return False
    return any(
        finding.severity == ERROR and finding.rule != requests.UPDATE_REFUSED for finding in result.findings
    )


def dropped_fields(outcome: Outcome) -> dict[Dropped, tuple[int, int]]:
    """The fields that stored objects would lose if they were created again, with the numbers of entries and objects."""
    found: dict[Dropped, list[int]] = {}
    for result in outcome.results:
        if result.stored is None:
            continue
        entries: dict[Dropped, set[str]] = {}
        for finding in result.findings:
            if finding.rule == _DROPPED:
                field, entry = _dropped(result, finding)
                entries.setdefault(field, set()).add(entry)
        for field, in_entries in entries.items():
            numbers = found.setdefault(field, [0, 0])
            numbers[0] += len(in_entries)
            numbers[1] += 1
    return {field: (entries, objects) for field, (entries, objects) in found.items()}


def _dropped(result: Result, finding: Finding) -> tuple[Dropped, str]:
    """The field, and the entry of the outermost list on the way to it."""
    before, bracket, rest = finding.field.partition("[")
    owners = before.rpartition(".")[2] if bracket else ""
    name = finding.field.rpartition(".")[2]
    return Dropped(name, owners, _objects(result)), rest.partition("]")[0]


def _objects(result: Result) -> Objects:
    return Objects(result.kind, result.stored.driver if result.stored is not None else "")


def document(outcome: Outcome) -> dict[str, Any] | None:
    """The summary as plain data; None if no object is stored."""
    numbers_of = _by_updates(outcome)
    if not numbers_of:
        return None
    return {
        "objects": [
            {"updates": updates, **_described(objects), "count": count}
            for (updates, objects), count in numbers_of.items()
        ],
        "refusedIfCreatedAgain": [
            {**_described(objects), "count": count} for objects, count in _refused(outcome).items()
        ],
        "droppedIfCreatedAgain": [
            {
                "field": field.field,
                **({"of": field.owners, "entries": entries} if field.owners else {}),
                **_described(field.objects),
                "objects": count,
            }
            for field, (entries, count) in dropped_fields(outcome).items()
        ],
    }


def _described(objects: Objects) -> dict[str, str]:
    return {"kind": objects.kind, **({"driver": objects.driver} if objects.driver else {})}
