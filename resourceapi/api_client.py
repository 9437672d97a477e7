"""What the packages expect of a client of an API server; ``cluster.client`` is the implementation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from resourceapi.errors import ClaimcheckError
from resourceapi.manifests import mapping, text
from resourceapi.objects import Object

FIRST_PAGE = 25
PAGE = 500


class Unavailable(ClaimcheckError):
    """The API server did not answer, or refused what it should not.

    ``code``: the HTTP status of the refusal, 0 without an answer.  ``reason``: the server's message or what went wrong,
    without the request.
    """

    def __init__(self, message: str, *, code: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason or message


class TooLarge(Unavailable):
    """The API server's answer has more bytes than are read."""


class Api(Protocol):
    """A client of one API server; may be used by many threads at once."""

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request and return its HTTP status and JSON body.

        :param verb: GET, POST, PUT, DELETE, or PATCH with a JSON merge patch (RFC 7386).
        :raises Unavailable: if there is no answer, :class:`TooLarge` if there is more of one than fits in memory.
        """


class Listing:
    """The objects of a collection, page by page; all pages show it at one moment, not before the iteration begins.

    How large objects are is up to those who make them, so pages begin small, and become smaller where one is too large.
    ``revision`` is the resourceVersion to watch from, once all pages are read.
    """

    def __init__(self, api: Api, path: str, most: int | None = None) -> None:
        """Describe the list; nothing is requested yet.

        :param path: of the collection, from ``/api`` or ``/apis`` on.
        :param most: the number of objects to read at most; more of them are an error.
        """
        self.revision = ""
        self._api = api
        self._path = path
        self._most = most

    def __iter__(self) -> Iterator[Object]:
        """Request the pages one after the other.

        :raises Unavailable: if the collection cannot be read to its end.
        """
        size, largest, following, seen = FIRST_PAGE, PAGE, "", 0
        while True:
            query = {"limit": str(size), **({"continue": following} if following else {})}
            try:
                answer = self._api.request("GET", self._path, query=query)
            except TooLarge:
                if size == 1:
                    raise
                size = largest = max(1, size // 4)
                continue
            page = expect(answer, f"GET {self._path}", 200)
            found = page.get("items") or ()
            seen += len(found)
            if self._most is not None and seen > self._most:
                raise Unavailable(f"GET {self._path}: there are more than {self._most:,}")
            yield from found
            metadata = mapping(page, "metadata")
            following = text(metadata, "continue")
            if not following:
                self.revision = text(metadata, "resourceVersion")
                return
            size = min(2 * size, largest)


def expect(answer: tuple[int, Any], what: str, *codes: int) -> Any:
    """The object in an answer with one of these HTTP statuses.

    :param what: the request, for the message.
    :raises Unavailable: for any other answer.
    """
    code, body = answer
    if code in codes and isinstance(body, dict):
        return body
    message = text(body, "message") if isinstance(body, dict) else ""
    raise Unavailable(f"{what}: {code} {message}".rstrip(), code=code, reason=message)
