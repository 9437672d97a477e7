"""The registry of CEL functions: what it knows without importing libraries is true, and a row is all that a function needs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deviceselectors import compiler, libraries, overload_resolution
from deviceselectors.compiler import compile_expression
from deviceselectors.cost import estimate
from deviceselectors.environment import Environment
from deviceselectors.libraries import actual_costs, estimates, strings
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import Program

_STORED = Environment("stored")


def _libraries_of(name: str) -> tuple[str, ...]:
    every = (libraries._FIRST, *libraries._LIBRARIES)
    return tuple(library for library in every if name in libraries._functions_of(library))


@pytest.mark.parametrize("name", libraries._FREQUENT)
def test_frequent_functions_are_in_these_libraries(name: str) -> None:
    """No other library has an overload of a function that is found without importing all."""
    assert _libraries_of(name) == libraries._FREQUENT[name]


@pytest.mark.parametrize("name", [name for name in libraries.names() if "." in name and name[0].isalpha()])
def test_namespaces_are_in_one_library(name: str) -> None:
    """A name with a dot is in the library of its namespace only."""
    assert _libraries_of(name) == (libraries._NAMESPACES[name.partition(".")[0]],)


def test_first_library_shares_no_function() -> None:
    """What is found there is not looked for elsewhere."""
    for name in libraries._functions_of(libraries._FIRST):
        assert _libraries_of(name) == (libraries._FIRST,)


def test_unknown_functions_are_not_remembered() -> None:
    """Names that users invent take no memory."""
    before = len(libraries._found)
    for number in range(100):
        assert libraries.find(f"unknown{number}") is None
        assert libraries.find(f"un.known{number}") is None
    assert len(libraries._found) == before


def test_function_of_several_libraries_has_the_overloads_of_all() -> None:
    """`string` is of conversions and of addresses; what is not by overload comes from the first that says it."""
    function = libraries.known("string")
    assert [overload.id for overload in function.overloads][-2:] == ["ip_to_string", "cidr_to_string"]
    assert function.call_cost(("ip_to_string",)) == 1
    assert function.folds


@pytest.fixture
def shout() -> Iterator[Function]:
    """A function that CEL does not have, as one more row of a library."""
    row = Function(
        "shout",
        Overload(".string_shout string > string", lambda text: text.upper() + "!"),
        estimate=estimates.transforms,
        cost=actual_costs.reads_target(),
    )
    functions = libraries._functions_of("strings")
    functions[row.name] = row
    yield row
    del functions[row.name]
    libraries._found.pop(row.name, None)
    compiler._cache.clear()
    overload_resolution._resolved.clear()


def test_a_row_is_all_that_a_function_needs(shout: Function) -> None:
    """It is checked, estimated, charged and computed."""
    assert shout not in strings.FUNCTIONS
    compiled = compile_expression('device.driver.shout() == "GPU.EXAMPLE.COM!"', _STORED)
    assert compiled.ast is not None, compiled.error
    assert estimate(compiled.ast) == 11  # 2 for the driver, 7 for its 63 characters, 2 for the comparison
    device = prepare_device({"name": "gpu-0"}, "gpu.example.com")
    program = Program(compiled.ast)
    assert program.matches(device)
    result = program.evaluate(device)
    assert (result.value, result.cost) == (True, 6)
    wrong = compile_expression("device.driver.shout(1) == 'x'", _STORED)
    assert "found no matching overload for 'shout' applied to 'string.(int)'" in (wrong.error or "")
