"""Runs ``claimcheck classic-simulate``: simulates a negotiation, and writes its timeline."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.exit_codes import NEGATIVE, SUCCESS, UNFINISHED
from commandline.options import insist_on_paths

if TYPE_CHECKING:
    from argparse import Namespace

    from claimcheck.answers.outcome import Failure
    from classic.simulation.scenario import Scenario
    from commandline.classic_simulate.report import Report


def run(options: Namespace) -> int:
    """Simulate, and write the timeline.

    :raises UsageError: for options that contradict each other, or a scenario that cannot be used.
    """
    from classic.simulation.scenario import ready_scenario, scenario_text
    from commandline.classic_simulate import json_report, text_report
    from commandline.reports.writing import write_answer

    _check(options)
    if options.print_scenario:
        sys.stdout.write(scenario_text(options.scenario))
        return SUCCESS
    failures: list[Failure] = []
    scenario = ready_scenario(options.scenario) if options.scenario else _read(options, failures)
    report = _simulated(options, scenario, failures)
    write_answer(options, report, lines=text_report.lines, document=json_report.document)
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
    from commandline.classic_simulate.report import Report

    time_limit = TimeLimit(options.timeout)
    try:
        outcome = simulate(scenario, time_limit)
        structured = with_structured_parameters(scenario, time_limit)
    except OutOfTime:
        raise UsageError(f"the simulation takes longer than {options.timeout:g} s (--timeout)") from None
    except ScenarioError as error:
        raise UsageError(str(error)) from None
    return Report(options.scenario or "", scenario, outcome, structured, failures)
