"""CEL's string functions: those of the standard library, and the extensions in version 2. Indices count code points."""

from __future__ import annotations

from math import ceil
from typing import Any

from deviceselectors.libraries import actual_costs, estimates, max_sizes
from deviceselectors.libraries.actual_costs import size_of, tenth
from deviceselectors.libraries.estimates import Argument, element_of, wrapped
from deviceselectors.libraries.function import TWO_STRINGS, Function, Overload, Run
from deviceselectors.libraries.max_sizes import MaxSize
from deviceselectors.runtime import effort
from deviceselectors.runtime.showing import checked_length, show
from deviceselectors.runtime.values import LIST_CLASSES, MAX_CHARACTERS, CelError, out_of_memory
from deviceselectors.sizes import TRAVERSAL, Size, add, multiply, scale
from resourceapi.go_text import QUOTE_ESCAPES

#: what Go's strings.TrimSpace trims; Python's strip() takes more
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
#: An element of a list of texts takes memory as this many characters do.
_PART = 16
_SHORT = 16
_LOWER = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
_UPPER = {c: c - 32 for c in range(ord("a"), ord("z") + 1)}
_QUOTED = str.maketrans(QUOTE_ESCAPES)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    """The character, or "" right behind the last one."""
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    return text.find(part, offset)


def _find_last(text: str, part: str) -> int:
    if len(part) <= _SHORT:
        return text.rfind(part)
    # unlike find, rfind takes the product of both lengths
    found = text[::-1].find(part[::-1])
    return -1 if found < 0 else len(text) - len(part) - found


def _last_index_of_from(text: str, part: str, offset: int) -> int:
    """The last occurrence that begins at the offset or before it."""
    if offset < 0:
        raise _out_of_range(offset)
    if not part:
        return min(offset, len(text))
    if offset >= len(text):
        return -1
    return _find_last(text[: offset + len(part)], part)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
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


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
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


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def _join(parts: Any, separator: str = "") -> str:
    size = len(separator) * len(parts)
    for part in parts:
        if part.__class__ is not str:
            raise CelError(f"join: invalid input: {show(part)}")
        size += len(part)
    if size > MAX_CHARACTERS + len(separator):
        raise out_of_memory()
    return checked_length(separator.join(parts))


def _quote(text: str) -> str:
    """`strings.quote(text)`."""
    return f'"{text.translate(_QUOTED)}"'


# ---------------------------------------------------------------- costs


def _estimate_contains(arguments: list[Argument]) -> tuple[int, Size | None]:
    text, part = arguments
    return multiply(scale(text.size[1], TRAVERSAL), scale(part.size[1], TRAVERSAL)), None


def _estimate_replace(arguments: list[Argument]) -> tuple[int, Size | None]:
    size, old, new = [argument.size for argument in arguments[:3]]
    most = least = retained_most = retained_least = 0
    if old[0] == 0:
        # An empty string stands between all characters and at both ends.
        most, retained_most = add(size[1], 1), size[1]
    elif new[1] <= old[0]:
        retained_most = size[1]
    else:
        most = _to_uint(float(ceil(float(size[1]) / float(old[0]))))
    if old[1] == 0:
        least, retained_least = add(size[0], 1), size[0]
    elif old[1] <= new[0]:
        retained_least = size[0]
    else:
        least = _to_uint(float(ceil(float(size[0]) / float(old[1]))))
    result = add(multiply(least, new[0]), retained_least), add(multiply(most, new[1]), retained_most)
    return scale(size[1], 2 * TRAVERSAL), result


def _to_uint(value: float) -> int:
    """The conversion of a float to an unsigned number in Go on the servers' processors."""
    return int(value) if value < 2.0**64 else 2**63


def _estimate_split(arguments: list[Argument]) -> tuple[int, Size | None]:
    most = arguments[0].size[1]
    limit = arguments[2].number() if len(arguments) > 2 else None
    return scale(most, 2 * TRAVERSAL), (0, most if limit is None else wrapped(limit))


def _estimate_join(arguments: list[Argument]) -> tuple[int, Size | None]:
    count, size = arguments[0].size, (0, 0)
    element = element_of(arguments[0])
    if element is not None:
        size = multiply(count[0], element[1][0]), multiply(count[1], element[1][1])
    if len(arguments) > 1:
        separator = arguments[1].size
        size = (
            add(size[0], multiply(separator[0], max(count[0] - 1, 0))),
            add(size[1], multiply(separator[1], max(count[1] - 1, 0))),
        )
    return scale(size[1], TRAVERSAL), size


