"""What a question of the page has to name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from serving.browser_pages import Query
from serving.routes import HTTPError

_T = TypeVar("_T")
#: No list of the page has a place with more digits.
_MOST_DIGITS = 6


def given(query: Query, key: str) -> str:
    """A part of a question.

    :raises HTTPError: if it is missing.
    """
    if key not in query:
        raise HTTPError(f"{key} is missing")
    return query[key]


def numbered(things: Sequence[_T], number: str, otherwise: str) -> _T:
    """The one of several things whose place, counted from 0, is given as text.

    :raises HTTPError: if there is none, in the words of `otherwise`.
    """
    is_place = number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS
    if not is_place or int(number) >= len(things):
        raise HTTPError(otherwise, 404)
    return things[int(number)]


def whole(query: Query, key: str, most: int) -> int:
    """A number from 1 on in a question.

    :raises HTTPError: if it is none, or more than the most.
    """
    number = given(query, key)
    if not (
        number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS and 1 <= int(number) <= most
    ):
        raise HTTPError(f"{key}: expected a number from 1 to {most:,}")
    return int(number)
