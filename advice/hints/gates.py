"""Hints for fields that are dropped before they are checked, because their feature gate is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.hints import schema_walk
from advice.hints.hint import Hint
from advice.hints.problem import Problem
from resourceapi.field_errors import INVALID, NOT_FOUND, NOT_SUPPORTED, REQUIRED
from resourceapi.field_path import Path
from resourceapi.gates import GATES, stage_of
from resourceapi.manifests import MISSING, value_at
from resourceapi.releases import NEWEST, PROPOSALS, PROPOSED_GATES, Profile
from resourceapi.schema import Field

CAUSES = (REQUIRED, INVALID, NOT_FOUND, NOT_SUPPORTED)


def explain(gate: str, profile: Profile) -> str:
    """``feature gate X is off in 1.35 (on by default from 1.36)``."""
    stage = stage_of(gate, profile.minor)
    if stage is None:
        return f"feature gate {gate} does not exist in {profile.name} ({_history(gate)})"
    if stage.default or (profile.name == PROPOSALS and gate in PROPOSED_GATES):
        return f"feature gate {gate} is turned off by these settings"
    return f"feature gate {gate} is off in {profile.name} ({_history(gate)})"


def _history(gate: str) -> str:
    first_on = next((stage.minor for stage in GATES[gate] if stage.default), None)
    if first_on is not None:
        return f"on by default from 1.{first_on}"
    return f"off by default up to 1.{NEWEST}; turn it on with --feature-gates {gate}=true"


def gates_that_are_off(field: Field, profile: Profile) -> list[str]:
    """The gates that keep a field from being kept."""
    return [gate for gate in field.gates if gate not in profile.gates]


def _dropped_here(problem: Problem) -> str:
    """An error about a struct, or about one of its fields: was something next to it dropped?"""
    for path in (problem.path, problem.path[:-1]):
        for field, gate in _written_but_off(problem, path):
            return f"`{field}` is dropped before this check: {explain(gate, problem.profile)}"
    return ""


def _dropped_subrequest(problem: Problem) -> str:
    value = problem.value
    if not isinstance(value, str) or "/" not in value or "DRAPrioritizedList" in problem.profile.gates:
        return ""
    return f"alternatives are dropped before this check: {explain('DRAPrioritizedList', problem.profile)}"


def _written_but_off(problem: Problem, path: Path) -> Iterator[tuple[str, str]]:
    written: Any = value_at(problem.object, path)
    schema = problem.schema
    if schema is None or written is MISSING or not isinstance(written, dict):
        return
    struct = schema_walk.struct_at(schema, problem.kind, path)
    for field in schema_walk.fields_of(schema, struct) if struct is not None else ():
        if field.name in written:
            for gate in gates_that_are_off(field, problem.profile):
                yield field.name, gate


HINTS = (
    Hint(
        "dropped-subrequest",
        (INVALID,),
        _dropped_subrequest,
        place=r"(constraints|config)\[\]\.requests\[\]$",
    ),
    Hint("dropped-field", CAUSES, _dropped_here),
)
