"""Runs ``claimcheck explain``: explains the workloads of a scenario, and writes the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.exit_codes import NEGATIVE, SUCCESS, UNFINISHED
from commandline.scenario import read_scenario

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Explain the workloads, and write the answer.

    :raises UsageError: for options that contradict each other, or nothing to explain.
    """
    from commandline.explain import json_report, text_report
    from commandline.explain.explanations import explain_all
    from commandline.reports.writing import write_answer

    scenario = read_scenario(options)
    if options.node and options.node not in scenario.snapshot.nodes:
        raise UsageError(f"--node {options.node}: there is no such node")
    answer = explain_all(scenario, options.node, options.timeout)
    write_answer(options, answer, lines=text_report.lines, document=json_report.document)
    if answer.failures or any(each.unanswered for each in answer.explained):
        return UNFINISHED
    return SUCCESS if all(each.fits for each in answer.explained) else NEGATIVE
