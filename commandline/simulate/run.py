"""Runs ``claimcheck simulate``: places the pods of a scenario, and writes the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from allocator.expansion import Template
from claimcheck.answers.cluster_state import ClusterState
from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.reading import read
from commandline.scenario import read_scenario
from commandline.simulate.options import objectives
from resourceapi.manifests import name_of
from resourceapi.objects import Object

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
    if not own.nodes.objects:
        raise UsageError(f"--node-template {file}: the file has no Node")
    if len(own.nodes.objects) == 1:
        return [Template(node, tuple(own.slices)) for node in own.nodes.objects.values()]
    of_node: dict[str, list[Object]] = {name: [] for name in own.nodes.objects}
    for slice in own.slices:
        name = (slice.get("spec") or {}).get("nodeName", "")
        if name not in of_node:
            raise UsageError(
                f"--node-template {file}: slice {name_of(slice)} belongs to none of the nodes in the file"
            )
        of_node[name].append(slice)
    return [Template(node, tuple(of_node[name])) for name, node in own.nodes.objects.items()]


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
