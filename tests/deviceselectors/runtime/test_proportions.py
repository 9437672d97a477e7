"""What a function takes stays in proportion to what it is charged, however large its arguments are.

Each function of the declarations is called with arguments of doubling sizes. Charged are CEL's units and the effort
that the function reports itself (`deviceselectors.runtime.effort`), which both have a limit per evaluation. The work
is measured as CPU time, the least of several runs, over sizes so far apart that no noise hides what grows faster.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from deviceselectors.libraries import find, names
from deviceselectors.libraries.calls import resolve
from deviceselectors.libraries.function import Overload, Run
from deviceselectors.runtime import effort, regexes
from deviceselectors.runtime.values import CelError, CelPanic
from tests.fuzz import arguments

_SMALL, _FACTOR = 128, 64
#: How much more a unit may take at the greater size. What is quadratic without paying takes 64 times as much.
_MOST_GROWTH = 16
#: Steps of effort that weigh as much as a unit: an evaluation has 1,000,000 units and 5,000,000 steps.
_STEPS_PER_UNIT = 5
_RUNS = 3
_COST_LIMIT = 1_000_000
#: What is so quick is not measured well.
_NEGLIGIBLE = 30e-6

_CALLS = [pytest.param(name, overload, id=overload.id) for name, overload in arguments.calls()]


@pytest.mark.parametrize("name", [name for name in names() if name not in arguments.SYNTAX])
def test_every_declared_function_is_there(name: str) -> None:
    """Each overload that is declared can be computed, and a call that may be any of them."""
    ids = tuple([overload.id for overload in arguments.overloads(name)])
    for overload_id in ids:
        assert resolve(name, (overload_id,)) is not None
    assert resolve(name, ids) is not None


def test_syntax_is_computed_by_no_function() -> None:
    """What has closures of its own has no function that would never be called."""
    without = {
        name
        for name in names()
        if (function := find(name))
        and function.run is None
        and any(o.run is None for o in function.overloads)
    }
    assert without == arguments.SYNTAX - {"hasValue", "value"}


@pytest.mark.parametrize(("name", "overload"), _CALLS)
def test_work_is_in_proportion(name: str, overload: Overload) -> None:
    """64 times as large an argument takes hardly more time per unit, whatever the texts are made of."""
    for shape, text in enumerate(arguments.TEXTS):
        call = resolve(name, (overload.id,))
        cost = 1 if overload.cost is None else overload.cost
        small = _per_unit(call, cost, arguments.make(name, overload, _SMALL, text, shape))
        large = _per_unit(call, cost, arguments.make(name, overload, _SMALL * _FACTOR, text, shape))
        assert large <= small * _MOST_GROWTH, f"{text(12)!r}: {large / small:.0f} times"


def _per_unit(call: Run, cost: Any, values: list[Any]) -> float:
    """Seconds per unit of a call."""
    least = float("inf")
    units = 1.0
    for _ in range(_RUNS):
        effort.begin()
        start = time.thread_time()
        try:
            units = 1 + (cost if isinstance(cost, int) else cost(*values))
            if units < _COST_LIMIT:
                call(*values)
        except (CelError, CelPanic):
            pass
        least = min(least, time.thread_time() - start)
    return max(least, _NEGLIGIBLE) / (units + effort.spent() / _STEPS_PER_UNIT)


@pytest.mark.parametrize("pattern", ["a", "a.*b|a", "(a*b|a)", ".", "a+", "(?:aa)*b|a", "a{1,999}b|a"])
def test_all_matches_take_linear_effort(pattern: str) -> None:
    """Searches that read to the end of the text again and again are counted, and end in good time."""
    for size in (1 << 10, 1 << 14, 1 << 18):
        effort.begin()
        start = time.thread_time()
        compiled = regexes.compile_regex(pattern)
        try:
            found = len(compiled.find_all("a" * size))
            assert found in (1, size, size + 1)
        except CelPanic:
            # as each search counts, and each character that it may read for each instruction
            reads = min(size, compiled.longest) * compiled._size / regexes._INSTRUCTIONS_PER_STEP
            assert size * (regexes._PART + reads) > effort.LIMIT
        units = 1 + size * 0.1 * (len(pattern) + 3) // 4 + effort.spent() / _STEPS_PER_UNIT
        assert (time.thread_time() - start) / units < 500e-6
