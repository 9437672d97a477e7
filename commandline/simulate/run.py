"""``claimcheck simulate``: where pods would go one after the other, what is left over, and which new nodes would help."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, RawDescriptionHelpFormatter
from math import inf
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.scenario import add_situation_options, read_situation

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from commandline.simulate.runs import Report

DESCRIPTION = (
    "Schedule pods one after the other and report where they go, what is left, and how fragmented it is."
)
EXAMPLES = """examples:
  claimcheck simulate -f pods/ --inventory cluster/                 in the order of the files
  claimcheck simulate -f pods/ --inventory cluster/ --compare first-fit,best-fit
  claimcheck simulate -f pods/ --inventory cluster/ --batch         all known at once: place as many as possible
  claimcheck simulate -f pods/ --inventory cluster/ --node-template a100-node.yaml --node-template l4-node.yaml
                                                                    which new nodes would place them, and how many

A Deployment or Job stands for as many pods as it wants. first-fit is what kube-scheduler does on nodes in the order of the
inventory; best-fit takes the node and the devices that waste least, but never worse alternatives. A node template is a
file with a Node and its ResourceSlices; pods that fit nowhere get new nodes of that kind.

An error on a node that kube-scheduler looks at leaves the pod pending, wherever else it would fit; so does spec.nodeName
with claims that are not allocated. For a pod that is not decided within 20 s the simulation goes on with the next.

exit codes: 0 all pods are placed, 1 some are not, 2 some of the work could not be done (in time)
"""
FORMATS = ("text", "json")
FIRST_FIT, BEST_FIT = "first-fit", "best-fit"
OBJECTIVES = (FIRST_FIT, BEST_FIT)
#: How long a simulation may take, and a single pod of it, in seconds.
SECONDS, POD_SECONDS = 300.0, 20.0


def add_arguments(parser: ArgumentParser) -> None:
    """Give a parser the options of the subcommand."""
    parser.description = DESCRIPTION
    parser.epilog = EXAMPLES
    parser.formatter_class = RawDescriptionHelpFormatter
    add_situation_options(parser, "pods, workloads and claims to place, and what they refer to")
    parser.add_argument(
        "--compare",
        metavar="OBJECTIVE,…",
        default=FIRST_FIT,
        help=f"{' or '.join(OBJECTIVES)}, or both; the first is reported in full; default: {FIRST_FIT}",
    )
    parser.add_argument(
        "--batch", action="store_true", help="also place the whole list in the order that places most"
    )
    parser.add_argument(
        "--node-template",
        metavar="FILE",
        action="append",
        default=[],
        help="a Node and its ResourceSlices, as a new node would have them; can be repeated",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        default=SECONDS,
        help=f"for all pods with all objectives and new nodes; default: {SECONDS:g}",
    )
    parser.add_argument("-o", "--output", choices=FORMATS, default="text", help="default: text")


def run(options: Namespace) -> int:
    """Simulate and report.

    :raises UsageError: for options that make no sense, or nothing to place.
    """
    objectives = _objectives(options.compare)
    from allocator.simulation import Limits
    from allocator.time_limit import TimeLimit
    from commandline.simulate import json_report as simulate_json
    from commandline.simulate import text_report as simulate_text
    from commandline.simulate.node_templates import read_templates
    from commandline.simulate.runs import simulate

    situation = read_situation(options)
    templates = read_templates(options.node_template, situation.state)
    limits = Limits(TimeLimit(options.timeout), POD_SECONDS)
    report: Report = simulate(situation, objectives, batch=options.batch, templates=templates, limits=limits)
    write = simulate_json.write if options.output == "json" else simulate_text.write
    write(report, sys.stdout)
    if report.failures or report.problems or report.undecided:
        return 2
    return 0 if report.all_placed else 1


def _seconds(text: str) -> float:
    """A time: a finite number above 0."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < inf:
        raise ArgumentTypeError(f"{text}: expected a number of seconds above 0")
    return seconds


def _objectives(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in OBJECTIVES:
            raise UsageError(f"--compare {text}: expected {' or '.join(OBJECTIVES)}, or both with a comma")
    return names
