"""Runs ``claimcheck simulate``: places the pods of a scenario, and writes the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED
from commandline.scenario import read_scenario
from commandline.simulate.options import objectives

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Simulate, and write the report.

    :raises UsageError: for options that contradict each other, or nothing to place.
    """
    compared = objectives(options.compare)
    from allocator.simulation import Limits
    from allocator.time_limit import POD_SECONDS, TimeLimit
    from claimcheck.answers.simulate import simulate
    from commandline.reports.writing import write_answer
    from commandline.simulate import json_report, text_report
    from commandline.simulate.node_templates import read_templates
    from commandline.terminal import Progress

    scenario = read_scenario(options)
    templates = read_templates(options.node_template, scenario.state)
    progress = Progress("attempts to place a pod")
    limits = Limits(TimeLimit(options.timeout, progress.clock), POD_SECONDS, progress.step)
    report = simulate(scenario, compared, batch=options.batch, templates=templates, limits=limits)
    progress.done()
    write_answer(options, report, lines=text_report.lines, document=json_report.document)
    if report.failures or report.problems or report.undecided:
        return UNFINISHED
    return SUCCESS if report.all_placed else NEGATIVE
