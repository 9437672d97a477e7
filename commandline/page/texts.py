"""What the page says of a text that somebody types: findings with their fixes, and whether it would fit. Nothing of it stays."""

from __future__ import annotations

from typing import Any

from advice.findings import Finding, Result
from allocator.explaining.snapshot import Snapshot
from allocator.simulation import Limits
from allocator.time_limit import POD_SECONDS, OutOfTime, TimeLimit
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.explain import explain_all
from claimcheck.answers.outcome import Outcome
from claimcheck.answers.reading import Text, read_files
from claimcheck.answers.scenario import Reader, Scenario
from claimcheck.answers.simulate import simulate
from claimcheck.answers.validate.beside_state import BesideState
from claimcheck.answers.validate.fixes import fixed, text_with
from cluster.workloads import Workload
from commandline.explain import json_report
from commandline.page.questions import numbered
from commandline.reports.structured import finding_document
from commandline.reports.text import summary
from commandline.reports.writing import failure_documents
from commandline.simulate import json_report as simulate_report
from documents import Document, DocumentError
from serving.routes import HTTPError

Json = dict[str, Any]
#: What files are called in which there is a text.
NAME = "text"
#: How long explaining or simulating a text may take.
SECONDS = 5.0
#: Findings, and workloads, of which the page is told.
MOST_FINDINGS, MOST_WORKLOADS = 500, 20
#: Pods that are placed: a few words can ask for a million.
MOST_PODS = 2_000
#: Pods of which it is told where they would be.
MOST_PLACEMENTS = 200
#: How pods are placed in a simulation.
OBJECTIVES = ("kube-scheduler", "best-fit")


def named(text: str) -> list[Text]:
    """A text as if it were in a file."""
    return [Text(NAME, text.encode("utf-8", "replace"))]


def outcome(beside: BesideState, text: str) -> Outcome:
    """What the server would answer to the objects of a text."""
    return beside.answer(read_files(named(text)))


def validated(beside: BesideState, text: str) -> Json:
    """The findings, each at its place, and whether there is but one way to fix it."""
    found = outcome(beside, text)
    told = [
        {
            **finding_document(finding),
            "object": result.title,
            "width": finding.width,
            "foretold": foretold,
            "fixable": bool(finding.changes) and isinstance(result.source, Document),
        }
        for result, finding, foretold in _told(found)
    ]
    return {
        "summary": summary(found),
        "findings": told[:MOST_FINDINGS],
        "moreFindings": max(0, len(told) - MOST_FINDINGS),
        "failures": failure_documents(found.failures),
    }


def _told(outcome: Outcome) -> list[tuple[Result, Finding, bool]]:
    now = [(*each, False) for each in outcome.findings()]
    return now + [(*each, True) for each in outcome.afterwards()]


def with_fix(beside: BesideState, text: str, number: str) -> Json:
    """The text without the finding with this number, or without all that can be fixed if it is empty."""
    told = _told(outcome(beside, text))
    if number:
        chosen = [numbered(told, number, "there is no such finding")]
    else:
        chosen = [each for each in told if not each[2]]
    by_document: dict[int, tuple[Document, list[Finding]]] = {}
    for result, finding, _ in chosen:
        if isinstance(result.source, Document):
            by_document.setdefault(id(result.source), (result.source, []))[1].append(finding)
    changes = [each for each in (fixed(*found) for found in by_document.values()) if each.mistakes]
    if not changes:
        raise HTTPError("there is no single way to fix it", 422)
    try:
        return {"text": text_with(changes)}
    except DocumentError as error:
        raise HTTPError(f"not fixed: {error}", 422) from None


def workloads_in(state: ClusterState, text: str, limit: TimeLimit) -> list[Workload]:
    """What requests devices in a text.

    :param state: a copy of the cluster's, to which the text is added.
    :raises HTTPError: if it cannot be read, or nothing requests devices.
    :raises OutOfTime: if that takes too long.
    """
    before = len(state.failures)
    asked = state.learn(read_files(named(text)), new=True)
    if failures := state.failures[before:]:
        raise HTTPError(failures[0].message, 422)
    found = Reader(state, state.default_namespace).workloads(asked, limit)
    if not found:
        raise HTTPError("nothing in it requests devices", 422)
    return found


def _scenario(state: ClusterState, snapshot: Snapshot, text: str, limit: TimeLimit) -> tuple[Scenario, int]:
    """The first workloads of a text in a cluster, and how many others there are."""
    copy = state.copy()
    try:
        found = workloads_in(copy, text, limit)
    except OutOfTime:
        raise HTTPError(f"reading it took longer than {SECONDS:g} s", 503) from None
    return Scenario(copy, snapshot, found[:MOST_WORKLOADS]), max(0, len(found) - MOST_WORKLOADS)


def simulated(state: ClusterState, snapshot: Snapshot, text: str) -> Json:
    """Where all pods of a text would be placed, one after the other, and what would be left of the devices."""
    limit = TimeLimit(SECONDS)
    scenario, more = _scenario(state, snapshot, text, limit)
    if sum(each.copies for each in scenario.workloads) > MOST_PODS:
        raise HTTPError(f"it has more than {MOST_PODS:,} pods: ask claimcheck simulate", 422)
    limits = Limits(limit, POD_SECONDS)
    report = simulate(scenario, OBJECTIVES, batch=False, templates=(), limits=limits)
    found = simulate_report.document(report)
    for run in found["runs"]:
        run["morePlacements"] = max(0, len(run["placements"]) - MOST_PLACEMENTS)
        for names in ("placements", "left", "undecided"):
            run[names] = run[names][:MOST_PLACEMENTS]
    for group in found.get("unplaced", ()):
        group["pods"] = group["pods"][:MOST_PLACEMENTS]
    return {**found, "moreObjects": more}


def explained(state: ClusterState, snapshot: Snapshot, text: str) -> Json:
    """Where what is in a text would get its devices, or what is in the way."""
    limit = TimeLimit(SECONDS)
    scenario, more = _scenario(state, snapshot, text, limit)
    return {**json_report.document(explain_all(scenario, limit=limit)), "moreObjects": more}
