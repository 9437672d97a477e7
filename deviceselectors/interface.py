"""What validation asks about CEL expressions: a field error in the server's words, and the estimated cost."""

from __future__ import annotations

from deviceselectors.environment import Environment, environment_of, environment_of_named_resources
from resourceapi import limits
from resourceapi.field_errors import FORBIDDEN, INTERNAL, INVALID, FieldError, Path, too_long
from resourceapi.measured import NEWEST

CONSUMABLE_CAPACITY, LIST_ATTRIBUTES = "DRAConsumableCapacity", "DRAListTypeAttributes"
_MAX_KNOWN = 4096
_MAX_KNOWN_LENGTH = 4096  # of expression and error text, which can be a hundred times as long
TOO_COMPLEX = "too complex, exceeds cost limit"

Verdict = tuple[str, str, int]
"""Kind of field error (empty: none), its detail, and the estimated cost of a derived attribute's expression."""


class Compiler:
    """Compiles every expression as kube-apiserver does, in the environment that its gates make; for any number of threads.

    Verdicts are remembered, as many as fit: the same expressions come again and again.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[str, Environment], Verdict] = {}

    def check(
        self,
        expression: str,
        path: Path,
        gates: frozenset[str],
        release: int = NEWEST,
        *,
        derived: bool,
        stored: bool = False,
    ) -> tuple[FieldError | None, int]:
        """What a server of release 1.``release`` finds wrong with the expression at ``path``, and its estimated cost.

        :param stored: whether the object has had it before the request.

        The cost is 0 if the expression has none, or is not that of a derived attribute: only those are added up.
        """
        environment = environment_of(
            CONSUMABLE_CAPACITY in gates, LIST_ATTRIBUTES in gates, derived, release, stored
        )
        if len(expression.encode("utf-8", "surrogatepass")) > limits.CEL_EXPRESSION_BYTES:
            return too_long(path, limits.CEL_EXPRESSION_BYTES), 0
        kind, detail, cost = self._verdict(expression, environment)
        if not kind:
            return None, cost
        return FieldError(kind, path, expression, detail), cost

    def check_named(self, expression: str, path: Path, *, stored: bool) -> FieldError | None:
        """What is wrong with a selector of named resources (v1alpha2) at ``path``, if anything.

        :param stored: whether the object has had it before the request.
        """
        kind, detail, _ = self._verdict(expression, environment_of_named_resources(stored))
        return FieldError(kind, path, expression, detail) if kind else None

    def _verdict(self, expression: str, environment: Environment) -> Verdict:
        key = (expression, environment)
        verdict = self._known.get(key)
        if verdict is None:
            verdict = _judge(*key)
            if len(expression) + len(verdict[1]) <= _MAX_KNOWN_LENGTH:
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[key] = verdict
        return verdict


def _judge(expression: str, environment: Environment) -> Verdict:
    # loaded with the first expression, since many objects have none
    from deviceselectors import compiler

    compiled = compiler.compile_expression(expression, environment)
    if compiled.error is not None:
        return INTERNAL if compiled.error_type == compiler.INTERNAL else INVALID, compiled.error, 0
    if environment.named_resources:
        return "", "", 0
    if not environment.derived:
        return (FORBIDDEN, TOO_COMPLEX, 0) if compiled.is_too_complex else ("", "", 0)
    cost = compiled.max_cost
    if cost > min(limits.CEL_EXPRESSION_COST, limits.DERIVED_ATTRIBUTES_COST):
        return FORBIDDEN, TOO_COMPLEX, cost
    return "", "", cost
