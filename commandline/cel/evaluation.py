"""What there is to say about one expression: the server's verdict, and the outcome on devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer, Reason
from deviceselectors.interface import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES, Compiler
from deviceselectors.runtime.program import COST_LIMIT, Program, ProgramError, Result
from resourceapi import limits
from resourceapi.field_errors import TOO_LONG

if TYPE_CHECKING:
    from advice.lints.expressions import Remark
    from resourceapi.field_errors import FieldError
    from resourceapi.releases import Profile
    from validation.inventory import Inventory, Named

#: Outcomes, in the order of reports.
MATCH, NO_MATCH, FAILED = "match", "no match", "failed"
OUTCOMES = (MATCH, NO_MATCH, FAILED)
_V1 = "resource.k8s.io/v1"


class Group:
    """Devices on which the expression gives the same, for the same reasons.

    `value` is the match, or for a derived attribute the attribute; `error` the text of a failure, as kube-scheduler
    has it. `costs` are the least and the greatest actual cost, None where the evaluation did not begin.
    """

    __slots__ = ("costs", "error", "members", "outcome", "reasons", "value")

    def __init__(self, outcome: str, value: Any, error: str | None, reasons: list[Reason]) -> None:
        self.outcome = outcome
        self.value = value
        self.error = error
        self.reasons = reasons
        self.costs: tuple[int, int] | None = None
        self.members: list[Named] = []

    def add(self, members: list[Named], cost: int | None) -> None:
        self.members += members
        if cost is not None:
            least, greatest = self.costs or (cost, cost)
            self.costs = min(least, cost), max(greatest, cost)


class Judgement:
    """The verdict on an expression, and the groups of devices if there were any.

    `problem` is the server's field error, None if it takes the expression, and `hint` how to mend that, if known.
    `remarks` are what lints say about a selector by itself. `type` is None for one that does not
    compile; `max_cost` is then meaningless. `groups` is None where no devices were given.
    """

    __slots__ = (
        "cost_limit",
        "derived",
        "expression",
        "groups",
        "hint",
        "locations",
        "max_cost",
        "problem",
        "remarks",
        "type",
    )

    def __init__(self, expression: str, derived: bool) -> None:
        self.expression = expression
        self.derived = derived
        self.problem: FieldError | None = None
        self.hint = ""
        self.remarks: list[Remark] = []
        self.type: str | None = None
        self.max_cost = 0
        self.cost_limit = limits.CEL_EXPRESSION_COST
        if derived:
            self.cost_limit = min(self.cost_limit, limits.DERIVED_ATTRIBUTES_COST)
        #: line, column and message of each error in the source
        self.locations: list[tuple[int, int, str]] = []
        self.groups: list[Group] | None = None

    @property
    def is_good(self) -> bool:
        """Whether the server takes the expression and, if there are devices, it matches one."""
        if self.problem is not None:
            return False
        return self.groups is None or any(group.outcome == MATCH for group in self.groups)

    def count(self, outcome: str) -> int:
        return sum(len(group.members) for group in self.groups or () if group.outcome == outcome)


def judge(
    expression: str, profile: Profile, *, derived: bool, inventory: Inventory | None = None
) -> Judgement:
    """Compile an expression as kube-apiserver does in a request, and evaluate it as kube-scheduler does."""
    judgement, gates = Judgement(expression, derived), profile.gates
    judgement.problem, _ = Compiler().check(expression, ("expression",), gates, derived=derived)
    if judgement.problem is not None:
        judgement.hint = _hint(judgement.problem, expression, profile)
        if judgement.problem.kind == TOO_LONG:
            return judgement
    environment = Environment(
        consumable_capacity=CONSUMABLE_CAPACITY in gates,
        list_attributes=LIST_ATTRIBUTES in gates,
        derived=derived,
    )
    compiled = compile_expression(expression, environment)
    judgement.locations = compiled.issues.locations()
    if compiled.output_type is None:
        return judgement
    judgement.type = compiled.output_type.output
    judgement.max_cost = compiled.max_cost
    if not derived and judgement.problem is None:
        from advice.lints.expressions import read

        linted = read(expression, environment)
        judgement.remarks = [] if linted is None else linted.remarks
    if inventory is not None and judgement.problem is None:
        judgement.groups = _evaluate(expression, inventory, derived=derived)
    return judgement


def _hint(problem: FieldError, expression: str, profile: Profile) -> str:
    """The hint that `validate` gives for the expression as a class's selector."""
    from advice.hints import hint_for
    from advice.hints.problem import Problem

    selectors = [{"cel": {"expression": expression}}]
    device_class = {"apiVersion": _V1, "kind": "DeviceClass", "spec": {"selectors": selectors}}
    path = ("spec", "selectors", 0, "cel", "expression")
    return hint_for(Problem(problem.kind, problem.message, path, device_class, profile))[1]


def _evaluate(expression: str, inventory: Inventory, *, derived: bool) -> list[Group]:
    root = compile_expression(expression, Environment("stored", derived=derived)).ast
    assert root is not None  # what new requests may use, stored objects may as well
    try:
        program = Program(root, derived=derived)
    except ProgramError as error:
        group = Group(FAILED, None, str(error), [])
        for alike in inventory.groups:
            group.add(alike.members, None)
        return [group]
    explainer = Explainer(root)
    found: dict[tuple[Any, ...], Group] = {}
    for alike in inventory.groups:
        result = program.evaluate(alike.device)
        outcome = _outcome(result, derived)
        reasons = [] if outcome == MATCH else explainer.explain(alike.device)
        key = (outcome, repr(result.value), result.error, *map(str, reasons))
        group = found.setdefault(key, Group(outcome, result.value, result.error, reasons))
        group.add(alike.members, result.cost)
    return sorted(found.values(), key=lambda group: (OUTCOMES.index(group.outcome), -len(group.members)))


def _outcome(result: Result, derived: bool) -> str:
    if result.error is not None:
        return FAILED
    return MATCH if derived or result.value else NO_MATCH


__all__ = ["COST_LIMIT", "FAILED", "MATCH", "NO_MATCH", "OUTCOMES", "Group", "Judgement", "judge"]
