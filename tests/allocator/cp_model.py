"""Whether a scene can be served, by a constraint solver: one variable for each device in each option of a request."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.allocator.scenes import Claim, Option, Scene


def is_feasible(scene: Scene, seconds: float = 60) -> bool | None:
    """Whether a scene has a solution; None if the solver does not decide that in time."""
    from ortools.sat.python import (
        cp_model,  # brings pandas with it, which is not for every process that collects tests
    )

    model = cp_model.CpModel()
    uses: dict[str, list[tuple[Any, int]]] = defaultdict(list)
    for number, claim in enumerate(scene.claims):
        _add_claim(model, scene, claim, f"c{number}", uses)
    by_name = {part.name: part for part in scene.parts}
    for name, taken in uses.items():
        if by_name[name].memory:
            model.add(sum(memory * variable for variable, memory in taken) <= by_name[name].memory)
        else:
            model.add_at_most_one(variable for variable, _ in taken)
    for name, counters in scene.counters.items():
        for counter, available in counters.items():
            drawn = [
                by_name[part].draws[name].get(counter, 0) * variable
                for part, taken in uses.items()
                if name in by_name[part].draws
                for variable, _ in taken
            ]
            model.add(sum(drawn) <= available)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return True
    return False if status == cp_model.INFEASIBLE else None


def _add_claim(
    model: Any, scene: Scene, claim: Claim, name: str, uses: dict[str, list[tuple[Any, int]]]
) -> None:
    taken: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    total = []
    for request in claim.requests:
        chosen = [model.new_bool_var(f"{name}-{request.name}-{w}") for w in range(len(request.options))]
        model.add_exactly_one(chosen)
        for option, choice in zip(request.options, chosen, strict=True):
            variables = []
            for part in _fitting(scene, option):
                variable = model.new_bool_var("")
                variables.append(variable)
                uses[part.name].append((variable, option.memory or 1))
                taken[request.name].append((part, variable))
            model.add(sum(variables) == option.count * choice)
            total += variables
    model.add(sum(total) <= 32)
    for rule in claim.rules:
        bound = [entry for each in rule.requests for entry in taken[each]]
        _add_rule(model, rule.attribute, rule.distinct, bound)


def _fitting(scene: Scene, option: Option) -> list[Any]:
    return [
        part
        for part in scene.parts
        if all(part.attributes.get(key) == value for key, value in option.select.items())
    ]


def _add_rule(model: Any, attribute: str, distinct: bool, bound: list[tuple[Any, Any]]) -> None:
    by_value = defaultdict(list)
    for part, variable in bound:
        if attribute not in part.attributes:
            model.add(variable == 0)
        else:
            by_value[part.attributes[attribute]].append(variable)
    if distinct:
        for variables in by_value.values():
            model.add_at_most_one(variables)
        return
    chosen = {value: model.new_bool_var("") for value in by_value}
    model.add_at_most_one(chosen.values())
    for value, variables in by_value.items():
        for variable in variables:
            model.add_implication(variable, chosen[value])
