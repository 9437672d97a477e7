"""Replays measured answers about CEL expressions: compiling, cost, evaluation on a device."""

from __future__ import annotations

import re
from typing import Any

from deviceselectors.compiler import Compiled, compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import COST_LIMIT, Program, ProgramError
from resourceapi import limits
from tests.conformance.answers import Case
from tests.conformance.comparison import Comparison

_PARSER = re.compile(r"Syntax error|recursion|lookahead|recovery")


def answer(case: Case) -> dict[str, Any]:
    """What the product answers to a line of `cel.jsonl`, in the form of its `expect`."""
    environment = Environment(case["env"], case["cc"], case["lt"], case["derived"])
    compiled = compile_expression(case["expr"], environment)
    answered: dict[str, Any] = {"maxCost": compiled.max_cost}
    if len(case["expr"].encode("utf-8", "surrogatepass")) > limits.CEL_EXPRESSION_BYTES:
        answered["tooLong"] = True
    if compiled.error is not None:
        return {**answered, "error": compiled.error, "errType": compiled.error_type}
    assert compiled.output_type is not None
    answered["outputType"] = compiled.output_type.output
    if case["device"] is not None:
        answered.update(_evaluated(case, compiled))
    return answered


def _evaluated(case: Case, compiled: Compiled) -> dict[str, Any]:
    assert compiled.ast is not None
    try:
        program = Program(compiled.ast, derived=case["derived"])
    except ProgramError as error:
        return {"evalErr": str(error)}
    device = case["device"]
    result = program.evaluate(prepare_device(device, device.get("driver", "")))
    answered: dict[str, Any] = {} if result.cost is None else {"actualCost": result.cost}
    if result.error is not None:
        return {**answered, "evalErr": result.error}
    return {**answered, "attribute" if case["derived"] else "match": result.value}


def outcome(answered: dict[str, Any]) -> str:
    """The outcome class of an answer: syntax, type, cost, runtime, match or nomatch."""
    if error := answered.get("error"):
        return "syntax" if _PARSER.search(error) else "type"
    if answered["maxCost"] > limits.CEL_EXPRESSION_COST or "actual cost limit" in answered.get("evalErr", ""):
        return "cost"
    if answered.get("evalErr"):
        return "runtime"
    return "match" if answered.get("match", True) else "nomatch"


def compare(case: Case, answered: dict[str, Any]) -> Comparison:
    """Same verdict: the same outcome class; same answer: every field that upstream answers reliably."""
    expected = case["expect"]
    unstable = set(expected.get("unstable", ()))
    parts = (expected.keys() | answered.keys()) - unstable - {"unstable"}
    differences = [
        (part, expected.get(part), answered.get(part))
        for part in sorted(parts)
        if expected.get(part) != answered.get(part)
    ]
    return Comparison(outcome(expected) == outcome(answered), not differences, differences)


__all__ = ["COST_LIMIT", "answer", "compare", "outcome"]
