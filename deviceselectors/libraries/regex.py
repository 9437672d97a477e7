"""Regular expressions: `matches` of CEL's standard library, `find` and `findAll` of Kubernetes'.

The engine is in `deviceselectors.runtime.regexes`; it is imported when a pattern is compiled.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from deviceselectors.ast import Call, Literal
from deviceselectors.libraries import estimates, max_sizes
from deviceselectors.libraries.actual_costs import plain_size, size_of
from deviceselectors.libraries.estimates import Argument
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.runtime.values import RECEIVERS, CelError
from deviceselectors.sizes import Size

if TYPE_CHECKING:
    from deviceselectors.issues import Issues
    from deviceselectors.runtime.regexes import Regex

_NO_OVERLOAD = "no such overload"


def _matches(text: Any, pattern: Any) -> bool:
    """`text.matches(pattern)`; cel-go checks the types when it searches, whatever the overload."""
    from deviceselectors.runtime.regex_syntax import RegexError
    from deviceselectors.runtime.regexes import compile_paid

    if text.__class__ is not str:
        raise CelError(_NO_OVERLOAD if text.__class__ in RECEIVERS else f"{_NO_OVERLOAD}: matches")
    if pattern.__class__ is not str:
        raise CelError(_NO_OVERLOAD)
    try:
        return _search(compile_paid(pattern), text)
    except RegexError as error:
        raise CelError(str(error)) from None


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    return _search_all(_engine(pattern), text, limit)


def _engine(pattern: str) -> Regex:
    from deviceselectors.runtime.regex_syntax import RegexError
    from deviceselectors.runtime.regexes import compile_paid

    try:
        return compile_paid(pattern)
    except RegexError as error:
        raise CelError(f"Illegal regex: {error}") from None


# With a literal pattern it is compiled once, and these search with what came of it.


def _search(pattern: Regex, text: str) -> bool:
    return pattern.search(text) is not None


def _search_first(pattern: Regex, text: str) -> str:
    return pattern.find(text)


def _search_all(pattern: Regex, text: str, limit: int = -1) -> list[str]:
    return pattern.find_all(text, limit)


def _check_literal(node: Call, issues: Issues) -> None:
    from deviceselectors.runtime.regexes import check

    pattern = node.args[0] if node.args else None
    if isinstance(pattern, Literal) and isinstance(pattern.value, str):
        try:
            check(pattern.value)
        except ValueError:
            issues.report(pattern.position, "invalid matches argument")


# ---------------------------------------------------------------- costs


def _estimate_find(arguments: list[Argument]) -> tuple[int, Size | None]:
    return estimates.searches(arguments)[0], (0, arguments[0].size[1])


def _cost_of_matches(text: Any, pattern: Any) -> int:
    return ceil((1.0 + size_of(text)) * 0.1) * ceil(size_of(pattern) * 0.25)


def _cost_of_find(text: Any, pattern: Any, *limit: Any) -> int:
    return ceil((1.0 + plain_size(text)) * 0.1) * ceil(plain_size(pattern) * 0.25)


# ---------------------------------------------------------------- rows

FUNCTIONS = (
    Function(
        "matches",
        Overload("matches string; string > bool"),
        Overload(".matches_string string; string > bool"),
        run=_matches,
        search=_search,
        literal_check=_check_literal,
        estimate=estimates.searches,
        cost=_cost_of_matches,
    ),
    Function(
        "find",
        Overload(
            ".string_find_string string; string > string",
            lambda text, pattern: _search_first(_engine(pattern), text),
        ),
        search=_search_first,
        estimate=_estimate_find,
        cost=_cost_of_find,
        result_size=max_sizes.of_first,
    ),
    Function(
        "findAll",
        Overload(".string_find_all_string string; string > list(string)", _find_all),
        Overload(".string_find_all_string_int string; string; int > list(string)", _find_all),
        search=_search_all,
        estimate=_estimate_find,
        cost=_cost_of_find,
        result_size=max_sizes.parts,
    ),
)