def _estimate_quote(arguments: list[Argument]) -> tuple[int, Size | None]:
    least, most = arguments[0].size
    return scale(most, TRAVERSAL), (wrapped(least + 2), wrapped(most * 2 + 2))


def _cost_of_join(parts: Any, *separators: Any) -> int:
    """By the size of the result, computed before there is one."""
    if parts.__class__ not in LIST_CLASSES or any(s.__class__ is not str for s in separators):
        return 1
    length = sum([len(s) for s in separators]) * (len(parts) - 1) if len(parts) else 0
    for part in parts:
        if part.__class__ is not str:
            return 1
        length += len(part)
    return ceil(length * 2 * 0.1)


def _joined_size(sizes: list[MaxSize]) -> MaxSize:
    separator = sizes[1].count if len(sizes) > 1 else 0
    return MaxSize(sizes[0].count * (sizes[0].element().count + separator))


# ---------------------------------------------------------------- rows


def _test(name: str, overload: str, run: Run, **facts: Any) -> Function:
    """The row of a test of a string and another one, whose arguments cel-go assumes to be strings."""
    return Function(name, Overload(f".{overload} string; string > bool", run), guard=TWO_STRINGS, **facts)


def _part(name: str, *overloads: Overload) -> Function:
    """The row of a function that gives a part of a string, or one as long."""
    return Function(
        name,
        *overloads,
        estimate=estimates.transforms,
        cost=actual_costs.reads_target(),
        result_size=max_sizes.of_first,
    )


def _position(name: str, *overloads: Overload) -> Function:
    """The row of a function that searches a string for another."""
    return Function(
        name,
        *overloads,
        estimate=estimates.reads_elements,
        cost=actual_costs.reads_elements,
        bound=max_sizes.reads_elements,
    )


FUNCTIONS = (
    _test(
        "contains",
        "contains_string",
        lambda text, part: part in text,
        estimate=_estimate_contains,
        cost=lambda text, part: tenth(size_of(text)) * tenth(size_of(part)),
    ),
    _test(
        "startsWith",
        "starts_with_string",
        lambda text, prefix: text.startswith(prefix),
        estimate=estimates.reads(1),
        cost=actual_costs.reads(1),
    ),
    _test(
        "endsWith",
        "ends_with_string",
        lambda text, suffix: text.endswith(suffix),
        estimate=estimates.reads(1),
        cost=actual_costs.reads(1),
    ),
    Function(
        "charAt", Overload(".string_char_at_int string; int > string", _char_at), result_size=max_sizes.scalar
    ),
    _position(
        "indexOf",
        Overload(".string_index_of_string string; string > int", _index_of),
        Overload(".string_index_of_string_int string; string; int > int", _index_of),
    ),
    _position(
        "lastIndexOf",
        Overload(".string_last_index_of_string string; string > int", _find_last),
        Overload(".string_last_index_of_string_int string; string; int > int", _last_index_of_from),
    ),
    _part(
        "lowerAscii",
        Overload(
            ".string_lower_ascii string > string",
            lambda text: text.lower() if text.isascii() else text.translate(_LOWER),
        ),
    ),
    _part(
        "upperAscii",
        Overload(
            ".string_upper_ascii string > string",
            lambda text: text.upper() if text.isascii() else text.translate(_UPPER),
        ),
    ),
    _part("trim", Overload(".string_trim string > string", lambda text: text.strip(_SPACE))),
    _part(
        "substring",
        Overload(".string_substring_int string; int > string", _substring),
        Overload(".string_substring_int_int string; int; int > string", _substring_range),
    ),
    Function(
        "replace",
        Overload(".string_replace_string_string string; string; string > string", _replace),
        Overload(".string_replace_string_string_int string; string; string; int > string", _replace),
        estimate=_estimate_replace,
        cost=actual_costs.reads_target(2),
        result_size=lambda sizes: MaxSize((sizes[0].count + 1) * (sizes[2].count + 1)),
    ),
    Function(
        "split",
        Overload(".string_split_string string; string > list(string)", _split),
        Overload(".string_split_string_int string; string; int > list(string)", _split),
        estimate=_estimate_split,
        cost=actual_costs.reads_target(2),
        result_size=max_sizes.parts,
    ),
    Function(
        "join",
        Overload(".list_join list(string) > string", _join),
        Overload(".list_join_string list(string); string > string", _join),
        estimate=_estimate_join,
        cost=_cost_of_join,
        bound=max_sizes.makes_result,
        result_size=_joined_size,
    ),
    Function(
        "strings.quote",
        Overload("strings_quote string > string", _quote),
        estimate=_estimate_quote,
        cost=actual_costs.reads(0),
        result_size=lambda sizes: MaxSize(sizes[0].count * 2 + 2),
    ),
)
