"""Runs ``claimcheck explain``: explains the workloads of a scenario, and writes the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.scenario import read_scenario

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Explain the workloads, and write the answer.

    :raises UsageError: for options that contradict each other, or nothing to explain.
    """
    from allocator.time_limit import TimeLimit
    from claimcheck.answers.explain import explain_all
    from commandline.explain import json_report, text_report
    from commandline.explain.picture import write_html
    from commandline.reports.writing import write_answer
    from commandline.terminal import Progress

    scenario = read_scenario(options)
    if options.node and options.node not in scenario.snapshot.nodes:
        raise UsageError(f"--node {options.node}: there is no such node")
    progress = Progress("pods and claims looked at", len(scenario.workloads))
    limit = TimeLimit(options.timeout, progress.clock)
    answer = explain_all(scenario, options.node, limit, progress.step)
    progress.done()
    if answer.late:
        decided = f"{answer.late} of {len(answer.explained)} were decided"
        answer.notes.append(f"The time limit of {options.timeout:g} s was over before {decided} (--timeout).")
    write_answer(options, answer, lines=text_report.lines, document=json_report.document, page=write_html)
    if answer.failures or any(each.unanswered for each in answer.explained):
        return UNFINISHED
    return SUCCESS if all(each.fits for each in answer.explained) else NEGATIVE
