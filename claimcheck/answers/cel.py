"""Compiles one CEL expression as kube-apiserver does, and evaluates it on devices as kube-scheduler does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer, Reason
from deviceselectors.interface import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES, Compiler
from deviceselectors.lookups import mentioned
from deviceselectors.runtime.program import COST_LIMIT, Program, ProgramError, Result
from resourceapi import limits
from resourceapi.field_errors import TOO_LONG

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advice.device_inventory import DeviceInventory
    from advice.lints.expressions import Remark
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


class Group:
    """Devices on which the expression has the same result for the same reasons.

    :param outcome: one of ``OUTCOMES``.
    :param value: the result: a boolean, or the value of a derived attribute.
    :param error: kube-scheduler's message if the evaluation failed.
    :param reasons: why a selector does not match.
    """

    __slots__ = ("costs", "error", "members", "outcome", "patched", "reasons", "value")

    def __init__(self, outcome: str, value: Any, error: str | None, reasons: list[Reason]) -> None:
        self.outcome = outcome
        self.value = value
        self.error = error
        self.reasons = reasons
        #: the lowest and the highest actual cost; None if the expression could not be evaluated at all
        self.costs: tuple[int, int] | None = None
        self.members: list[DeviceId] = []
        #: what patches have given to the first of them, or removed, of that which the expression looks up
        self.patched: tuple[PatchedValue, ...] = ()

    def add(self, members: list[DeviceId], cost: int | None) -> None:
        """Add devices, each of which has this actual cost."""
        self.members += members
        if cost is not None:
            least, greatest = self.costs or (cost, cost)
            self.costs = min(least, cost), max(greatest, cost)


class Evaluation:
    """The verdict on an expression, and its results on devices."""

    __slots__ = (
        "cost_limit",
        "derived",
        "error",
        "expression",
        "groups",
        "hint",
        "locations",
        "max_cost",
        "remarks",
        "type",
    )

    def __init__(self, expression: str, derived: bool) -> None:
        self.expression = expression
        self.derived = derived
        #: the server's error; None if it accepts the expression
        self.error: FieldError | None = None
        #: how to fix the error, if known
        self.hint = ""
        #: findings of lints
        self.remarks: list[Remark] = []
        #: the type of the result; None if the expression does not compile, and then ``max_cost`` means nothing
        self.type: str | None = None
        self.max_cost = 0
        self.cost_limit = limits.CEL_EXPRESSION_COST
        if derived:
            self.cost_limit = min(self.cost_limit, limits.DERIVED_ATTRIBUTES_COST)
        #: line, column and message of each error in the source
        self.locations: list[tuple[int, int, str]] = []
        #: the devices by result; None if no devices were given
        self.groups: list[Group] | None = None

    @property
    def is_good(self) -> bool:
        """Whether the server accepts the expression and, if there are devices, at least one matches."""
        if self.error is not None:
            return False
        return self.groups is None or any(group.outcome == MATCH for group in self.groups)

    def count(self, outcome: str) -> int:
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
    evaluation, gates = Evaluation(expression, derived), profile.gates
    evaluation.error, _ = Compiler().check(expression, ("expression",), gates, profile.minor, derived=derived)
    if evaluation.error is not None:
        evaluation.hint = _hint(evaluation.error, expression, profile)
        if evaluation.error.kind == TOO_LONG:
            return evaluation
    environment = Environment(
        consumable_capacity=CONSUMABLE_CAPACITY in gates,
        list_attributes=LIST_ATTRIBUTES in gates,
        derived=derived,
    )
    compiled = compile_expression(expression, environment)
    evaluation.locations = compiled.issues.locations()
    if compiled.output_type is None:
        return evaluation
    evaluation.type = compiled.output_type.output
    evaluation.max_cost = compiled.max_cost
    if not derived and evaluation.error is None:
        from advice.lints.expressions import read

        linted = read(expression, environment)
        evaluation.remarks = [] if linted is None else linted.remarks
    if inventory is not None and evaluation.error is None:
        evaluation.groups = _evaluate(expression, inventory, derived=derived)
        if patched is not None:
            _name_patches(evaluation.groups, compiled.ast, patched)
    return evaluation


def _name_patches(groups: Iterable[Group], root: Node | None, patched: Inventory) -> None:
    from allocator.explaining.patched_values import MOST_DEVICES, patched_values

    names = mentioned(root) if root is not None else ()
    for group in groups:
        group.patched = patched_values(patched, group.members[:MOST_DEVICES], names)


def _hint(problem: FieldError, expression: str, profile: Profile) -> str:
    """The hint that ``validate`` gives for the same expression in a DeviceClass."""
    from advice.hints import hint_for
    from advice.hints.problem import Problem

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
        group = Group(FAILED, None, str(error), [])
        for devices in inventory.groups:
            group.add(devices.members, None)
        return [group]
    explainer = Explainer(root)
    found: dict[tuple[Any, ...], Group] = {}
    for devices in inventory.groups:
        device = devices.properties.prepared
        result = program.evaluate(device)
        outcome = _outcome(result, derived)
        reasons = [] if outcome == MATCH else explainer.explain(device)
        key = (outcome, repr(result.value), result.error, *map(str, reasons))
        group = found.setdefault(key, Group(outcome, result.value, result.error, reasons))
        group.add(devices.members, result.cost)
    return sorted(found.values(), key=lambda group: (OUTCOMES.index(group.outcome), -len(group.members)))


def _outcome(result: Result, derived: bool) -> str:
    if result.error is not None:
        return FAILED
    return MATCH if derived or result.value else NO_MATCH


__all__ = ["COST_LIMIT", "FAILED", "MATCH", "NO_MATCH", "OUTCOMES", "Evaluation", "Group", "evaluate"]
