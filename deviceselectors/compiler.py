"""Compiling expressions: parse, check, estimate the cost."""

from __future__ import annotations

from threading import Lock

from deviceselectors import request_budget
from deviceselectors.ast import CALL, IDENT, LITERAL, SELECT, Call, Node, Select
from deviceselectors.checker import check
from deviceselectors.declarations import SEMVER_TYPE, attribute_type, resolve_dotted_names
from deviceselectors.environment import Environment
from deviceselectors.issues import Issues, ServerPanicError, Source
from deviceselectors.macros import show_accumulators
from deviceselectors.parser import parse
from deviceselectors.types import (
    ANY_TYPE,
    BOOL_TYPE,
    DYN_TYPE,
    INT_TYPE,
    LIST,
    STRING_TYPE,
    Type,
    TypeSizeError,
)
from resourceapi.caches import WeighedCache
from resourceapi.limits import CEL_EXPRESSION_COST

# Expressions so plain that their cost needs no estimate to be known to stay far below the limit.
# Most selectors compare attributes with constants.  No part of such an expression costs more than looking
# at all its constants once, so that its length bounds its cost.

#: Up to this length the cost of a plain expression is below half a million: as many parts as characters at most, each
#: of which costs 2 and a tenth of the characters.
MAX_LENGTH = 2000

_CHEAP = frozenset(("_&&_", "_||_", "!_", "_[_]", "compareTo", "isGreaterThan", "isLessThan"))
_COMPARISONS = frozenset(("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"))
_OF_CONSTANTS = frozenset(("quantity", "semver"))


def is_plain(text: str, root: Node) -> bool:
    """Whether a type-checked expression is short, and made of look-ups, constants and comparisons with these."""
    return len(text) <= MAX_LENGTH and _is_plain(root)


def _is_plain(node: Node) -> bool:
    while node.kind == SELECT:
        assert isinstance(node, Select)
        node = node.operand
    if node.kind != CALL:
        return node.kind == LITERAL or node.kind == IDENT
    assert isinstance(node, Call)
    function, args = node.function, node.args
    if function in _COMPARISONS:
        # The shorter side counts.
        if args[1].kind != LITERAL and args[0].kind != LITERAL:
            return False
    elif function in _OF_CONSTANTS:
        return len(args) == 1 and args[0].kind == LITERAL
    elif function not in _CHEAP:
        return False
    return (node.target is None or _is_plain(node.target)) and all(map(_is_plain, args))


#: Kinds of errors, as the API server's validation tells them apart.
INVALID = "RuleInvalid"
INTERNAL = "InternalError"

_MAX_CODE_POINTS = 100_000
_DERIVED_TYPES = (BOOL_TYPE, INT_TYPE, STRING_TYPE, ANY_TYPE, DYN_TYPE, SEMVER_TYPE)
#: The first release (minor number) whose checker finds the right line of what begins one.
_LINES_SINCE = 31
#: How much memory all that is kept may take, and about how much it is for each character of an expression; a program takes as much.
MOST_BYTES, CHARACTER_BYTES = 32 << 20, 160
#: Longer expressions, or those with long errors, are compiled anew each time.
_MAX_CACHED_LENGTH = 2048


class Compiled:
    """What came of compiling an expression; shared between threads, not to be changed.

    `error` is the detail of the API server's field error and `error_type` its kind (INVALID or INTERNAL), both None
    for a good expression, which has `ast` (type checked) and `output_type`. `issues` has the places of errors in the source.
    """

    __slots__ = (
        "_max_cost",
        "ast",
        "environment",
        "error",
        "error_type",
        "expression",
        "issues",
        "output_type",
    )

    def __init__(self, expression: str, environment: Environment) -> None:
        self.expression = expression
        self.environment = environment
        self.issues = Issues(Source(expression))
        self.ast: Node | None = None
        self.output_type: Type | None = None
        self.error: str | None = None
        self.error_type: str | None = None
        self._max_cost: int | None = None

    def fail(self, error: str, error_type: str = INVALID) -> Compiled:
        """The same, with what is wrong: the detail of a field error, and its kind."""
        self.error = error
        self.error_type = error_type
        return self

    @property
    def max_cost(self) -> int:
        """The estimate of the greatest cost; 2**64 - 1 is "no bound known", which is also said of a bad expression."""
        if self._max_cost is None:
            from deviceselectors.cost import UNLIMITED, estimate

            self._max_cost = UNLIMITED if self.ast is None else estimate(self.ast)
        return self._max_cost

    @property
    def is_too_complex(self) -> bool:
        """Whether the cost may exceed the limit for an expression."""
        if self.ast is not None and is_plain(self.expression, self.ast):
            return False
        return self.max_cost > CEL_EXPRESSION_COST


