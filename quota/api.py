"""What is asked of an API server here: one request, one answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

PAGE = 500


class Unavailable(Exception):
    """The API server did not answer, or refused what it should not."""


class Api(Protocol):
    """A client of one API server; may be used by many threads at once."""

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request (GET, POST, PUT, DELETE; ``body`` is JSON) and return its HTTP status and JSON body.

        Raises :class:`Unavailable` if there is no answer.
        """


def items(api: Api, path: str) -> Iterator[dict[str, Any]]:
    """The objects of a list, page by page; all pages are of one moment, not before the call.

    :raises Unavailable: if the list cannot be had.
    """
    query = {"limit": str(PAGE)}
    while True:
        code, page = api.request("GET", path, query=query)
        if code != 200 or not isinstance(page, dict):
            raise Unavailable(f"GET {path}: {_reason(code, page)}")
        yield from page.get("items") or ()
        following = (page.get("metadata") or {}).get("continue")
        if not following:
            return
        query = {"limit": str(PAGE), "continue": following}


def expect(answer: tuple[int, Any], what: str, *codes: int) -> Any:
    """The body of an answer with one of the codes. Raises Unavailable for any other."""
    code, body = answer
    if code not in codes:
        raise Unavailable(f"{what}: {_reason(code, body)}")
    return body


def _reason(code: int, body: Any) -> str:
    message = body.get("message") if isinstance(body, dict) else None
    return f"{code} {message}" if message else str(code)
