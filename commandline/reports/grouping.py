"""Findings that say the same of many places: people are shown the first, with the number of the others.

Two findings are alike if they differ only in values: the same rule about the same field, whatever the indices and keys on
the way to it, with the same message but for quoted strings and numbers. About no field, the whole message must be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from advice.findings import Finding, Result
from commandline.reports.escaping import on_one_line
from resourceapi.phrases import number

#: So many findings that are alike are each shown in full.
SHOWN_IN_FULL = 3
#: Of more, the first is shown in full, and so many places of others.
PLACES = 3
# What is not closed goes to the end, so that nothing is read twice.
_INDEX_OR_KEY = r"\[[^\]]*+\]?"
_VALUE = r'(?s:"(?:[^"\\]|\\.)*+"?|\d+)'


class Group:
    """Findings that are alike, in the order of the report: how many, and where some of them are."""

    def __init__(self) -> None:
        self.count = 0
        self._following: list[str] = []  # the places that follow the first
        self._elsewhere: list[str] = []  # the first places in other objects than the first
        self._objects = 0  # in which there are others than the first finding
        self._last: Result | None = None

    def add(self, result: Result, finding: Finding) -> None:
        """Count a finding; those of an object come one after another."""
        self.count += 1
        if self.count > 1:
            self._add_other(result, finding)
        self._last = result

    def _add_other(self, result: Result, finding: Finding) -> None:
        if len(self._following) < PLACES:
            self._following.append(place_of(result, finding))
        if result is not self._last:
            if len(self._elsewhere) < PLACES:
                self._elsewhere.append(place_of(result, finding))
            self._objects += 1
        elif self.count == 2:
            self._objects = 1

    @property
    def others(self) -> str:
        """``63 like this, in 5 objects: a.yaml:7:5, b.yaml:7:5, …``, or nothing where each is shown in full."""
        if self.count <= SHOWN_IN_FULL:
            return ""
        objects = f", in {number(self._objects, 'object')}" if self._elsewhere else ""
        places = self._elsewhere or self._following
        more = ", …" if len(places) < self.count - 1 else ""
        return f"{self.count - 1:,} like this{objects}: {', '.join(places)}{more} (--show-all lists them)"


def grouped(
    findings: Iterable[tuple[Result, Finding]], *, show_all: bool = False
) -> Iterator[tuple[Result, Finding, str]]:
    """The findings to show, each with what to say of those like it that are not shown.

    :param show_all: whether to show all, in whatever number they are alike.
    """
    if show_all:
        for result, finding in findings:
            yield result, finding, ""
        return
    groups: dict[tuple[str, ...], Group] = {}
    candidates: list[tuple[Result, Finding, Group, bool]] = []
    for result, finding in findings:
        group = groups.setdefault(_without_values(result, finding), Group())
        group.add(result, finding)
        if group.count <= SHOWN_IN_FULL:
            candidates.append((result, finding, group, group.count == 1))
    for result, finding, group, first in candidates:
        if first or not group.others:
            yield result, finding, group.others


def place_of(result: Result, finding: Finding) -> str:
    """Where a finding is, for people: file, line and column, or the file alone."""
    file = on_one_line(result.file)
    return f"{file}:{finding.line}:{finding.column}" if finding.line else file


def _without_values(result: Result, finding: Finding) -> tuple[str, ...]:
    return (
        "" if result.stored is None else _remark(result, finding),
        finding.severity,
        finding.rule,
        re.sub(_INDEX_OR_KEY, "[]", finding.field),
        # about no field: what is quoted is the kind or the version, which are no values
        re.sub(_VALUE, "…", finding.message) if finding.field else finding.message,
    )


def _remark(result: Result, finding: Finding) -> str:
    from commandline.reports.stored_objects import remark

    return remark(result, finding)
