"""Compiles one CEL expression as kube-apiserver does, and evaluates it on devices as kube-scheduler does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer, Reason
from deviceselectors.interface import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES, Compiler
from deviceselectors.lookups import mentioned
from deviceselectors.runtime.program import COST_LIMIT, Program, ProgramError, Result
from resourceapi import limits
from resourceapi.field_errors import TOO_LONG

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from advice.device_inventory import DeviceInventory
    from advice.lints.expressions import Remark
    from allocator.explaining.mistakes import Mistake
    from allocator.explaining.patched_values import PatchedValue
    from allocator.inventory import Inventory
    from deviceselectors.ast import Node
    from resourceapi.field_errors import FieldError
    from resourceapi.records.pools import DeviceId
    from resourceapi.releases import Profile

#: Outcomes, in the order of reports.
MATCH, NO_MATCH, FAILED = "match", "no match", "failed"
OUTCOMES = (MATCH, NO_MATCH, FAILED)
_V1 = "resource.k8s.io/v1"


class Group(NamedTuple):
    """Devices on which the expression has the same result for the same reasons.

    :param outcome: one of ``OUTCOMES``.
    :param value: the result: a boolean, or the value of a derived attribute.
    :param error: kube-scheduler's message if the evaluation failed.
    :param reasons: why a selector does not match.
    :param costs: the lowest and the highest actual cost; None if the expression could not be evaluated at all.
    :param patched: what patches have given to the first of them, or removed, of that which the expression looks up.
    """

    outcome: str
    value: Any
    error: str | None
    reasons: Sequence[Reason] = ()
    members: Sequence[DeviceId] = ()
    costs: tuple[int, int] | None = None
    patched: Sequence[PatchedValue] = ()


class Evaluation(NamedTuple):
    """The verdict on an expression, and its results on devices.

    :param error: the server's error; None if it accepts the expression.
    :param hint: how to fix the error; empty if that is not known.
    :param locations: line, column and message of each error in the source.
    :param type: the type of the result; None if the expression does not compile, and then ``max_cost`` means nothing.
    :param remarks: findings of lints.
    :param groups: the devices by result; None if no devices were given.
    :param mistakes: what is probably misspelt, if the expression matches no device.
    """

    expression: str
    derived: bool
    cost_limit: int
    error: FieldError | None = None
    hint: str = ""
    locations: Sequence[tuple[int, int, str]] = ()
    type: str | None = None
    max_cost: int = 0
    remarks: Sequence[Remark] = ()
    groups: Sequence[Group] | None = None
    mistakes: Sequence[Mistake] = ()

    @property
    def is_good(self) -> bool:
        """Whether the server accepts the expression and, if there are devices, at least one matches."""
        if self.error is not None:
            return False
        return self.groups is None or any(group.outcome == MATCH for group in self.groups)

    def devices_with(self, outcome: str) -> int:
        """The number of devices with this outcome."""
        return sum(len(group.members) for group in self.groups or () if group.outcome == outcome)


def evaluate(
    expression: str,
    profile: Profile,
    *,
    derived: bool,
    inventory: DeviceInventory | None = None,
    patched: Inventory | None = None,
) -> Evaluation:
    """Compile an expression as kube-apiserver does in a request, and evaluate it as kube-scheduler does.

    :param derived: whether it computes a derived attribute (KEP-4381) instead of a match.
    :param inventory: the devices on which to evaluate it.
    :param patched: the same with who gives them their values, if patches do.
    """
    gates = profile.gates
    error, _ = Compiler().check(expression, ("expression",), gates, profile.minor, derived=derived)
    hint = "" if error is None else _hint(error, expression, profile)
    limit = limits.CEL_EXPRESSION_COST
    if derived:
        limit = min(limit, limits.DERIVED_ATTRIBUTES_COST)
    answer = Evaluation(expression, derived, limit, error, hint)
    if error is not None and error.kind == TOO_LONG:
        return answer
    environment = Environment(
        consumable_capacity=CONSUMABLE_CAPACITY in gates,
        list_attributes=LIST_ATTRIBUTES in gates,
        derived=derived,
    )
    compiled = compile_expression(expression, environment)
    answer = answer._replace(locations=compiled.issues.locations())
    if compiled.output_type is None:
        return answer
    answer = answer._replace(type=compiled.output_type.output, max_cost=compiled.max_cost)
    if error is not None:
        return answer
    if not derived:
        from advice.lints.expressions import read

        linted = read(expression, environment)
        answer = answer._replace(remarks=() if linted is None else linted.remarks)
    if inventory is None:
        return answer
    groups = _evaluate(expression, inventory, derived=derived)
    if patched is not None:
        groups = _with_patches(groups, compiled.ast, patched)
    answer = answer._replace(groups=groups)
    return answer if answer.is_good else answer._replace(mistakes=_mistakes(compiled.ast, inventory, patched))


def _mistakes(root: Node | None, inventory: DeviceInventory, patched: Inventory | None) -> list[Mistake]:
    """What is probably misspelt in an expression that matches none of the devices."""
    from allocator.explaining.mistakes import in_selector

    devices = [each.properties.prepared for each in inventory.groups]
    published = [] if patched is None else patched.unpatched
    return [] if root is None else list(in_selector(root, devices, published))


def _with_patches(groups: Iterable[Group], root: Node | None, patched: Inventory) -> list[Group]:
    """The same, each with what patches have given to its devices."""
    from allocator.explaining.patched_values import MOST_DEVICES, patched_values

    names = mentioned(root) if root is not None else ()
    return [
        each._replace(patched=patched_values(patched, each.members[:MOST_DEVICES], names)) for each in groups
    ]


def _hint(problem: FieldError, expression: str, profile: Profile) -> str:
    """The hint that ``validate`` gives for the same expression in a DeviceClass."""
    from advice.hints import hint_for
    from advice.hints.hint import Problem

    selectors = [{"cel": {"expression": expression}}]
    device_class = {"apiVersion": _V1, "kind": "DeviceClass", "spec": {"selectors": selectors}}
    path = ("spec", "selectors", 0, "cel", "expression")
    return hint_for(Problem(problem.kind, problem.message, path, device_class, profile))[1].text


def _evaluate(expression: str, inventory: DeviceInventory, *, derived: bool) -> list[Group]:
    root = compile_expression(expression, Environment("stored", derived=derived)).ast
    assert root is not None  # what new requests may use, stored objects may as well
    try:
        program = Program(root, derived=derived)
    except ProgramError as error:
        members = [id for devices in inventory.groups for id in devices.members]
        return [Group(FAILED, None, str(error), members=members)]
    explainer = Explainer(root)
    found: dict[tuple[Any, ...], tuple[Group, list[DeviceId], list[int]]] = {}
    for devices in inventory.groups:
        device = devices.properties.prepared
        result = program.evaluate(device)
        outcome = _outcome(result, derived)
        reasons = [] if outcome == MATCH else explainer.explain(device)
        key = (outcome, repr(result.value), result.error, *map(str, reasons))
        group = Group(outcome, result.value, result.error, reasons)
        _, members, costs = found.setdefault(key, (group, [], []))
        members += devices.members
        if result.cost is not None:
            costs.append(result.cost)
    groups = [
        group._replace(members=members, costs=(min(costs), max(costs)) if costs else None)
        for group, members, costs in found.values()
    ]
    return sorted(groups, key=lambda group: (OUTCOMES.index(group.outcome), -len(group.members)))


def _outcome(result: Result, derived: bool) -> str:
    if result.error is not None:
        return FAILED
    return MATCH if derived or result.value else NO_MATCH


__all__ = ["COST_LIMIT", "FAILED", "MATCH", "NO_MATCH", "OUTCOMES", "Evaluation", "Group", "evaluate"]
