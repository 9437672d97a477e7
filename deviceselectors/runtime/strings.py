"""CEL's string extensions, version 2. Indices count code points."""

from __future__ import annotations

from typing import Any

from deviceselectors.runtime import effort
from deviceselectors.runtime.showing import checked_length, show
from deviceselectors.runtime.values import MAX_CHARACTERS, CelError, out_of_memory

#: what Go's strings.TrimSpace trims; Python's strip() takes more
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
#: An element of a list of texts takes memory as this many characters do.
_PART = 16
_SHORT = 16
_LOWER = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
_UPPER = {c: c - 32 for c in range(ord("a"), ord("z") + 1)}
_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def contains(text: str, part: str) -> bool:
    return part in text


def starts_with(text: str, prefix: str) -> bool:
    return text.startswith(prefix)


def ends_with(text: str, suffix: str) -> bool:
    return text.endswith(suffix)


def char_at(text: str, index: int) -> str:
    """The character, or "" right behind the last one."""
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset)


def last_index_of(text: str, part: str) -> int:
    return _find_last(text, part)


def _find_last(text: str, part: str) -> int:
    if len(part) <= _SHORT:
        return text.rfind(part)
    # unlike find, rfind takes the product of both lengths
    found = text[::-1].find(part[::-1])
    return -1 if found < 0 else len(text) - len(part) - found


def last_index_of_from(text: str, part: str, offset: int) -> int:
    """The last occurrence that begins at the offset or before it."""
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    if offset >= len(text):
        return -1
    return _find_last(text[: offset + len(part)], part)


def lower_ascii(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_LOWER)


def upper_ascii(text: str) -> str:
    return text.upper() if text.isascii() else text.translate(_UPPER)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(new) > len(old):
        found = text.count(old)
        occurrences = found if count < 0 else min(found, count)
        size = len(text) + occurrences * (len(new) - len(old))
        if size > MAX_CHARACTERS:
            raise out_of_memory()
        # it costs by what is replaced, not by what is made
        effort.spend(size)
    if count < 0 or count > len(text) + 1:
        return text.replace(old, new)
    return text.replace(old, new, count)


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """At most `limit` parts, the last with the unsplit rest; a negative limit is none."""
    if limit == 0:
        return []
    parts = text.count(separator) + 1
    effort.spend(_PART * (parts if limit < 0 else min(parts, limit)))
    if not separator:
        if 0 < limit < len(text):
            return [*text[: limit - 1], text[limit - 1 :]]
        return list(text)
    if limit < 0 or limit > len(text) + 1:
        return text.split(separator)
    return text.split(separator, limit - 1)


def substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def trim(text: str) -> str:
    return text.strip(_SPACE)


def join(parts: Any, separator: str = "") -> str:
    size = len(separator) * len(parts)
    for part in parts:
        if part.__class__ is not str:
            raise CelError(f"join: invalid input: {show(part)}")
        size += len(part)
    if size > MAX_CHARACTERS + len(separator):
        raise out_of_memory()
    return checked_length(separator.join(parts))


def quote(text: str) -> str:
    """`strings.quote(text)`."""
    return f'"{text.translate(_QUOTED)}"'
