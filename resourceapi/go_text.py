"""Texts as Go writes them: quoted strings (``%q``), numbers, and compact JSON as it appears in error values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from resourceapi.printable import is_printable

#: What the flags of a server take as a boolean.
BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
QUOTE_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
_JSON_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}
_JSON_PLAIN_BUT = '"\\<>&\u2028\u2029'
REPLACEMENT = "\ufffd"


class Literal(str):
    """JSON text that goes into other JSON as it is."""

    __slots__ = ()


def listed(texts: Sequence[str]) -> str:
    """Several errors as one, as Kubernetes joins them."""
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def quote(text: str) -> str:
    """The text as a Go string literal (strconv.Quote).

    A lone surrogate U+DC80..U+DCFF stands for a byte that is no UTF-8 (Python's ``surrogateescape``).
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_escaped(text, _quoted_character)}"'


def _escaped(text: str, escape: Callable[[str], str]) -> str:
    """The text with each of its characters escaped, each different one only once."""
    return text.translate({ord(character): escape(character) for character in set(text)})


def _quoted_character(character: str) -> str:
    escape = QUOTE_ESCAPES.get(character)
    if escape is not None:
        return escape
    if is_printable(character):
        return character
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return REPLACEMENT
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def json_string(text: str) -> str:
    """The text as a JSON string, with the characters escaped that matter in HTML (encoding/json)."""
    if text.isprintable() and not any(character in text for character in _JSON_PLAIN_BUT):
        return f'"{text}"'
    return f'"{_escaped(text, _json_character)}"'


def _json_character(character: str) -> str:
    escape = _JSON_ESCAPES.get(character)
    if escape is not None:
        return escape
    code = ord(character)
    if code < 0x20:
        return f"\\u{code:04x}"
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else character


def json_float(value: float) -> str:
    """A finite float as a JSON number: shortest, without a fraction if there is none, 1e21 and more with exponent."""
    digits, point = shortest_digits(value)
    sign = sign_of(value)
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return sign + positional(digits, point)
    return f"{sign}{mantissa(digits)}e{point - 1:+d}"


def sign_of(value: float) -> str:
    """`-` for negative floats, the negative zero among them."""
    return "-" if math.copysign(1.0, value) < 0 else ""


def shortest_digits(value: float) -> tuple[str, int]:
    """The fewest digits that denote the float, and where its decimal point is in them."""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return digits.rstrip("0") or "0", point if digits else 1


def positional(digits: str, point: int) -> str:
    """Such digits without an exponent."""
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"


def mantissa(digits: str) -> str:
    """Such digits with the point behind the first."""
    return digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"


def json_text(value: object) -> str:
    """Compact JSON (json.Marshal) of None, bool, int, float, str, list, tuple, dict; of anything else its text, quoted.

    Keys of a dict keep their order: that of the fields of a Go struct, or sorted for a Go map, is the caller's business.
    """
    return "".join(json_parts(value, json_string))


def json_parts(value: object, string: Callable[[str], str]) -> Iterator[str]:
    """The same in parts, none of which is larger than the text of a string; ``string`` quotes one."""
    # Not recursive, since untrusted values can be nested deeply.
    open_values: list[tuple[Iterator[tuple[str, object]], str]] = [(iter([("", value)]), "")]
    while open_values:
        members, closing = open_values[-1]
        for prefix, member in members:
            yield prefix
            if isinstance(member, dict):
                yield "{"
                open_values.append((_object_members(member, string), "}"))
                break
            if isinstance(member, (list, tuple)):
                yield "["
                open_values.append((_list_members(member), "]"))
                break
            yield _json_scalar(member, string)
        else:
            yield closing
            open_values.pop()


def _object_members(value: dict[str, object], string: Callable[[str], str]) -> Iterator[tuple[str, object]]:
    separator = ""
    for key, member in value.items():
        yield f"{separator}{string(key)}:", member
        separator = ","


def _list_members(value: list[object] | tuple[object, ...]) -> Iterator[tuple[str, object]]:
    separator = ""
    for member in value:
        yield separator, member
        separator = ","


def _json_scalar(value: object, string: Callable[[str], str]) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return json_float(value)
    return value if isinstance(value, Literal) else string(str(value))
