"""Checks of literals in an expression that has passed the type checker.

Literal durations, timestamps and regular expressions must be valid, lists and maps must not mix types, and a literal
format string must fit its arguments. Source: the validators that kube-apiserver adds to its CEL environments since 1.29.
"""

from __future__ import annotations

from deviceselectors.ast import (
    Call,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
)
from deviceselectors.issues import Issues
from deviceselectors.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST,
    MAP,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
)


class ServerPanicError(Exception):
    """Here the server's own check crashes: a question mark before an element of unknown type."""


#: The functions whose calls `validate_call` looks at, in the order of the server's checks.
CHECKED_FUNCTIONS = ("duration", "timestamp", "matches", "format")


def validate_call(node: Call, issues: Issues) -> None:
    """Check the literal arguments of a call; what is wrong goes into `issues`."""
    _CALL_CHECKS[node.function](node, issues)


def validate_collection(node: Node, issues: Issues) -> None:
    """Check that the parts of a list or map literal have one type; what is wrong goes into `issues`."""
    if isinstance(node, ListLiteral):
        _check_list(node, issues)
    elif isinstance(node, MapLiteral):
        _check_map(node, issues)


def _type_of(node: Node) -> Type:
    assert node.type is not None
    return node.type


def _check_list(node: ListLiteral, issues: Issues) -> None:
    expected: Type | None = None
    for index, element in enumerate(node.elements):
        t = _type_of(element)
        if index in node.optionals:
            t = _optional_value(t)
        if expected is None:
            expected = t
        elif t != expected:
            _report_mismatch(element, expected, t, issues)
            return


def _check_map(node: MapLiteral, issues: Issues) -> None:
    expected: tuple[Type, Type] | None = None
    for entry in node.entries:
        key, value = _type_of(entry.key), _type_of(entry.value)
        if entry.optional:
            value = _optional_value(value)
        if expected is None:
            expected = key, value
            continue
        if key != expected[0]:
            _report_mismatch(entry.key, expected[0], key, issues)
        if value != expected[1]:
            _report_mismatch(entry.value, expected[1], value, issues)


def _optional_value(t: Type) -> Type:
    if not t.parameters:
        raise ServerPanicError("runtime error: index out of range [0] with length 0")
    return t.parameters[0]


def _report_mismatch(node: Node, expected: Type, actual: Type, issues: Issues) -> None:
    issues.report(node.position, f"expected type '{expected.text}' but found '{actual.text}'")


def _check_duration(node: Call, issues: Issues) -> None:
    arg = _literal_argument(node)
    if arg is not None and not _is_duration(arg.value):
        issues.report(arg.position, "invalid duration argument")


def _check_timestamp(node: Call, issues: Issues) -> None:
    arg = _literal_argument(node)
    if arg is not None and not _is_timestamp(arg.value):
        issues.report(arg.position, "invalid timestamp argument")


def _check_regex(node: Call, issues: Issues) -> None:
    arg = _literal_argument(node)
    if arg is not None and isinstance(arg.value, str) and not _is_regex(arg.value):
        issues.report(arg.position, "invalid matches argument")


def _literal_argument(node: Call) -> Literal | None:
    return node.args[0] if node.args and isinstance(node.args[0], Literal) else None


def _is_duration(value: object) -> bool:
    from deviceselectors.runtime.conversions import duration_from_string

    if not isinstance(value, str):
        return False
    try:
        duration_from_string(value)
    except ValueError:
        return False
    return True


def _is_timestamp(value: object) -> bool:
    from deviceselectors.runtime.conversions import timestamp_from_int, timestamp_from_string

    try:
        if isinstance(value, str):
            timestamp_from_string(value)
            return True
        if isinstance(value, int):
            timestamp_from_int(value)
            return True
    except ValueError:
        pass
    return False


def _is_regex(pattern: str) -> bool:
    from deviceselectors.runtime.regexes import check

    try:
        check(pattern)
    except ValueError:
        return False
    return True


