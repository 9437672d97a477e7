"""Hints for fields that are dropped before they are checked, because their feature gate is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.hints import schema_walk
from advice.hints.hint import Hint, Problem
from resourceapi.decoding import fields_of
from resourceapi.field_errors import INVALID, NOT_FOUND, NOT_SUPPORTED, REQUIRED, Path
from resourceapi.gates import DEPENDS_ON, GATES, UNRELEASED_GATES, GateError, effective, stage_of
from resourceapi.manifests import value_at
from resourceapi.measured import NEWEST
from resourceapi.releases import PROPOSALS, PROPOSED_GATES, Profile
from resourceapi.schema import Field

CAUSES = (REQUIRED, INVALID, NOT_FOUND, NOT_SUPPORTED)


def explain(gate: str, profile: Profile) -> str:
    """``feature gate X is off in 1.35 (on by default from 1.36)``."""
    if gate in UNRELEASED_GATES:
        return f"feature gate {gate} is turned off by these settings"
    stage = stage_of(gate, profile.minor)
    if stage is None:
        return f"feature gate {gate} does not exist in {profile.name} ({_future(gate)})"
    if stage.default or (profile.name == PROPOSALS and gate in PROPOSED_GATES):
        return f"feature gate {gate} is turned off by these settings"
    first_on = _first_release_with(gate)
    history = f"on by default from 1.{first_on}" if first_on else f"off by default up to 1.{NEWEST}"
    settings = "" if first_on else _settings(gate, profile)
    advice = f"; turn it on with --feature-gates {settings}" if settings else ""
    return f"feature gate {gate} is off in {profile.name} ({history}{advice})"


def _first_release_with(gate: str) -> int | None:
    """The release (minor number) from which on a gate is on by default."""
    return next((stage.minor for stage in GATES[gate] if stage.default), None)


def _future(gate: str) -> str:
    """When a gate comes that a release does not have."""
    first_on, first = _first_release_with(gate), GATES[gate][0].minor
    if first_on is None:
        return f"it is there from 1.{first} on, off by default"
    return f"on by default from 1.{first_on}"


def _settings(gate: str, profile: Profile) -> str:
    """What turns a gate on, with the gates that it needs; empty if the release refuses that."""
    wanted, pending = dict[str, bool](), [gate]
    while pending:
        name = pending.pop()
        if name not in wanted and name not in profile.gates:
            wanted[name] = True
            pending += DEPENDS_ON.get(name, ())
    try:
        effective(profile.minor, wanted)
    except GateError:
        return ""
    return ",".join(f"{name}=true" for name in wanted)


def gates_that_are_off(field: Field, profile: Profile) -> list[str]:
    """The gates that keep a field from being kept."""
    return [gate for gate in field.gates if gate not in profile.gates and not field.kept]


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
    if not isinstance(written, dict) or (schema := problem.schema) is None:
        return
    struct = schema_walk.struct_at(schema, problem.kind, path)
    for field in fields_of(schema, struct.name).values() if struct is not None else ():
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
