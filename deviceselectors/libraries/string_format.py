"""`string.format`: `"%s is %.2f".format([name, share])`.

Numbers are formatted as in the locale en_US: thousands separators, and powers of ten in superscript for `%e`, whose
precision is in truth a width. Source: cel-go's strings extension, version 2, as kube-apiserver 1.37 has it.
"""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

from deviceselectors import types as static
from deviceselectors.ast import Call, ListLiteral, Literal, MapLiteral, Node, type_of_node
from deviceselectors.libraries import actual_costs, estimates
from deviceselectors.libraries.conversions import to_string
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.runtime import effort
from deviceselectors.runtime.showing import ELEMENT, ENTRY, checked_length
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    CelError,
    Duration,
    Timestamp,
    TypeValue,
    Uint,
    as_list,
    find,
    type_name,
)
from resourceapi.go_text import quote

if TYPE_CHECKING:
    from deviceselectors.issues import Issues

_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
#: Per kind of clause what it says of a value that it cannot format.
_STRING = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps"
)
_DECIMAL = "decimal clause can only be used on integers"
_FIXED = "fixed-point clause can only be used on doubles"
_SCIENTIFIC = "scientific clause can only be used on doubles"
_BINARY = "only integers and bools can be formatted as binary"
_OCTAL = "octal clause can only be used on integers"
_HEX = "only integers, byte buffers, and strings can be formatted as hex"
_MAX_WIDTH = 1_000_000
_DECIMALS_WRAP = 256
#: No double has more decimals.
_MOST_DECIMALS = 1100
_INFINITY = float("inf")


def _format(template: str, arguments: Any) -> str:
    """The template with its clauses replaced.

    :raises CelError: if the template is wrong or an argument does not fit
    """
    # it costs by the template, not by what is filled in
    parts: list[str] = []
    position, used = 0, 0
    while True:
        percent = template.find("%", position)
        if percent < 0:
            parts.append(template[position:])
            return checked_length("".join(parts))
        parts.append(template[position:percent])
        if template[percent + 1 : percent + 2] == "%":
            parts.append("%")
            position = percent + 2
            continue
        if used >= len(arguments):
            raise CelError(f"index {used} out of range")
        if percent + 1 >= len(template):
            raise CelError("unexpected end of string")
        position, clause, precision = _parse_clause(template, percent + 1)
        try:
            part = _CLAUSES[clause](arguments[used], precision)
            effort.spend(len(part))
            parts.append(part)
        except CelError as error:
            raise CelError(f"error during formatting: {error.message}") from None
        used += 1


def _parse_clause(template: str, position: int) -> tuple[int, str, int]:
    """The position behind the clause, its letter, and the precision, -1 if there is none."""
    precision = -1
    if template[position] == ".":
        end = position + 1
        while end < len(template) and template[end] in "0123456789":
            end += 1
        if end >= len(template):
            raise _precision_error("could not find end of precision specifier")
        precision = _parse_precision(template[position + 1 : end])
        position = end
    clause = template[position]
    if clause not in _CLAUSES:
        # the server looks at bytes, not characters
        byte = chr(clause.encode("utf-8", "surrogatepass")[0])
        raise CelError(f'could not parse formatting clause: unrecognized formatting clause "{byte}"')
    return position + 1, clause, precision


def _misfit(complaint: str, value: Any) -> CelError:
    return CelError(f"{complaint}, was given {type_name(value)}")


def _precision_error(text: str) -> CelError:
    return CelError(f"could not parse formatting clause: error while parsing precision: {text}")


def _parse_precision(digits: str) -> int:
    problem = ""
    # Python reads no number of more than 4,300 digits, zeros in front included
    number = digits.lstrip("0") or "0"
    if not digits:
        problem = "invalid syntax"
    elif len(number) > 19 or int(number) > (1 << 63) - 1:
        problem = "value out of range"
    if problem:
        raise _precision_error(
            f"error while converting precision to integer: strconv.Atoi: parsing {quote(digits)}: {problem}"
        )
    return int(number)