_cache: WeighedCache[tuple[str, Environment], Compiled] = WeighedCache(MOST_BYTES)
_lock = Lock()


def compile_expression(expression: str, environment: Environment) -> Compiled:
    """Compile an expression for an environment; results are cached.

    The length in bytes is not checked here: API validation does that before it compiles.

    :raises deviceselectors.request_budget.BudgetSpentError: if the budget within which it is compiled has nothing left.
    """
    key = (expression, environment)
    with _lock:
        cached = _cache.use(key)
        if cached is not None:
            return cached
    request_budget.spend(expression)
    compiled = _compile(Compiled(expression, environment))
    length = len(expression) + len(compiled.error or "")
    if length <= _MAX_CACHED_LENGTH:
        with _lock:
            _cache.put(key, compiled, CHARACTER_BYTES * length)
    return compiled


def _compile(compiled: Compiled) -> Compiled:
    expression, issues = compiled.expression, compiled.issues
    if len(expression) > _MAX_CODE_POINTS:
        return compiled.fail(
            "compilation failed: ERROR: <input>:-1:0: expression code point size exceeds limit: "
            f"size: {len(expression)}, limit {_MAX_CODE_POINTS}"
        )
    release = compiled.environment.server
    root = parse(issues, release, compiled.environment.release)
    if not issues.count:
        show_accumulators(root, expression, release)
        issues.source.starts_end_lines = release < _LINES_SINCE
        root = resolve_dotted_names(root, expression, compiled.environment)
        try:
            has_constants = check(root, compiled.environment, issues)
        except ServerPanicError as panic:
            return compiled.fail(f"panic: {panic}", INTERNAL)
        except TypeSizeError as error:
            return compiled.fail(f"compilation failed: {error}")
    if issues.count:
        return compiled.fail(f"compilation failed: {issues.text()}")
    assert root.type is not None
    complaint = _result_complaint(root.type, compiled.environment)
    if complaint is not None:
        return compiled.fail(complaint)
    if has_constants:
        complaint = _program_complaint(root)
        if complaint is not None:
            return compiled.fail(complaint, INTERNAL)
    compiled.ast = root
    compiled.output_type = root.type
    return compiled


def _program_complaint(root: Node) -> str | None:
    """Why the server cannot make a program of a checked expression, if so."""
    from deviceselectors.runtime.planning import Plan, ProgramError
    from deviceselectors.runtime.values import CelPanic

    try:
        Plan(root)
    except ProgramError as error:
        return str(error)
    except CelPanic as panic:
        return f"panic: {panic.reason}"
    return None


def _result_complaint(t: Type, environment: Environment) -> str | None:
    """What is wrong with the type of an expression's result, if anything."""
    if environment.named_resources:
        return None if t == BOOL_TYPE and not t.wrapper else "must evaluate to bool"
    if not environment.derived:
        if t in (BOOL_TYPE, attribute_type(environment)):
            return None
        return f"must evaluate to bool or the unknown type, not {t.output}"
    takes_lists = environment.has_untyped_attributes
    if t in _DERIVED_TYPES or (takes_lists and t.kind == LIST and t.parameters[0] in _DERIVED_TYPES):
        return None
    lists = " or a list of these scalars" if takes_lists else ""
    return f"must evaluate to a primitive scalar (string, integer, boolean, semver){lists}, not {t.output}"
