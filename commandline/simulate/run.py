"""Runs ``claimcheck simulate``: places the pods of a scenario, and writes the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from allocator.expansion import Template
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.new_nodes import templates_in
from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.reading import read
from commandline.scenario import read_scenario
from commandline.simulate.options import objectives
from resourceapi.errors import Unanswerable

if TYPE_CHECKING:
    from argparse import Namespace


def read_templates(files: Sequence[str], state: ClusterState) -> list[Template]:
    """The templates in files: each Node with the slices that name it, or with all slices if it is alone in its file.

    :param state: the cluster; its taint rules apply to the new nodes too.
    :raises UsageError: for a file without a Node, or with slices of other nodes.
    """
    return [template for file in files for template in _templates(file, state)]


def _templates(file: str, state: ClusterState) -> list[Template]:
    own = state.empty()
    own.learn(read([file]))
    if own.failures:
        raise UsageError(f"--node-template {own.failures[0].file}: {own.failures[0].message}")
    try:
        return templates_in(own)
    except Unanswerable as error:
        raise UsageError(f"--node-template {file}: {error}") from None


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
    from commandline.simulate.picture import write_html
    from commandline.terminal import Progress

    scenario = read_scenario(options)
    templates = read_templates(options.node_template, scenario.state)
    progress = Progress("attempts to place a pod")
    limits = Limits(TimeLimit(options.timeout, progress.clock), POD_SECONDS, progress.step)
    report = simulate(scenario, compared, batch=options.batch, templates=templates, limits=limits)
    progress.done()
    write_answer(options, report, lines=text_report.lines, document=json_report.document, page=write_html)
    if report.failures or report.problems or report.undecided:
        return UNFINISHED
    return SUCCESS if report.all_placed else NEGATIVE
