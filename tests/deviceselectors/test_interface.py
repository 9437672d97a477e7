"""What validation learns about expressions, and how much of it is remembered."""

from __future__ import annotations

from deviceselectors.interface import Compiler
from resourceapi import limits
from resourceapi.field_errors import FORBIDDEN, INVALID, TOO_LONG

PATH = ("spec", "selectors", 0, "cel", "expression")
GATES = frozenset(("DRAConsumableCapacity",))


def _kind(compiler: Compiler, expression: str, *, derived: bool = False) -> str:
    error, _ = compiler.check(expression, PATH, GATES, derived=derived)
    return "" if error is None else error.kind


def test_verdicts_are_the_servers_kinds_of_errors() -> None:
    """Good, wrong, too costly and too long ones."""
    compiler = Compiler()
    assert _kind(compiler, 'device.driver == "gpu.example.com"') == ""
    assert _kind(compiler, "device.driver == 1") == INVALID
    assert _kind(compiler, "type(1) == int") == FORBIDDEN
    assert _kind(compiler, "a" * limits.CEL_EXPRESSION_BYTES) == INVALID
    assert _kind(compiler, "a" * (limits.CEL_EXPRESSION_BYTES + 1)) == TOO_LONG


def test_gates_and_purpose_are_part_of_what_is_remembered() -> None:
    """The same expression may be right in one place and wrong in another."""
    compiler = Compiler()
    shared = "device.allowMultipleAllocations"
    assert compiler.check(shared, PATH, GATES, derived=False)[0] is None
    assert compiler.check(shared, PATH, frozenset(), derived=False)[0] is not None
    assert _kind(compiler, "1") == INVALID
    assert _kind(compiler, "1", derived=True) == ""


def test_long_expressions_and_long_errors_are_not_remembered() -> None:
    """An error can be a hundred times as long as its expression; memory stays bounded."""
    compiler = Compiler()
    for expression in ("true", " " * 5_000 + "true", "1 + " * 60 + "!" * 40 + "$" * 99):
        compiler.check(expression, PATH, GATES, derived=False)
    assert [key[0] for key in compiler._known] == ["true"]
