"""`python -m tests.fuzz.growth`: does anything take more than twice the time for a text of twice the length?

Every function and operator that the libraries declare is called with texts made of one hostile fragment over and over,
and expressions as long as the API allows are compiled, evaluated with and without counting, and explained. What an evaluation is
charged for, cost and effort, has limits of its own; so time may grow as much as the charge does, and 2.5 times where
the charge doubles or stays. Three sizes are compared, as another way of the parser, or another outcome, may begin between two of
them. Exit status 1 if anything grows faster, or takes more than a second.

Other processes make a measurement longer, never shorter. So the least of some runs counts, more runs are made before
anything fails, and what is too quick to be measured at the greatest size does not grow by its square.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from deviceselectors import types as static
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer
from deviceselectors.libraries.calls import resolve
from deviceselectors.libraries.function import Overload
from deviceselectors.parser import allow_deep_recursion
from deviceselectors.runtime import effort
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import COST_LIMIT, EvaluationError, Program, ProgramError
from deviceselectors.runtime.values import CelError, CelPanic
from tests.fuzz import arguments

FRAGMENTS: list[str] = json.loads((Path(__file__).parent / "fragments.json").read_text(encoding="utf-8"))
FORMS: list[str] = json.loads((Path(__file__).parent / "forms.json").read_text(encoding="utf-8"))

#: What work is charged, and a word for its outcome.
Done = tuple[float, str]
#: Prepares work of a size; what it gives does the work.
Work = Callable[[int], Callable[[], Done]]

_MOST = 2.5
#: What takes so many seconds is measured well; at the greatest size, what takes less does no harm.
_MEASURABLE = 0.03
_LONGEST = 1.0
_SMALLEST = 1 << 10
_LARGEST = 1 << 16
#: The length of an expression of the API. What nests is refused at this length and at a quarter of it.
LONGEST_EXPRESSION = 10 * 1024
_RUNS = (1, 3, 9, 27)
_STEPS_PER_UNIT = 5

_ENVIRONMENTS = (Environment("stored"), Environment("new"))
_DEVICE = prepare_device(
    {"name": "d", "attributes": {"s": {"string": "a" * 64}}, "capacity": {"c": {"value": "1Gi"}}},
    "d.example.com",
)


def problem(work: Work, size: int = _SMALLEST, largest: int = _LARGEST) -> str:
    """What is wrong with the time that work takes; nothing if it is all right. It is measured from a size on."""
    while _measured(work, size, 1)[0] < _MEASURABLE:
        if size == largest:
            return ""
        size = min(size * 8, largest)
    found = ""
    for runs in _RUNS:
        times = [_measured(work, part, runs) for part in (size // 4, size // 2, size)]
        ratio = min(_ratio(times[0], times[1]), _ratio(times[1], times[2]))
        longest = times[2][0]
        found = f"takes {longest:.1f} s at size {size}" if longest > _LONGEST else ""
        if ratio > _MOST:
            found = f"takes {ratio:.1f} times as long for twice the size, {longest:.4f} s at {size}"
        if not found:
            break
    return found


_Measured = tuple[float, float, str]


def _ratio(small: _Measured, large: _Measured) -> float:
    """How much longer the larger work takes, beyond what it is charged; 0 if it comes to something else."""
    return large[0] / small[0] / max(1.0, large[1] / small[1] / 2) if small[2] == large[2] else 0.0


def _measured(work: Work, size: int, runs: int) -> _Measured:
    """The least time in seconds, what was charged, and the outcome."""
    do = work(size)
    least, charged, outcome = float("inf"), 1.0, ""
    # the garbage collector goes through whatever else there is
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(runs):
            start = time.thread_time()
            charged, outcome = do()
            least = min(least, time.thread_time() - start)
    finally:
        if was_enabled:
            gc.enable()
    return max(least, 1e-6), max(charged, 1.0), outcome


# ---------------------------------------------------------------- functions


def _called(name: str, overload: Overload, fragment: str, tail: str, shape: int) -> Work:
    """A call of a function, without any expression around it; the tail spoils what the fragments make."""
    call, cost = resolve(name, (overload.id,)), overload.cost

    def text(size: int) -> str:
        return fragment * (size // len(fragment)) + tail

    def prepare(size: int) -> Callable[[], Done]:
        values = arguments.make(name, overload, size, text, shape)

        def do() -> Done:
            effort.begin()
            charged, outcome = 1, "a value"
            try:
                charged = 1 if cost is None else cost if isinstance(cost, int) else cost(*values)
                if charged <= COST_LIMIT:
                    call(*values)
            except (CelError, CelPanic) as error:
                outcome = error.__class__.__name__
            return charged + effort.spent() / _STEPS_PER_UNIT, outcome

        return do

    return prepare


_MADE_OF_TEXT = frozenset((static.STRING, static.BYTES, static.OPAQUE))


def _takes_text(overload: Overload) -> bool:
    return any(part.kind in _MADE_OF_TEXT for part in overload.arguments)


def calls(pick: random.Random, count: int) -> Iterator[tuple[str, Work]]:
    """Calls of every function, with so many of the fragments each if they matter to it."""
    for name, overload in arguments.calls():
        fragments = (
            pick.sample(FRAGMENTS, min(count, len(FRAGMENTS))) if _takes_text(overload) else ["a", "b"]
        )
        for number, fragment in enumerate(fragments):
            for tail in ("", "!"):
                work = _called(name, overload, fragment, tail, number)
                yield f"{overload.id} of {fragment!r} and {tail!r}", work


# ---------------------------------------------------------------- expressions

_NUMBERS = itertools.count()
#: Lines and columns of errors.
_ELSEWHERE = re.compile("[0-9]+")


def _expression(form: str, fragment: str, size: int) -> str:
    """A form of about that length: `{text}` is a literal of the fragment over and over, what is between `<<` and `>>` is repeated."""
    before, _, rest = form.partition("<<")
    repeated, _, after = rest.partition(">>")
    if not repeated:
        made = fragment * ((size - len(form)) // len(json.dumps(fragment)[1:-1] or "x"))
        return form.replace("{text}", json.dumps(made, ensure_ascii=False)).replace("{raw}", made)
    opening, _, closing = repeated.partition("<>")
    count = (size - len(before + after)) // len(opening + closing)
    return before + opening * count + closing * count + after


def compiling(form: str, fragment: str) -> Work:
    def prepare(size: int) -> Callable[[], Done]:
        expression = _expression(form, fragment, size)

        def do() -> Done:
            # what is remembered of expressions is not measured
            anew = (
                f"{expression} {next(_NUMBERS)}" if "//" in expression else f"{expression} //{next(_NUMBERS)}"
            )
            outcome = ""
            for environment in _ENVIRONMENTS:
                compiled = compile_expression(anew, environment)
                outcome += _ELSEWHERE.sub("", compiled.error or "compiles")[:60]
                if compiled.ast is not None:
                    with suppress(ProgramError):
                        Program(compiled.ast)
            return 1.0, outcome

        return do

    return prepare


def _evaluated(form: str, fragment: str, how: str) -> Work:
    def prepare(size: int) -> Callable[[], Done]:
        compiled = compile_expression(_expression(form, fragment, size), _ENVIRONMENTS[0])
        if compiled.ast is None:
            return lambda: (1.0, "")
        try:
            program = Program(compiled.ast)
        except ProgramError:
            return lambda: (1.0, "")
        explainer = Explainer(compiled.ast) if how == "explained" else None

        def do() -> Done:
            if explainer is not None:
                explainer.explain(_DEVICE)
            if how == "uncounted":
                with suppress(EvaluationError):
                    program.matches(_DEVICE)
            result = program.evaluate(_DEVICE)
            return (result.cost or 0) + effort.spent() / _STEPS_PER_UNIT, str(result.error)[:40]

        do()  # what is made with the first evaluation
        return do

    return prepare


def expressions(pick: random.Random, count: int) -> Iterator[tuple[str, Work]]:
    """Each form of expressions, with so many of the fragments: compiled, and evaluated in each way."""
    for form in FORMS:
        for fragment in pick.sample(FRAGMENTS, count) if "<<" not in form else [""]:
            yield f"compile {form} of {fragment!r}", compiling(form, fragment)
            for how in ("counted", "uncounted", "explained"):
                yield f"{how} {form} of {fragment!r}", _evaluated(form, fragment, how)


def run(seed: int, fragments: int, per_form: int) -> tuple[int, list[str]]:
    """How many were asked, and what grows faster than it is charged for."""
    allow_deep_recursion()
    pick = random.Random(seed)
    asked, failures = 0, []
    for source, sizes in (
        (calls(pick, fragments), (_SMALLEST, _LARGEST)),
        (expressions(pick, per_form), (LONGEST_EXPRESSION, LONGEST_EXPRESSION)),
    ):
        for name, work in source:
            asked += 1
            found = problem(work, *sizes)
            if found:
                failures.append(f"{name}: {found}")
    return asked, failures


def main() -> int:
    parser: Any = argparse.ArgumentParser(prog="python -m tests.fuzz.growth")
    parser.add_argument("--fragments", type=int, default=12, help="for each function")
    parser.add_argument("--per-form", type=int, default=1, help="fragments for each form of expressions")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.process_time()
    asked, failures = run(options.seed, options.fragments, options.per_form)
    for failure in failures:
        print(failure)
    print(f"{asked} asked, {len(failures)} failures, {time.process_time() - began:.0f} s of processor time")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
