"""What the packages expect of a client of an API server; ``cluster.client`` is the implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from resourceapi.errors import ClaimcheckError
from resourceapi.manifests import mapping, name_of, text
from resourceapi.objects import Object

#: Statuses of answers.
OK, CREATED = 200, 201
FORBIDDEN, NOT_FOUND, CONFLICT, INVALID = 403, 404, 409, 422
#: The first status that blames the client, and the first that does not.
FIRST_OF_CLIENT, FIRST_OF_SERVER = 400, 500
FIRST_PAGE = 25
PAGE = 500
#: What a command reads of one collection: more than the pods of the largest cluster that Kubernetes supports (150,000).
MOST_OBJECTS = 200_000
#: How many pages of a list may have fewer objects than were asked for and lead further: those of kube-apiserver have as many.
MOST_SHORT_PAGES = 100


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


class TooMuch(Unavailable):
    """All answers of the API server together have more bytes than are read."""


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

    How large objects are is up to those who make them, so pages begin small, become smaller where one is too large, and
    grow slowly after that: a large object does not make all that come after it a page each.
    ``revision`` is the resourceVersion to watch from, once all pages are read.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        most: int | None = None,
        hold: Callable[[Object], None] = lambda obj: None,
    ) -> None:
        """Describe the list; nothing is requested yet.

        :param path: of the collection, from ``/api`` or ``/apis`` on.
        :param most: the number of objects to read at most; more of them are an error.
        :param hold: is told of each object; may raise Unavailable to end the list.
        """
        self.revision = ""
        self._api = api
        self._path = path
        self._most = most
        self._hold = hold

    def __iter__(self) -> Iterator[Object]:
        """Request the pages one after the other.

        :raises Unavailable: if the collection cannot be read to its end.
        """
        size, largest, following, seen, short = FIRST_PAGE, PAGE, "", 0, 0
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
            found = page.get("items") or []
            if not isinstance(found, list) or not all(map(_is_object, found)):
                raise Unavailable(f"GET {self._path}: the answer is not a list of objects")
            seen += len(found)
            if self._most is not None and seen > self._most:
                raise Unavailable(f"GET {self._path}: there are more than {self._most:,}")
            for each in found:
                self._hold(each)
                yield each
            metadata = mapping(page, "metadata")
            before, following = following, text(metadata, "continue")
            if not following:
                self.revision = text(metadata, "resourceVersion")
                return
            short += len(found) < size
            if not found or following == before or short > MOST_SHORT_PAGES:
                raise Unavailable(f"GET {self._path}: the list does not end")
            size = min(2 * size, largest)
            largest = min(largest + max(1, largest // 8), PAGE)


def get_object(api: Api, path: str, kind: str, name: str) -> Object:
    """The object at a path.

    :param kind: of the object that is asked for, as ``name``; anything else is no answer.
    :raises Unavailable: if it cannot be read; with the server's message where there is none.
    """
    return expect_object(api.request("GET", path), f"GET {path}", kind, name)


def expect_object(answer: tuple[int, Any], what: str, kind: str, name: str) -> Object:
    """The object of this kind and name in an answer.

    :param what: the request, for the message.
    :raises Unavailable: for any other answer.
    """
    found: Object = expect(answer, what, 200)
    if not _is_object(found) or name_of(found) != name or found.get("kind", kind) != kind:
        raise Unavailable(f"{what}: the answer is not the {kind} that was asked for")
    return found


def expect(answer: tuple[int, Any], what: str, *codes: int) -> Any:
    """The object in an answer with one of these HTTP statuses.

    :param what: the request, for the message.
    :raises Unavailable: for any other answer.
    """
    code, body = answer
    if code in codes and isinstance(body, dict):
        return body
    if code in codes:
        raise Unavailable(f"{what}: the answer is not an object")
    message = text(body, "message")
    raise Unavailable(f"{what}: {code} {message}".rstrip(), code=code, reason=message)


def _is_object(value: Any) -> bool:
    """Whether it has the metadata without which no API server stores an object."""
    namespace = mapping(value, "metadata").get("namespace", "")
    return bool(name_of(value)) and isinstance(namespace, str)
