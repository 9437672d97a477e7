"""`python -m tests.fuzz.growth`: does anything take more than twice the time for a text of twice the length?

Every function and operator that the libraries declare is called with texts made of one hostile fragment over and over,
and expressions as long as the API allows are compiled, evaluated by each variant and explained. What an evaluation is
charged for, cost and effort, has limits of its own; so time may grow as much as the charge does, and 2.5 times where
the charge doubles or stays. Exit status 1 if anything grows faster.

Other processes make a measurement longer, never shorter. So the least of some runs counts, more runs are made before
anything fails, and what is too quick to be measured at the greatest size does not grow by its square.
"""

from __future__ import annotations

import argparse
import json
import random
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

#: Prepares work of a size; what it gives does the work, and tells what that is charged.
Work = Callable[[int], Callable[[], float]]

_MOST = 2.5
#: What takes so many seconds is measured well.
_MEASURABLE = 0.004
_SMALLEST = 1 << 10
_LARGEST = 1 << 16
#: The length of an expression of the API, in half of which it is measured first.
_LONGEST_EXPRESSION = 10 * 1024
_RUNS = (2, 5, 15, 45)
_STEPS_PER_UNIT = 5

_ENVIRONMENTS = (Environment("stored"), Environment("new"))
_DEVICE = prepare_device(
    {"name": "d", "attributes": {"s": {"string": "a" * 64}}, "capacity": {"c": {"value": "1Gi"}}},
    "d.example.com",
)


def growth(work: Work, largest: int = _LARGEST) -> float:
    """How much longer twice the work takes, if it is charged for no more than twice; 0 for what takes no time."""
    size = min(_SMALLEST, largest)
    while _measured(work, size, 1)[0] < _MEASURABLE:
        if size == largest:
            return 0.0
        size = min(size * 8, largest)
    ratio = 0.0
    for runs in _RUNS:
        (small, less), (large, more) = (_measured(work, part, runs) for part in (size // 2, size))
        ratio = large / small / max(1.0, more / less / 2)
        if ratio <= _MOST:
            break
    return ratio


def _measured(work: Work, size: int, runs: int) -> tuple[float, float]:
    """The least time in seconds, and what was charged."""
    do = work(size)
    least, charged = float("inf"), 1.0
    for _ in range(runs):
        start = time.thread_time()
        charged = do()
        least = min(least, time.thread_time() - start)
    return max(least, 1e-6), max(charged, 1.0)


# ---------------------------------------------------------------- functions


def _called(name: str, overload: Overload, fragment: str, tail: str, shape: int) -> Work:
    """A call of a function, without any expression around it; the tail spoils what the fragments make."""
    call, cost = resolve(name, (overload.id,)), overload.cost

    def text(size: int) -> str:
        return fragment * (size // len(fragment)) + tail

    def prepare(size: int) -> Callable[[], float]:
        values = arguments.make(name, overload, size, text, shape)

        def do() -> float:
            effort.begin()
            charged = 1
            try:
                charged = 1 if cost is None else cost if isinstance(cost, int) else cost(*values)
                if charged <= COST_LIMIT:
                    call(*values)
            except (CelError, CelPanic):
                pass
            return charged + effort.spent() / _STEPS_PER_UNIT

        return do

    return prepare


_MADE_OF_TEXT = frozenset((static.STRING, static.BYTES, static.DYN, static.TYPE_PARAMETER, static.OPAQUE))


def _takes_text(overload: Overload) -> bool:
    parts = [part for kind in overload.arguments for part in (kind, *kind.parameters)]
    return any(part.kind in _MADE_OF_TEXT for part in parts)


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


def _compiled(form: str, fragment: str) -> Work:
    def prepare(size: int) -> Callable[[], float]:
        expression = _expression(form, fragment, size)

        def do() -> float:
            for environment in _ENVIRONMENTS:
                compiled = compile_expression(expression, environment)
                if compiled.ast is not None:
                    with suppress(ProgramError):
                        Program(compiled.ast)
            return 1.0

        return do

    return prepare


def _evaluated(form: str, fragment: str, how: str) -> Work:
    def prepare(size: int) -> Callable[[], float]:
        compiled = compile_expression(_expression(form, fragment, size), _ENVIRONMENTS[0])
        if compiled.ast is None:
            return lambda: 1.0
        try:
            program = Program(compiled.ast)
        except ProgramError:
            return lambda: 1.0
        program._is_refused = how == "interpreted"
        explainer = Explainer(compiled.ast) if how == "explained" else None

        def do() -> float:
            if explainer is not None:
                explainer.explain(_DEVICE)
            if how == "fast":
                with suppress(EvaluationError):
                    program.matches(_DEVICE)
            cost = program.evaluate(_DEVICE).cost or 0
            return cost + effort.spent() / _STEPS_PER_UNIT

        do()  # what is made with the first evaluation
        return do

    return prepare


def expressions(pick: random.Random, count: int) -> Iterator[tuple[str, Work]]:
    """Each form of expressions, with so many of the fragments: compiled, and evaluated in each way."""
    for form in FORMS:
        for fragment in pick.sample(FRAGMENTS, count) if "<<" not in form else [""]:
            yield f"compile {form} of {fragment!r}", _compiled(form, fragment)
            for how in ("exact", "fast", "interpreted", "explained"):
                yield f"{how} {form} of {fragment!r}", _evaluated(form, fragment, how)


def run(seed: int, fragments: int, per_form: int) -> tuple[int, list[str]]:
    """How many were asked, and what grows faster than it is charged for."""
    allow_deep_recursion()
    pick = random.Random(seed)
    asked, failures = 0, []
    for source, largest in (
        (calls(pick, fragments), _LARGEST),
        (expressions(pick, per_form), _LONGEST_EXPRESSION),
    ):
        for name, work in source:
            asked += 1
            ratio = growth(work, largest)
            if ratio > _MOST:
                failures.append(f"{ratio:.1f} times: {name}")
    return asked, failures


def main() -> int:
    parser: Any = argparse.ArgumentParser(prog="python -m tests.fuzz.growth")
    parser.add_argument("--fragments", type=int, default=len(FRAGMENTS), help="for each function")
    parser.add_argument("--per-form", type=int, default=8, help="fragments for each form of expressions")
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
