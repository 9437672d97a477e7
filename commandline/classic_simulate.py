"""``claimcheck classic-simulate``: simulates a negotiation, and writes its timeline."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from commandline.errors import NEGATIVE, SUCCESS, UNFINISHED, UsageError
from commandline.options import DEFAULT_NAMESPACE, add_output, add_paths, insist_on_paths
from commandline.scenario import add_timeout

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from claimcheck.answers.outcome import Failure
    from classic.simulation.scenario import Scenario
    from commandline.classic_simulate_report import Report


DESCRIPTION = (
    "Show the negotiation of kube-scheduler 1.30 with the drivers of classic DRA (resource.k8s.io/v1alpha2), step by step: "
    "what each attempt to schedule a pod decides and why, and who writes which field of which object. No cluster is needed, "
    "and time is virtual."
)
EXAMPLES = """examples:
  claimcheck classic-simulate --scenario best-case             the pod is bound in its second attempt
  claimcheck classic-simulate --scenario claim-deallocated     the node is filled, and the claim is deallocated
  claimcheck classic-simulate --scenario slow-driver --print-scenario > mine.yaml
                                                               a scenario to change
  claimcheck classic-simulate mine.yaml
  claimcheck classic-simulate class.yaml template.yaml pod.yaml nodes.yaml -o json

Files have Nodes, ResourceClasses, ResourceClaims, ResourceClaimTemplates and Pods, and may have the objects that parametersRef
refers to: a count in them is the number of devices that a claim asks for. Without Nodes there are three. A driver has one
device on each node and answers at once, unless a document of the kind ClassicScenario says otherwise.

exit codes: 0 all pods are bound, 1 some are not, 2 some input could not be read, or the simulation took too long
"""
#: As in classic.simulation.scenario, which is not loaded for --help.
SCENARIOS = ("best-case", "slow-driver", "unsuitable-node", "node-filled", "claim-deallocated")
FORMATS = ("text", "json", "yaml")


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the subcommand to its parser."""
    add_paths(parser, "objects of v1alpha2, Nodes, Pods, and a ClassicScenario")
    parser.add_argument(
        "--scenario", choices=SCENARIOS, help="a scenario that comes with claimcheck, instead of files"
    )
    parser.add_argument(
        "--print-scenario", action="store_true", help="print the documents of --scenario, to be changed"
    )
    parser.add_argument(
        "-n",
        "--namespace",
        metavar="NAMESPACE",
        default=DEFAULT_NAMESPACE,
        help=f"namespace of objects that do not name one; default: {DEFAULT_NAMESPACE}",
    )
    add_timeout(parser, "the simulation, in real time")
    add_output(parser, FORMATS)


def run(options: Namespace) -> int:
    """Simulate, and write the timeline.

    :raises UsageError: for options that contradict each other, or a scenario that cannot be used.
    """
    from classic.simulation.scenario import ready_scenario, scenario_text
    from commandline.classic_simulate_report import document, lines
    from commandline.reports.writing import write_answer

    _check(options)
    if options.print_scenario:
        sys.stdout.write(scenario_text(options.scenario))
        return SUCCESS
    failures: list[Failure] = []
    scenario = ready_scenario(options.scenario) if options.scenario else _read(options, failures)
    report = _simulated(options, scenario, failures)
    write_answer(options, report, lines=lines, document=document)
    if failures:
        return UNFINISHED
    return SUCCESS if report.outcome.all_bound else NEGATIVE


def _check(options: Namespace) -> None:
    if options.scenario and options.paths:
        raise UsageError("--scenario stands for files: name either")
    if options.print_scenario and not options.scenario:
        raise UsageError(
            "--print-scenario prints one of the scenarios of claimcheck: name it with --scenario"
        )
    if not options.scenario:
        insist_on_paths(options)


def _read(options: Namespace, failures: list[Failure]) -> Scenario:
    """The scenario in files.

    :param failures: gets what could not be read.
    :raises UsageError: if it cannot be used.
    """
    from advice.findings import Result
    from claimcheck.answers.outcome import Failure
    from claimcheck.answers.reading import read_files
    from classic.simulation.scenario import ScenarioError, scenario_from
    from commandline.reading import find

    documents = []
    for found in read_files(find(options)):
        if isinstance(found, Failure):
            failures.append(found)
        elif isinstance(found, Result):
            failures.extend(Failure(found.file, each.message) for each in found.findings)
        else:
            documents.append(found.value)
    try:
        return scenario_from(documents, options.namespace)
    except ScenarioError as error:
        if failures:
            error = ScenarioError(f"{error} ({failures[0].file}: {failures[0].message})")
        raise UsageError(str(error)) from None


def _simulated(options: Namespace, scenario: Scenario, failures: list[Failure]) -> Report:
    """The negotiation, and what would happen with structured parameters.

    :raises UsageError: if it takes too long.
    """
    from allocator.time_limit import OutOfTime, TimeLimit
    from classic.simulation.scenario import ScenarioError
    from classic.simulation.simulation import simulate
    from classic.simulation.structured import with_structured_parameters
    from commandline.classic_simulate_report import Report

    time_limit = TimeLimit(options.timeout)
    try:
        outcome = simulate(scenario, time_limit)
        structured = with_structured_parameters(scenario, time_limit)
    except OutOfTime:
        raise UsageError(f"the simulation takes longer than {options.timeout:g} s (--timeout)") from None
    except ScenarioError as error:
        raise UsageError(str(error)) from None
    return Report(options.scenario or "", scenario, outcome, structured, failures)
