"""JSON as kubectl reads it: values one after another, numbers 64 bits wide, repeated keys noticed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from documents.errors import MalformedText, RefusedText
from documents.scalars import UnrepresentableNumber, json_float, json_integer
from documents.tree import MAX_DEPTH, RepeatedKeys, too_deep

_blanks = re.compile(r"[ \t\n\r]*").match


def skip_blanks(text: str, start: int) -> int:
    """The offset of the first character from `start` on that is no JSON white space."""
    matched = _blanks(text, start)
    return matched.end() if matched else start


def read_value(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that begins at `start`, and the offset behind it.

    :raises MalformedText: for what is not JSON.
    :raises RefusedText: for JSON that kubectl or this tool cannot hold.
    """
    try:
        value, end = _decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise MalformedText(error.pos, _wording(error, text)) from None
    except UnrepresentableNumber as error:
        raise RefusedText(start, str(error)) from None
    except RecursionError:
        raise too_deep(start) from None
    except ValueError:  # int() bounds the digits it reads
        raise RefusedText(start, "a number has too many digits") from None
    # Most texts have fewer brackets than levels allowed: then nothing needs to be walked.
    if text.count("[", start, end) + text.count("{", start, end) > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        raise too_deep(start)
    if text.find("\\u", start, end) >= 0:
        value = _without_lone_surrogates(value, re.compile("[\ud800-\udfff]").sub)
    return value, end


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else RepeatedKeys(pairs)


def _float(text: str) -> int | float:
    number = float(text)
    if number in (float("inf"), -float("inf")):
        raise UnrepresentableNumber(f"number {text} is out of range")
    return json_float(number)


def _no_constant(text: str) -> Any:
    raise json.JSONDecodeError("Expecting value", text, 0)


_decoder = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=lambda text: json_integer(int(text)),
    parse_float=_float,
    parse_constant=_no_constant,
)


def _wording(error: json.JSONDecodeError, text: str) -> str:
    """What Go's JSON reader would complain about, in its terms."""
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    message = error.msg[0].lower() + error.msg[1:]
    return f"not valid JSON: {message}, found {text[error.pos]!r}"


def _depth(value: Any) -> int:
    depth = 0
    level = [value]
    while level and depth <= MAX_DEPTH:
        depth += 1
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (dict, list))
        ]
    return depth


def _without_lone_surrogates(value: Any, replace: Callable[[str, str], str]) -> Any:
    """Half a surrogate pair is no character; Go reads U+FFFD for it."""
    if isinstance(value, str):
        return replace("\ufffd", value)
    if isinstance(value, list):
        return [_without_lone_surrogates(item, replace) for item in value]
    if isinstance(value, dict):
        pairs = value.pairs if isinstance(value, RepeatedKeys) else value.items()
        return _object(
            [(replace("\ufffd", key), _without_lone_surrogates(item, replace)) for key, item in pairs]
        )
    return value
