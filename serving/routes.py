"""Routes: what a server answers at which path, described by whoever hands it in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from resourceapi.json_text import parse
from resourceapi.json_values import JSONError
from resourceapi.phrases import shortened

# The client of one request: how far it is known, and how long it waits for the answer.

_MAX_DURATION_LENGTH = 32
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?)(h|ms|m|us|µs|ns|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
# The answer has to arrive before the client gives up; API servers round their timeout up to whole seconds.
_USED_SHARE = 0.9


class Deadline(Protocol):
    """How long a client waits; all methods may be called by any thread."""

    def stop(self) -> None:
        """Note that the client no longer waits."""

    def is_open(self) -> bool:
        """Whether the client still waits."""

    def seconds_left(self) -> float:
        """Seconds until the client gives up; never negative."""


class Caller(NamedTuple):
    """The client of one request.

    ``doubt``: why it may be somebody else than a client that may ask for everything; empty if its certificate proves that.
    ``deadline``: how long it waits.
    ``size``: bytes of the request's body.
    """

    doubt: str
    deadline: Deadline
    size: int = 0


def seconds_to_answer(query: str, most: float) -> float:
    """How many seconds the answer to a request may take.

    :param query: of the request's URL; API servers state how long they wait (``timeout=10s``, a Go duration).
    :param most: seconds, whatever the query says, or if it says nothing that can be parsed.
    """
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name == "timeout":
            wanted = _seconds(value)
            return most if wanted is None else min(most, wanted * _USED_SHARE)
    return most


def _seconds(duration: str) -> float | None:
    if not 0 < len(duration) <= _MAX_DURATION_LENGTH or _DURATION.sub("", duration):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(duration)) or None


# A body or handler that takes longer than a millisecond or so must not keep health checks and small requests waiting: a body
# takes up to 4 µs a byte, and where it has expressions 10 µs, so from here on it is decoded and handled in a thread.
BRIEF_BYTES = 8 * 1024
LARGE_BYTES = 64 * 1024
# A body tells its namespace within the first so many bytes, or not at all.
NAMESPACE_BYTES = 64 * 1024
MAX_MESSAGE = 2000
_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class HTTPError(Exception):
    """A request that is answered with an HTTP error.

    ``code`` is its status; ``message``, its body, is never long.
    """

    def __init__(self, message: str, code: int = 400) -> None:
        super().__init__(message)
        self.message = shortened(message, MAX_MESSAGE)
        self.code = code


class Waiting(NamedTuple):
    """The rest of a handler that has to wait for other servers: :attr:`finish` runs in a thread for such waiting.

    ``too_late`` is the error message if it takes longer than the client waits, ``too_many`` if there is no place to wait.
    ``namespace``: namespaces take turns, and none has two threads at once; None where requests need no turns.
    ``shares``: whether a namespace has as many threads as it leaves free instead of one.
    """

    finish: Callable[[], Any]
    too_late: str
    too_many: str
    namespace: str | None = None
    shares: bool = False


def decode_json(body: bytes, *, keep_repeated: bool = False) -> Any:
    """Decode a body.

    :param keep_repeated: keep all members of a repeated key, as :func:`resourceapi.json_text.parse` does.
    :raises HTTPError: if it is not JSON.
    """
    try:
        return parse(body, keep_repeated=keep_repeated, in_turns=len(body) >= LARGE_BYTES)
    except JSONError as error:
        raise HTTPError(f"the body is not JSON: {error}") from None


def encode_json(body: bytes, answer: Any) -> bytes:
    """An answer as compact JSON; the body of the request does not matter."""
    return json_bytes(_to_json(answer))


def json_bytes(text: str) -> bytes:
    """JSON as UTF-8; lone surrogates, which that cannot hold, stay the escapes of JSON that they came as."""
    return text.encode("utf-8", "backslashreplace")


def _is_quick(decoded: Any, size: int) -> bool:
    return False


def _no_namespace(body: bytes) -> str:
    return ""


def _ignore(decoded: Any, answer: Any) -> None:
    pass


def _no_fields(decoded: Any) -> Mapping[str, str]:
    return {}


class Route(NamedTuple):
    """What is answered to POST requests with a JSON body at one path.

    ``handler``: makes the answer from the decoded body, or says what it has to wait for; raises :class:`HTTPError`.
    ``max_bytes``: of a body.
    ``may_block``: whether the handler may take longer than a millisecond, told from the decoded body and its size; it then
    runs in a thread, as it always does, with ``decode``, for bodies of at least :data:`BRIEF_BYTES`.
    ``encode``: makes the body of the response from the request's and the answer; both run in the handler's thread.
    ``decode``: decodes a body, once for each request; raises :class:`HTTPError`.
    ``lane``: routes with the same lane share the slots for requests that may block.
    ``namespace``: told from a body, or its beginning, before it is decoded, and only for this: namespaces take turns in
    slots and at the room for bodies. What belongs to none may name somebody else in a way in which no namespace is called.
    ``answered``: called with the decoded body and the answer once that is encoded, to count and to log it.
    ``log_fields``: fields for the log if the handler fails, from the decoded body.
    """

    path: str
    handler: Callable[[Any, Caller], Any | Waiting]
    max_bytes: int
    may_block: Callable[[Any, int], bool] = _is_quick
    encode: Callable[[bytes, Any], bytes | bytearray] = encode_json
    decode: Callable[[bytes], Any] = decode_json
    lane: str = ""
    namespace: Callable[[bytes], str] = _no_namespace
    answered: Callable[[Any, Any], None] = _ignore
    log_fields: Callable[[Any], Mapping[str, str]] = _no_fields

    @property
    def name(self) -> str:
        """The name for metrics and logs."""
        return self.path[1:]


# Which clients may ask for what, by their TLS certificates.

NO_CERTIFICATE = "a client certificate is needed"
OTHER_CLIENT = "the client certificate is for somebody else"


class Clients:
    """The clients that may ask for everything: those with a certificate that TLS has verified.

    :param names: if there are any, the certificate must have one of these common names.
    :param for_all_requests: whether other clients are refused altogether.
    """

    def __init__(self, names: tuple[str, ...] = (), *, for_all_requests: bool = True) -> None:
        self._names = frozenset(names)
        self._for_all_requests = for_all_requests

    def doubt(self, certificate: Any) -> str:
        """Why a client is none of these; empty if it is one.

        :param certificate: as :meth:`ssl.SSLSocket.getpeercert` describes it; empty for none.
        """
        if not certificate:
            return NO_CERTIFICATE
        if self._names and self._names.isdisjoint(_common_names(certificate)):
            return OTHER_CLIENT
        return ""

    def check(self, certificate: Any) -> str:
        """The doubt about a client whose requests are answered.

        :param certificate: as for :meth:`doubt`.
        :raises HTTPError: if it is refused.
        """
        doubt = self.doubt(certificate)
        if doubt and self._for_all_requests:
            raise HTTPError(doubt, 403)
        return doubt


def _common_names(certificate: Any) -> list[str]:
    return [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
