"""The report as a page: each object with its findings, the lines that they are about, and how to fix them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO
from xml.etree.ElementTree import Element

from advice.findings import Finding, Result
from claimcheck.answers.outcome import Outcome
from commandline.reports.grouping import grouped, place_of
from commandline.reports.markup import Content, code, items, node, said, section, write_page
from commandline.reports.text import excerpt, summary


def write(outcome: Outcome, stream: TextIO) -> None:
    """Write the report as a page."""
    told = [_finding(*each) for each in grouped(outcome.findings(), show_all=True)]
    later = [_finding(*each) for each in grouped(outcome.afterwards(), show_all=True)]
    write_page(
        stream,
        "Validated",
        node(
            "h1",
            f"{outcome.invalid:,} of {len(outcome.results):,} objects would be refused"
            if outcome.invalid
            else "No object would be refused",
            class_="sentence",
        ),
        node("p", f"Kubernetes {outcome.release}. {summary(outcome)}.", class_="quiet"),
        section(
            "What could not be read", items(said(f"{each.file}: {each.message}") for each in outcome.failures)
        ),
        section("Findings", *told),
        section("Also, once that is fixed", *later),
    )


def _finding(result: Result, finding: Finding, _: str) -> Element:
    return node("article", _parts(result, finding), class_="card")


def _parts(result: Result, finding: Finding) -> Iterator[Content]:
    rule = finding.rule if finding.rule.startswith("CC") else ""
    tag = node("span", finding.severity, class_=f"tag {finding.severity}")
    what = " ".join(filter(None, (result.kind, result.name)))
    yield node("p", tag, " ", said(place_of(result, finding)), " ", said(what), " ", rule, class_="over")
    yield node("h3", code(finding.text), class_="cause")
    if finding.line:
        shown, marks = excerpt(result.source.source_line(finding.line), finding.column, finding.width)
        yield node("pre", code(f"{finding.line:>5} | {shown}\n{'':>5} | {marks}".replace("\t", " ")))
    if finding.hint:
        yield node("pre", code(finding.hint), class_="remedy")