class _FormatError(Exception):
    """A format string and its arguments do not go together."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.position = position


def _check_format(node: Call, issues: Issues) -> None:
    target = node.target
    if not isinstance(target, Literal) or not isinstance(target.value, str) or len(node.args) != 1:
        return
    if not isinstance(node.args[0], ListLiteral):
        return
    args = node.args[0].elements
    try:
        used = _check_clauses(target.value, args)
    except _FormatError as error:
        issues.report(node.position if error.position is None else error.position, error.message)
        return
    if len(args) > used:
        message = f"too many arguments supplied to string.format (expected {used}, got {len(args)})"
        issues.report(node.position, message)


def _check_clauses(text: str, args: list[Node]) -> int:
    """The number of arguments that a format string uses; raises _FormatError when one of them does not fit."""
    used = position = 0
    while True:
        position = text.find("%", position)
        if position < 0:
            return used
        if text[position + 1 : position + 2] == "%":
            position += 2
            continue
        if position + 1 >= len(text):
            raise _FormatError("unexpected end of string")
        if used >= len(args):
            raise _FormatError(f"index {used} out of range")
        position = _check_clause(text, position + 1, args[used])
        used += 1


def _check_clause(text: str, position: int, arg: Node) -> int:
    """Check one clause behind its percent sign; returns where it ends."""
    position = _skip_precision(text, position)
    letter = text[position]
    if letter not in _CLAUSES:
        shown = letter if letter.isascii() else letter.encode()[:1].decode("latin-1")
        raise _FormatError(f'could not parse formatting clause: unrecognized formatting clause "{shown}"')
    complaint, kinds = _CLAUSES[letter]
    bad = _first_misfit(arg, kinds, letter == "s")
    if bad is not None:
        name = _type_of(bad).name
        raise _FormatError(f"error during formatting: {complaint}, was given {name}", bad.position)
    return position + 1


def _skip_precision(text: str, position: int) -> int:
    if text[position] != ".":
        return position
    position += 1
    start = position
    while position < len(text) and text[position] in "0123456789":
        position += 1
    problem = "could not parse formatting clause: error while parsing precision: "
    if position >= len(text):
        raise _FormatError(f"{problem}could not find end of precision specifier")
    digits = text[start:position]
    # Python reads no number of more than 4,300 digits, zeros in front included
    number = digits.lstrip("0") or "0"
    if not digits or len(number) > 19 or int(number) >= 2**63:
        reason = "value out of range" if digits else "invalid syntax"
        raise _FormatError(
            f'{problem}error while converting precision to integer: strconv.Atoi: parsing "{digits}": {reason}'
        )
    return position


def _first_misfit(arg: Node, kinds: tuple[int, ...], deep: bool) -> Node | None:
    kind = _type_of(arg).kind
    if kind != DYN and kind not in kinds:
        return arg
    if deep:
        parts: list[Node] = []
        if isinstance(arg, ListLiteral):
            parts = arg.elements
        elif isinstance(arg, MapLiteral):
            parts = [part for entry in arg.entries for part in (entry.key, entry.value)]
        for part in parts:
            bad = _first_misfit(part, kinds, True)
            if bad is not None:
                return bad
    return None


_HEX = ("only integers, byte buffers, and strings can be formatted as hex", (INT, UINT, STRING, BYTES))
_STRING_CLAUSE = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps"
)
_CLAUSES: dict[str, tuple[str, tuple[int, ...]]] = {
    "s": (
        _STRING_CLAUSE,
        (LIST, MAP, INT, UINT, DOUBLE, BOOL, STRING, TIMESTAMP, BYTES, DURATION, TYPE, NULL),
    ),
    "d": ("decimal clause can only be used on integers", (INT, UINT)),
    "f": ("fixed-point clause can only be used on doubles", (DOUBLE, STRING)),
    "e": ("scientific clause can only be used on doubles", (DOUBLE, STRING)),
    "b": ("only integers and bools can be formatted as binary", (INT, UINT, BOOL)),
    "x": _HEX,
    "X": _HEX,
    "o": ("octal clause can only be used on integers", (INT, UINT)),
}

_CALL_CHECKS = {
    "duration": _check_duration,
    "timestamp": _check_timestamp,
    "matches": _check_regex,
    "format": _check_format,
}
