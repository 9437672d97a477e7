"""`python -m tests.fuzz.expressions`: expressions that try to be more than expressions, in bulk.

Every expression follows from the seed and its number, so `--from NUMBER --count 1` shows a failure again. Each is
evaluated on a device with and without counting its cost, under an audit hook. Exit status 1 if the two disagree, if
either raises anything but an error of the evaluation, if the cost is beyond its bound, if evaluation makes Python do
anything that is not its business, or if fewer than half of the expressions compile.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import pkgutil
import random
import sys
import time
import traceback
from collections import Counter
from typing import Any

import deviceselectors
import resourceapi
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer
from deviceselectors.parser import allow_deep_recursion
from deviceselectors.runtime import zones
from deviceselectors.runtime.device import Device, prepare_device
from deviceselectors.runtime.program import COST_LIMIT, EvaluationError, Program, ProgramError
from tests.fuzz.auditing import Watch
from tests.fuzz.hostile_texts import HostileCase

MIN_COMPILED = 0.5

_EXPLAINED = 0.005  # of the expressions
_ENVIRONMENT = Environment("stored")


class Outcome:
    """What a run has come to so far."""

    def __init__(self) -> None:
        self.expressions = 0
        self.answers: Counter[str] = Counter()
        self.failures: dict[str, list[int]] = {}

    @property
    def compiled(self) -> float:
        refused = self.answers["does not compile"] + self.answers["no program"]
        return 1 - refused / max(self.expressions, 1)


def run(seed: int, start: int, count: int) -> Outcome:
    """Run expressions `start` to `start + count` of a seed."""
    allow_deep_recursion()
    _load_everything()
    watch = Watch()
    outcome = Outcome()
    for number in range(start, start + count):
        case = HostileCase(random.Random(f"{seed}/{number}"))
        outcome.expressions += 1
        try:
            outcome.answers[_ask(case, watch)] += 1
            if watch.violations:
                raise AssertionError(watch.violations.pop())
        except Exception:  # noqa: BLE001 - any of them is what is looked for
            outcome.answers["failure"] += 1
            outcome.failures.setdefault(traceback.format_exc(limit=-2), []).append(number)
            watch.violations.clear()
    return outcome


def _load_everything() -> None:
    """Imports what evaluation imports when it is first needed: while it is watched it must not import anything."""
    for package in (deviceselectors, resourceapi):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    for name in (
        "_strptime",
        "datetime",
        "encodings.idna",
        "re2",
        "stringprep",
        "struct",
    ):
        importlib.import_module(name)
    zones.zone("UTC")


def _ask(case: HostileCase, watch: Watch) -> str:
    """A word for the answer, on which both ways of evaluating agree."""
    compiled = compile_expression(case.expression, _ENVIRONMENT)
    if compiled.ast is None:
        return "does not compile"
    device = prepare_device(case.device, case.device["driver"])
    explainer = Explainer(compiled.ast) if case.pick.random() < _EXPLAINED else None
    with watch.watching():
        try:
            program = Program(compiled.ast)
        except ProgramError:
            return "no program"
        result = program.evaluate(device)
        matched = _matched(program, device)
        if explainer is not None:
            explainer.explain(device)
    if matched != (result.value, result.error):
        raise AssertionError(
            f"{matched} without counting, {(result.value, result.error)} with it: {case.expression!r}"
        )
    is_bounded = device.plain and program.cost_bound < COST_LIMIT
    if is_bounded and result.cost is not None and result.cost > program.cost_bound:
        raise AssertionError(f"cost {result.cost}, bound {program.cost_bound}: {case.expression!r}")
    return "error" if result.error is not None else str(result.value).lower()


def _matched(program: Program, device: Device) -> tuple[bool | None, str | None]:
    try:
        return program.matches(device), None
    except EvaluationError as error:
        return None, str(error)


def main() -> int:
    arguments: Any = argparse.ArgumentParser(prog="python -m tests.fuzz.expressions")
    arguments.add_argument("--count", type=int, default=1_000_000)
    arguments.add_argument("--from", type=int, default=0, dest="start")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    gc.set_threshold(100_000)  # as the command does
    began = time.process_time()
    outcome = run(options.seed, options.start, options.count)
    seconds = time.process_time() - began
    for text, numbers in outcome.failures.items():
        print(f"--- {len(numbers)} expressions, the first of them {numbers[0]}\n{text}")
    print("answers:", ", ".join(f"{answer} {times}" for answer, times in outcome.answers.most_common()))
    print(
        f"{outcome.expressions} expressions, {outcome.compiled:.1%} compiled, {outcome.answers['failure']} failures, "
        f"{outcome.expressions / max(seconds, 1e-9):.0f} per second of processor time"
    )
    return 0 if not outcome.failures and outcome.compiled >= MIN_COMPILED else 1


if __name__ == "__main__":
    sys.exit(main())
