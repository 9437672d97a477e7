"""Kubernetes' library of named formats: `format.dns1123Label().validate(name)`, `format.named("uuid")`.

`validate` gives `optional.none()` for a valid text, otherwise the problems.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple

from deviceselectors.libraries.actual_costs import plain_size
from deviceselectors.libraries.estimates import Argument
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.libraries.max_sizes import MaxSize, lengths
from deviceselectors.runtime import times, urls
from deviceselectors.runtime.values import NONE, Optional, register_type
from deviceselectors.sizes import TRAVERSAL, Size, scale
from resourceapi import names

_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character "
    "(e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()
_DIGITS = "0123456789"
#: The digits of each part of a UUID; there may be hyphens between them.
_UUID = (8, 4, 4, 4, 12)


class Format(NamedTuple):
    """A named format: the name that tells it from others, its check, and the size that costs are computed from."""

    name: str
    problems: Callable[[str], list[str]]
    pattern_size: int


register_type(
    Format,
    "kubernetes.NamedFormat",
    "cel.Format",
    lambda left, right: left.name == right.name,
    hashable=False,
    native="cel.Format",
)


def _masked(text: str) -> str:
    """A prefix of a name may end with a dash: something valid takes its place, and that of the character before."""
    return text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text


def _details(problems: list[names.FormatError]) -> list[str]:
    return [problem.detail for problem in problems]


def _label(text: str) -> list[str]:
    return _details(names.short_name(text, names.HANDWRITTEN))


def _subdomain(text: str) -> list[str]:
    return _details(names.long_name(text, names.HANDWRITTEN))


def _label_1035(text: str) -> list[str]:
    problems = []
    if len(text.encode("utf-8", "surrogatepass")) > names.LABEL_LENGTH:
        problems.append(f"must be no more than {names.LABEL_LENGTH} characters")
    if not text or text.strip(_LOWER + _DIGITS + "-") or text[0] not in _LOWER or text[-1] == "-":
        problems.append(_LABEL_1035_TEXT)
    return problems


def _uri(text: str) -> list[str]:
    try:
        urls.check_request_uri(text)
    except urls.UrlError as error:
        return [str(error)]
    return []


def _uuid(text: str) -> list[str]:
    rest = text
    for digits in _UUID:
        part, rest = rest[:digits], rest[digits:]
        if len(part) < digits or part.strip(_DIGITS + "abcdefABCDEF"):
            return ["does not match the UUID format"]
        if digits != _UUID[-1]:
            rest = rest.removeprefix("-")
    return ["does not match the UUID format"] if rest else []


def _byte(text: str) -> list[str]:
    characters = text[:-2] + text[-2:].rstrip("=")
    is_valid = text and not len(text) % 4 and not characters.strip(_UPPER + _LOWER + _DIGITS + "+/")
    return [] if is_valid else ["invalid base64"]


def _is_date(text: str) -> bool:
    return len(text) == 10 and times.parse_timestamp(text + "T00:00:00Z") is not None


def _datetime(text: str) -> list[str]:
    parts = text.lower().split("t")
    is_valid = len(parts) >= 2 and len(text) >= 4 and _is_date(parts[0]) and _is_time(parts[1])
    return [] if is_valid else ["invalid datetime"]


def _is_time(text: str) -> bool:
    """Whether it is `15:04:05` with a zone in lower case, and perhaps decimals behind any one character."""
    clock, rest = text[:8], text[8:]
    if clock[2:3] != ":" or clock[5:6] != ":" or not _is_pair(clock[:2], "23"):
        return False
    if not (_is_pair(clock[3:5], "59") and _is_pair(clock[6:], "59")):
        return False
    zone = rest[-1:] if rest.endswith("z") else rest[-6:]
    decimals = rest[: len(rest) - len(zone)]
    if decimals and (len(decimals) < 2 or decimals[0] == "\n" or decimals[1:].strip(_DIGITS)):
        return False
    return zone == "z" or (
        zone[:1] in ("+", "-") and zone[3:4] == ":" and _is_pair(zone[1:3]) and _is_pair(zone[4:])
    )


def _is_pair(text: str, greatest: str = "99") -> bool:
    """Whether it is two digits, up to a number."""
    return len(text) == 2 and not text.strip(_DIGITS) and text <= greatest


FORMATS = {
    "dns1123Label": Format("DNS1123Label", _label, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", _subdomain, 60),
    "dns1035Label": Format("DNS1035Label", _label_1035, 30),
    "qualifiedName": Format("QualifiedName", lambda text: _details(names.label_key(text)), 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", lambda text: _label(_masked(text)), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", lambda text: _subdomain(_masked(text)), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", lambda text: _label_1035(_masked(text)), 30),
    "labelValue": Format("LabelValue", lambda text: _details(names.label_value(text)), 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _uuid, 70),
    "byte": Format("byte", _byte, 84),
    "date": Format("date", lambda text: [] if _is_date(text) else ["invalid date"], 71),
    "datetime": Format("datetime", _datetime, 71),
}


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return Optional(found) if found else NONE


def _validate(value: Format, text: str) -> Optional:
    problems = value.problems(text)
    return Optional(problems) if problems else NONE


# ---------------------------------------------------------------- costs

#: The server's estimate for any format: quarters of the size that its regular expression would have.
_ESTIMATED_SIZE = 32.0
#: The longest text of a problem.
_MAX_PROBLEM = 600


def _estimate_validate(arguments: list[Argument]) -> tuple[int, Size | None]:
    return scale(scale(arguments[1].size[1], TRAVERSAL), _ESTIMATED_SIZE), None


def _cost_of_validate(value: Any, text: Any) -> int:
    if value.__class__ is not Format:
        return 1
    return ceil((1.0 + plain_size(text)) * 0.1) * ceil(value.pattern_size * 0.25)


def _constant(name: str) -> Function:
    """The row of the function that gives one format."""
    value = FORMATS[name]
    return Function(f"format.{name}", Overload(f"format.{name} - > NamedFormat", lambda: value))


FUNCTIONS = (
    *[_constant(name) for name in FORMATS],
    Function("format.named", Overload("format-named string > optional(NamedFormat)", _named)),
    Function(
        "validate",
        Overload(".format-validate NamedFormat; string > optional(list(string))", _validate),
        estimate=_estimate_validate,
        cost=_cost_of_validate,
        bound=lambda sizes, result: (lengths(sizes)[1] * 0.1 + 2) * 300,
        result_size=lambda sizes: MaxSize(4, MaxSize(_MAX_PROBLEM)),
    ),
)
