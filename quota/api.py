"""What is asked of an API server here: one request, one answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

FIRST_PAGE = 25
PAGE = 500


class Unavailable(Exception):
    """The API server did not answer, or refused what it should not."""


class TooLarge(Unavailable):
    """The API server's answer has more bytes than are read."""


class Api(Protocol):
    """A client of one API server; may be used by many threads at once."""

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request (GET, POST, PUT, DELETE; ``body`` is JSON) and return its HTTP status and JSON body.

        Raises :class:`Unavailable` if there is no answer, :class:`TooLarge` if there is more of one than fits in memory.
        """


def items(api: Api, path: str, most: int | None = None) -> Iterator[dict[str, Any]]:
    """The objects of a list, page by page; all pages are of one moment, not before the call.

    How large objects are is up to those who make them, so pages begin small, and become smaller where one is too large.

    :param most: how many are read at most; more of them are an error.
    :raises Unavailable: if the list cannot be had.
    """
    size, largest, following, seen = FIRST_PAGE, PAGE, "", 0
    while True:
        query = {"limit": str(size), **({"continue": following} if following else {})}
        try:
            code, page = api.request("GET", path, query=query)
        except TooLarge:
            if size == 1:
                raise
            size = largest = max(1, size // 4)
            continue
        if code != 200 or not isinstance(page, dict):
            raise Unavailable(f"GET {path}: {_reason(code, page)}")
        found = page.get("items") or ()
        seen += len(found)
        if most is not None and seen > most:
            raise Unavailable(f"GET {path}: there are more than {most:,}")
        yield from found
        following = str((page.get("metadata") or {}).get("continue") or "")
        if not following:
            return
        size = min(2 * size, largest)


def expect(answer: tuple[int, Any], what: str, *codes: int) -> Any:
    """The body of an answer with one of the codes. Raises Unavailable for any other."""
    code, body = answer
    if code not in codes:
        raise Unavailable(f"{what}: {_reason(code, body)}")
    return body


def _reason(code: int, body: Any) -> str:
    message = body.get("message") if isinstance(body, dict) else None
    return f"{code} {message}" if message else str(code)