def _string(value: Any, precision: int) -> str:
    cls = value.__class__
    if value is None:
        return "null"
    if cls in LIST_CLASSES:
        return _list(value)
    if cls in MAP_CLASSES:
        return _map(value)
    if cls is bytes:
        return _decode(value)
    if cls in _SCALARS:
        return to_string(value)
    raise _misfit(_STRING, value)


def _decode(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        reason = "invalid UTF-8 in bytes, cannot convert to string"
        raise CelError(f"could not convert argument {quote(reason)} to string") from None


def _list(value: Any) -> str:
    effort.spend(ELEMENT * len(value))
    return checked_length(f"[{', '.join([_nested(element) for element in as_list(value)])}]")


def _map(value: Any) -> str:
    effort.spend(ENTRY * len(value))
    entries = []
    for key in value:
        if key.__class__ not in (str, bool, int, Uint):
            raise CelError(f"no formatting function for map key of type {type_name(key)}")
        entries.append((_nested(key), _nested(find(value, key))))
    entries.sort(key=lambda entry: entry[0])
    return checked_length(f"{{{', '.join([f'{key}:{text}' for key, text in entries])}}}")


def _nested(value: Any) -> str:
    """A value inside of a list or map."""
    cls = value.__class__
    if cls is str:
        effort.spend(len(value))
        return quote(value)
    if cls is bytes:
        effort.spend(len(value))
        return f"b{quote(_decode(value))}"
    if cls is float:
        if isnan(value):
            return '"NaN"'
        if value in (_INFINITY, -_INFINITY):
            return '"+Inf"' if value > 0 else '"-Inf"'
        return f"{value:.6f}"
    if cls is Timestamp:
        return f"timestamp({quote(to_string(value))})"
    if cls is Duration:
        return f"duration({quote(to_string(value))})"
    if value is not None and cls not in _SCALARS and cls not in LIST_CLASSES and cls not in MAP_CLASSES:
        raise CelError(f"no formatting function for {type_name(value)}")
    return _string(value, -1)


_SCALARS = frozenset((str, bool, int, Uint, float, Duration, Timestamp, TypeValue))


def _decimal(value: Any, precision: int) -> str:
    if value.__class__ is not int and value.__class__ is not Uint:
        raise _misfit(_DECIMAL, value)
    return str(int(value))


def _double(value: Any, clause: str) -> float:
    if value.__class__ is float:
        return value
    if value.__class__ is str and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise _misfit(clause, value)


def _special(number: float) -> str | None:
    if isnan(number):
        return "NaN"
    if number in (_INFINITY, -_INFINITY):
        return "∞" if number > 0 else "-∞"
    return None


def _fixed(value: Any, precision: int) -> str:
    number = _double(value, _FIXED)
    text = _special(number)
    if text is not None:
        return text
    if precision < _DECIMALS_WRAP:
        return f"{number or 0.0:,.{6 if precision < 0 else precision}f}"
    # the least number of decimals, unlike the greatest, is kept in a byte
    whole, _, decimals = f"{number or 0.0:,.{min(precision, _MOST_DECIMALS)}f}".partition(".")
    decimals = decimals.rstrip("0").ljust(precision % _DECIMALS_WRAP, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _scientific(value: Any, precision: int) -> str:
    number = _double(value, _SCIENTIFIC)
    text = _special(number)
    if text is None:
        mantissa, _, exponent = f"{number or 0.0:.6e}".partition("e")
        power = exponent.removeprefix("+").translate(_SUPERSCRIPT)
        text = f"{mantissa}×10{power}"  # noqa: RUF001
    return text.rjust(min(6 if precision < 0 else precision, _MAX_WIDTH))


def _binary(value: Any, precision: int) -> str:
    if value.__class__ not in (int, Uint, bool):
        raise _misfit(_BINARY, value)
    return f"{int(value):b}"


def _octal(value: Any, precision: int) -> str:
    if value.__class__ is not int and value.__class__ is not Uint:
        raise _misfit(_OCTAL, value)
    return f"{int(value):o}"


def _hexadecimal(value: Any, precision: int) -> str:
    cls = value.__class__
    if cls is str:
        return value.encode("utf-8", "surrogatepass").hex()  # type: ignore[no-any-return]
    if cls is bytes:
        return value.hex()  # type: ignore[no-any-return]
    if cls is int or cls is Uint:
        return f"{int(value):x}"
    raise _misfit(_HEX, value)


def _upper_hexadecimal(value: Any, precision: int) -> str:
    return _hexadecimal(value, precision).upper()


_CLAUSES = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "o": _octal,
    "x": _hexadecimal,
    "X": _upper_hexadecimal,
}


# ---------------------------------------------------------------- checks of literals


class _MisfitError(Exception):
    """An argument does not fit its clause; `node` is the part that does not."""

    def __init__(self, message: str, node: Node) -> None:
        super().__init__(message)
        self.node = node


def _check_literal(call: Call, issues: Issues) -> None:
    """A literal format string must fit its arguments if these are a list literal."""
    template = call.target
    if not isinstance(template, Literal) or not isinstance(template.value, str) or len(call.args) != 1:
        return
    if not isinstance(call.args[0], ListLiteral):
        return
    args = call.args[0].elements
    try:
        used = _check_clauses(template.value, args)
    except _MisfitError as error:
        issues.report(error.node.position, str(error))
        return
    except CelError as error:
        issues.report(call.position, error.message)
        return
    if len(args) > used:
        message = f"too many arguments supplied to string.format (expected {used}, got {len(args)})"
        issues.report(call.position, message)


def _check_clauses(template: str, args: list[Node]) -> int:
    """The number of arguments that a format string uses.

    :raises CelError: if the template is wrong
    :raises _MisfitError: if an argument does not fit its clause
    """
    used = position = 0
    while True:
        position = template.find("%", position)
        if position < 0:
            return used
        if template[position + 1 : position + 2] == "%":
            position += 2
            continue
        if position + 1 >= len(template):
            raise CelError("unexpected end of string")
        if used >= len(args):
            raise CelError(f"index {used} out of range")
        position, letter, _ = _parse_clause(template, position + 1)
        complaint, kinds = _TAKEN[letter]
        bad = _first_misfit(args[used], kinds, letter == "s")
        if bad is not None:
            name = type_of_node(bad).name
            raise _MisfitError(f"error during formatting: {complaint}, was given {name}", bad)
        used += 1


def _first_misfit(arg: Node, kinds: frozenset[int], deep: bool) -> Node | None:
    kind = type_of_node(arg).kind
    if kind != static.DYN and kind not in kinds:
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


_INTEGERS = frozenset((static.INT, static.UINT))
_DOUBLES = frozenset((static.DOUBLE, static.STRING))
_SHOWN = frozenset((
    *_INTEGERS, *_DOUBLES, static.LIST, static.MAP, static.BOOL, static.TIMESTAMP, static.BYTES, static.DURATION,
    static.TYPE, static.NULL,
))  # fmt: skip
_IN_HEX = _INTEGERS | {static.STRING, static.BYTES}
#: Per clause what it says of others than the kinds of types that it formats.
_TAKEN: dict[str, tuple[str, frozenset[int]]] = {
    "s": (_STRING, _SHOWN),
    "d": (_DECIMAL, _INTEGERS),
    "f": (_FIXED, _DOUBLES),
    "e": (_SCIENTIFIC, _DOUBLES),
    "b": (_BINARY, _INTEGERS | {static.BOOL}),
    "o": (_OCTAL, _INTEGERS),
    "x": (_HEX, _IN_HEX),
    "X": (_HEX, _IN_HEX),
}

FUNCTIONS = (
    Function(
        "format",
        Overload(".string_format string; list(dyn) > string", _format),
        stops_at_error=True,
        literal_check=_check_literal,
        estimate=estimates.reads(0),
        cost=actual_costs.reads(0),
    ),
)
