"""`python -m tests.bench.selectors`: times of selectors beside those of upstream's compiler and evaluator, in one run.

The selectors are the realistic ones of the measured answers, each evaluated on many distinct devices. Upstream converts
the device at every evaluation; Claimcheck prepares it once, and every evaluation bears its share of that: a device is
looked at with all selectors, as an allocator does. Errors count as evaluations, on both sides.

Medians and their ratios are printed, nothing is asserted: a shared machine is no judge.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from deviceselectors import compiler
from deviceselectors.environment import Environment
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import EvaluationError, Program
from tests.e2e import referee

_SELECTORS = 60
_DEVICES = 25
_ROUNDS = 7
_REPETITIONS = 100
_PEER_TIME = "2ms"


def main() -> None:
    if not referee.is_available():
        print("no comparison of selectors: the referee's sources are not there (CLAIMCHECK_SHARED)")
        return
    lines = (referee.shared() / "corpus" / "cel.jsonl").read_text().splitlines()
    cases = [case for case in map(json.loads, lines) if _is_realistic(case)]
    draw = random.Random(1)
    expressions = draw.sample(sorted({case["expr"] for case in cases}), _SELECTORS)
    devices = draw.sample([case["device"] for case in cases], _DEVICES)
    questions = [{"expr": e, "env": "stored", "lt": True, "device": d} for e in expressions for d in devices]
    peers = referee.ask(questions, "-bench", "-bench-time", _PEER_TIME)
    prepared, evaluated = _evaluations(expressions, devices)
    shares = [seconds + prepared / _SELECTORS for seconds in evaluated]
    match = [peer["matchNs"] * 1e-9 for peer in peers]
    print(
        f"{_SELECTORS} selectors on {_DEVICES} devices{'':22}{'claimcheck':>12}{'upstream':>12}{'ratio':>8}"
    )
    _print("evaluation, median", shares, match)
    print(f"{'':2}preparing a device once: {prepared * 1e6:.2f} us")
    _print(
        "compilation with cost, median", _compilations(expressions), [p["compileNs"] * 1e-9 for p in peers]
    )


def _is_realistic(case: dict[str, Any]) -> bool:
    return "-realistic-" in case["id"] and not case["derived"] and "outputType" in case["expect"]


def _evaluations(expressions: list[str], devices: list[dict[str, Any]]) -> tuple[float, list[float]]:
    """Seconds to prepare a device, the median, and for each evaluation."""
    prepare = [_time(lambda d=d: prepare_device(d, d["driver"])) for d in devices]  # type: ignore[misc]
    subjects = [prepare_device(d, d["driver"]) for d in devices]
    seconds = []
    for expression in expressions:
        compiled = compiler.compile_expression(expression, Environment("stored"))
        assert compiled.ast is not None
        program = Program(compiled.ast)
        seconds += [_time(lambda s=s, p=program: _match(p, s)) for s in subjects]  # type: ignore[misc]
    return statistics.median(prepare), seconds


def _match(program: Program, device: Any) -> bool:
    try:
        return program.matches(device)
    except EvaluationError:
        return False


def _compilations(expressions: list[str]) -> list[float]:
    environment = Environment("new", list_attributes=True)
    return [_time(lambda e=e: _compile(e, environment), 5) for e in expressions]  # type: ignore[misc]


def _compile(expression: str, environment: Environment) -> None:
    compiler._cache.clear()
    compiler.compile_expression(expression, environment)


def _time(work: Callable[[], object], repetitions: int = _REPETITIONS) -> float:
    """The least of some rounds, as anything else on the machine only adds."""
    work()
    best = float("inf")
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        for _ in range(repetitions):
            work()
        best = min(best, (time.perf_counter() - start) / repetitions)
    return best


def _print(title: str, ours: list[float], theirs: list[float]) -> None:
    mine, peers = statistics.median(ours), statistics.median(theirs)
    print(f"{title:48}{mine * 1e6:9.2f} us{peers * 1e6:9.2f} us{peers / mine:7.1f}x")


if __name__ == "__main__":
    main()
