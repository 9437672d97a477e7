"""The webhooks behind HTTP: what is taken for a request, how much of it, for how long.

Independent of TLS, sockets and processes (:mod:`webhook.worker`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from asyncio import CancelledError, Semaphore
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import islice
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Any, NamedTuple

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from deviceselectors.request_budget import BudgetSpentError, RequestBudget, within
from resourceapi.go_text import json_parts
from resourceapi.json_memory import JSONMemory, most_values
from resourceapi.json_text import may_have_literals, parse
from resourceapi.json_values import JSONError
from resourceapi.limits import CLAIM_EXPRESSIONS_BYTES, STORED_OBJECT_BYTES
from resourceapi.objects import Object
from serving.connections import Connections
from serving.fast_http import DirectConnection, Head
from serving.http_server import Handler, Response, in_spoken_version, refusal
from serving.http_server import text as _text
from serving.logs import LOGGER, log
from serving.shared_slot import SharedSlot
from webhook.callers import Caller, seconds_to_answer
from webhook.clients import NONE_SHOWN, Clients
from webhook.context import Context
from webhook.converting import convert
from webhook.metrics import Metrics
from webhook.mutating import mutate
from webhook.reviews import WebhookError
from webhook.validating import asks_quota, begin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ADMISSION_BYTES = 3 * 1024 * 1024
CONVERSION_BYTES = 32 * 1024 * 1024
REVIEW_SECONDS = 10.0
# What takes longer than a millisecond or so must not keep health checks and small reviews waiting.
LARGE_BYTES = 64 * 1024
# Expressions take up to 10 µs a byte: of objects that may have some, this is what health checks wait for at most.
WITH_EXPRESSIONS_BYTES = 8 * 1024
_WITH_EXPRESSIONS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
# Of what is larger: so many at once, of each kind of work, so that small ones find the processor free.
MAX_LARGE = 1
MAX_MEDIUM = 2
# No object that can be stored has more.
EXPRESSIONS_BYTES = min(CLAIM_EXPRESSIONS_BYTES, STORED_OBJECT_BYTES)
# Reviews that wait for the API server's answers about quota do so in threads of their own, and so many more queue.
QUOTA_THREADS = 16
MAX_WAITING = 256
# What is read may take so many times the memory of the largest body, as far as that can be told before: the densest that
# API servers send is estimated at twenty times its size, what has longer texts at less than seven times.
MEMORY_PER_BYTE = 7
# Bodies that take more memory than some tens of MiB come one by one.
HUGE_BYTES = 4 * 1024 * 1024
HUGE_VALUES = 256 * 1024
# So many parts of a large answer are put together at a time.
_PARTS = 4096
# So many of the largest bodies may be held at once, read in part or waiting.
MAX_HELD = 2
JSON = "application/json"
SPOKEN = web.RequestKey("spoken", bool)  # whether the version of HTTP is
_CROWDED = "too many large reviews wait"
PLAIN = "text/plain; charset=utf-8"
_encoded = json.JSONEncoder(separators=(",", ":")).encode


def _written(answer: Object) -> bytes:
    """An answer as it is sent, all ASCII."""
    return _encoded(answer).encode("ascii")


# An answer, or what has to wait for others before there is one.
Outcome = Object | Callable[[], Object]
WEBHOOKS: dict[str, Callable[[Any, Context, Caller], Outcome]] = {
    "/validate": begin,
    "/mutate": lambda review, context, caller: mutate(review, context),
    "/convert": lambda review, context, caller: convert(review, context, caller.budget),
}


class Limits(NamedTuple):
    """What a body may take: seconds, and bytes of an AdmissionReview and of a ConversionReview.

    ``review``: the seconds that the answer may take if the client does not wait less.
    """

    seconds: float
    admission: int = ADMISSION_BYTES
    conversion: int = CONVERSION_BYTES
    review: float = REVIEW_SECONDS

    def bytes_at(self, path: str) -> int:
        return self.conversion if path == "/convert" else self.admission

    @property
    def memory(self) -> int:
        """Bytes of memory that one body may take when it is read."""
        return MEMORY_PER_BYTE * max(self.admission, self.conversion)


class Reply(NamedTuple):
    """What is answered to a request: HTTP status, body and what it is."""

    code: int
    body: bytes | bytearray
    content_type: str = JSON

    def response(self) -> web.Response:
        """For the general server."""
        return Response(status=self.code, body=self.body, headers={"Content-Type": self.content_type})


class _Unfinished(NamedTuple):
    """A review whose answer has to wait for others."""

    review: Any
    finish: Callable[[], Object]


class Service:
    """Answers requests from ``context``, which may be replaced at any time.

    While ``draining``, connections are closed with the next answer on each, and the service is not ready.
    """

    def __init__(
        self,
        context: Context,
        metrics: Metrics,
        limits: Limits,
        clients: Clients | None = None,
        is_ready: Callable[[], bool] = lambda: True,
        open_connections: Connections | None = None,
        huge_slot: SharedSlot | None = None,
    ) -> None:
        """
        :param open_connections: where to tell what is idle.
        :param huge_slot: what all processes share for huge bodies.
        :param clients: who may ask for what; None if nobody is known.
        :param is_ready: whether all is known that verdicts need.
        """
        self.context = context
        self.metrics = metrics
        self._is_ready = is_ready
        self.draining = False
        self._limits = limits
        self.open_connections = Connections(1_000_000) if open_connections is None else open_connections
        self._huge_slot = huge_slot
        self._clients = clients
        self._server: web.Server | None = None
        self.direct: set[DirectConnection] = set()
        self._slots: dict[tuple[str, str], Semaphore] = {}
        self._workers = ThreadPoolExecutor(thread_name_prefix="review")
        self._quota = ThreadPoolExecutor(QUOTA_THREADS, "quota")
        self._waiting = 0
        self._strangers = 0  # whose reviews wait for a slot
        self._held = 0  # bytes of bodies
        self._pages: dict[str, Callable[[], web.Response]] = {
            "/healthz": lambda: _text(200, "ok"),
            "/readyz": self._readiness,
            "/metrics": self._metrics_page,
        }

    def server(self, *, idle_seconds: float) -> Callable[[], asyncio.Protocol]:
        """What makes the protocol of the general server; needs a running loop."""
        loop = asyncio.get_running_loop()

        def make_request(
            message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]
        ) -> web.BaseRequest:
            message, is_spoken = in_spoken_version(message)
            request = web.BaseRequest(message, payload, protocol, writer, task, loop)
            request[SPOKEN] = is_spoken
            return request

        self._server = server = web.Server(
            self.handle, request_factory=make_request, handler_cancellation=True
        )
        logger = _server_log()
        return lambda: Handler(
            server,
            loop=loop,
            keepalive_timeout=idle_seconds,
            access_log=None,  # type: ignore[arg-type]  # which is how to have none
            logger=logger,
            auto_decompress=False,
            lingering_time=1.0,
        )

    def protocol(self, *, idle_seconds: float) -> Callable[[], asyncio.Protocol]:
        """What answers on a connection; needs a running loop."""
        general = self.server(idle_seconds=idle_seconds)
        return lambda: DirectConnection(self, general, idle_seconds=idle_seconds)

    def connections(self) -> int:
        """How many connections are open."""
        return len(self.direct) + (len(self._server.connections) if self._server is not None else 0)

    async def shutdown(self, seconds: float) -> None:
        """End all connections; what is under way may take some seconds more."""
        for connection in list(self.direct):
            connection.close()
        if self._server is not None:
            self._server.pre_shutdown()
            await self._server.shutdown(seconds)
        for pool in (self._workers, self._quota):
            pool.shutdown(wait=False, cancel_futures=True)

    def answers_directly(self, head: Head, transport: asyncio.Transport | None) -> bool:
        """Whether a request is a small one for a webhook, of a client that may ask."""
        if (
            not self._is_served(head.path)
            or head.length >= LARGE_BYTES
            or self.draining
            or not self._is_ready()
        ):
            return False
        if self._clients is not None and transport is not None:
            try:
                self._clients.check(transport.get_extra_info("peercert"))
            except WebhookError:
                return False
        return True

    def reply(self, head: Head, body: bytes, transport: asyncio.Transport | None) -> Reply | None:
        """What is answered to the body of a review, at once, and counted; None if it would keep others waiting."""
        path, webhook, code = head.path, head.path[1:], None
        entered = self.metrics.enter(webhook)
        try:
            try:
                review = _parsed(path, body)
                if self._takes_long(path, review, len(body)):
                    return None
                certificate = None if transport is None else transport.get_extra_info("peercert")
                reply = self._begin(path, body, review, self._caller(certificate, head.query, len(body)))
            except WebhookError as error:
                reply = _refused(path, error)
            if isinstance(reply, _Unfinished):  # never, as long as both ways know alike what has to wait
                return None
            code = reply.code
            return reply
        finally:
            self.metrics.leave(webhook, entered, code)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Any request."""
        path = request.path
        if not request.get(SPOKEN, True):
            response: web.StreamResponse = refusal(505)
        elif self._is_served(path):
            response = await self._measured(path, request)
        elif path not in self._pages:
            response = _text(404, "there is nothing here")
        elif request.method not in ("GET", "HEAD"):
            response = _text(405, "only GET", Allow="GET, HEAD")
        else:
            response = self._pages[path]()
        self.open_connections.answered(request.transport)
        if self.draining:
            response.force_close()
        return response

    def _is_served(self, path: str) -> bool:
        """Whether a webhook answers there; nobody has to ask for conversions of kinds that are built in."""
        return path in WEBHOOKS and (path != "/convert" or self.context.rules)

    def _readiness(self) -> web.Response:
        if self.draining:
            return _text(503, "shutting down")
        return _text(200, "ok") if self._is_ready() else _text(503, "not ready")

    def _metrics_page(self) -> web.Response:
        body, content_type = self.metrics.exposition()
        return Response(body=body, headers={"Content-Type": content_type})

    async def _measured(self, path: str, request: web.BaseRequest) -> web.Response:
        webhook, code = path[1:], None
        entered = self.metrics.enter(webhook)
        try:
            response = await self._review(path, request)
            code = response.status
        finally:
            self.metrics.leave(webhook, entered, code)
        return response

    async def _review(self, path: str, request: web.BaseRequest) -> web.Response:
        """The answer to a review; whatever is no review, or cannot be read in time, is an HTTP error."""
        try:
            certificate = request.get_extra_info("peercert")
            if self._clients is not None:
                self._clients.check(certificate)
            if not self._is_ready():
                raise WebhookError("not ready", 503)
            limit = self._limits.bytes_at(path)
            _check_head(request, limit)
            body = _received(request, limit, self._limits.memory)
            if body is None:
                body = await self._read(request, limit)
            self.open_connections.works(request.transport)
            self._held += len(body)
            try:
                caller = self._caller(certificate, request.query_string, len(body))
                return (await self._answer_in_time(path, body, caller)).response()
            finally:
                self._held -= len(body)
        except WebhookError as error:
            response = _refused(path, error).response()
            if error.code != 400:
                response.force_close()  # what is left of the body is of no interest
            return response

    async def _answer_in_time(self, path: str, body: bytes, caller: Caller) -> Reply:
        """The answer, made elsewhere if it would keep others waiting; none is made for clients that have left."""
        try:
            if len(body) >= LARGE_BYTES:
                outcome = await self._elsewhere(path, body, caller)
            else:
                review = _parsed(path, body)
                if self._has_many_expressions(review, len(body)):
                    outcome = await self._elsewhere(path, body, caller)
                else:
                    outcome = self._begin(path, body, review, caller)
            if isinstance(outcome, _Unfinished):
                return await self._finish(path, outcome, caller)
            return outcome
        except CancelledError:
            caller.budget.stop()
            raise

    def _takes_long(self, path: str, review: Any, size: int) -> bool:
        """Whether others would be kept waiting by the answer to a review that is read."""
        if self._has_many_expressions(review, size):
            return True
        return path == "/validate" and self.context.quota is not None and asks_quota(review)

    def _has_many_expressions(self, review: Any, size: int) -> bool:
        """Whether there may be more of them than can be compiled in no time."""
        return size >= WITH_EXPRESSIONS_BYTES and _kind(review) in _WITH_EXPRESSIONS

    async def _elsewhere(self, path: str, body: bytes, caller: Caller) -> Reply | _Unfinished:
        """The outcome of a body that takes time, in a thread, as soon as there is a slot for it.

        Clients that nobody knows are not in the way of those that are known, nor take all places for connections by
        waiting.
        """

        def work() -> Reply | _Unfinished:
            return self._begin(path, body, _parsed(path, body), caller)

        slot = self._slot(path, body, caller)
        is_stranger = bool(caller.doubt)
        if is_stranger and slot.locked() and self._strangers >= self.open_connections.half:
            raise WebhookError(_CROWDED, 503)
        self._strangers += is_stranger
        try:
            async with _in_time(caller, _CROWDED):
                await slot.acquire()
        finally:
            self._strangers -= is_stranger
        return await _unhurried(self._workers, work, slot.release)

    def _slot(self, path: str, body: bytes, caller: Caller) -> Semaphore | SharedSlot:
        size = len(body)
        is_huge = size >= HUGE_BYTES or (size >= HUGE_VALUES and most_values(body) >= HUGE_VALUES)
        if is_huge and self._huge_slot is not None:
            return self._huge_slot
        if is_huge:
            key, number = ("huge", ""), 1
        elif path == "/convert":
            key, number = (path, ""), MAX_LARGE
        elif size >= LARGE_BYTES:
            key, number = ("large", caller.doubt), MAX_LARGE
        else:
            key, number = ("medium", caller.doubt), MAX_MEDIUM
        return self._slots.setdefault(key, Semaphore(number))

    async def _finish(self, path: str, unfinished: _Unfinished, caller: Caller) -> Reply:
        """The answer to a review that waits for others, in a thread for such waiting.

        :raises WebhookError: if that takes too long, or too many others wait.
        """

        def work() -> Reply | _Unfinished:
            return self._told(path, unfinished.review, unfinished.finish)

        def left() -> None:
            self._waiting -= 1

        if self._waiting >= QUOTA_THREADS + MAX_WAITING:
            raise WebhookError("too many reviews wait for quota", 503)
        self._waiting += 1
        async with _in_time(caller, "quota cannot be checked now: the API server does not answer"):
            reply = await _unhurried(self._quota, work, left)
        assert isinstance(reply, Reply)
        return reply

    def _begin(self, path: str, body: bytes, review: Any, caller: Caller) -> Reply | _Unfinished:
        """The answer to a review that has been read from a body, or what it has to wait for.

        :raises WebhookError: if it is none.
        """

        def work() -> Outcome:
            with within(caller.budget):
                return WEBHOOKS[path](review, self.context, caller)

        return self._told(
            path, review, work, partial(converted_text, body) if path == "/convert" else _written
        )

    def _told(
        self,
        path: str,
        review: Any,
        work: Callable[[], Outcome],
        write: Callable[[Object], bytes | bytearray] = _written,
    ) -> Reply | _Unfinished:
        """What work on a review comes to, written, counted and logged if that is an answer.

        :raises WebhookError: if there can be none.
        """
        uid = _uid(review)
        try:
            answer = work()
            if not isinstance(answer, dict):
                return _Unfinished(review, answer)
            text = write(answer)
        except RecursionError:
            raise _too_deep() from None
        except BudgetSpentError as error:
            raise WebhookError(str(error), 504) from None
        except WebhookError:
            raise
        except Exception:  # noqa: BLE001 - a mistake of ours is answered, and told with the uid
            LOGGER.exception("review failed", extra={"fields": {"webhook": path[1:], "uid": uid}})
            return Reply(500, b"internal error\n", PLAIN)
        self.metrics.count_verdict(path[1:], review, answer)
        _log_answer(path[1:], uid, review, answer)
        return Reply(200, text)

    def _caller(self, certificate: Any, query: str, size: int) -> Caller:
        """Who sends a review, from now on.

        :raises WebhookError: if it is nobody who is to be answered.
        """
        doubt = NONE_SHOWN if self._clients is None else self._clients.check(certificate)
        seconds = seconds_to_answer(query, self._limits.review)
        is_stranger = self._clients is not None and bool(doubt)
        return Caller(doubt, RequestBudget(seconds, EXPRESSIONS_BYTES), size, is_stranger)

    async def _read(self, request: web.BaseRequest, limit: int) -> bytes:
        """The body, up to its limit.

        :raises WebhookError: if it is longer or has more values, is slower than it may be, or ends early; if too many
            send at once.
        """
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        chunks: list[bytes] = []
        size = 0
        memory = JSONMemory()
        try:
            async with asyncio.timeout(self._limits.seconds):
                while chunk := await request.content.readany():
                    size += len(chunk)
                    self._held += len(chunk)
                    if size > limit:
                        raise _too_large(limit)
                    memory.add(chunk)
                    if memory.bytes > self._limits.memory:
                        raise _too_many(self._limits.memory)
                    if self._held > MAX_HELD * max(self._limits.admission, self._limits.conversion):
                        raise WebhookError("too much is being sent at once", 503)
                    chunks.append(chunk)
        except TimeoutError:
            raise WebhookError(f"the body took longer than {self._limits.seconds:g} s", 408) from None
        except (web.RequestPayloadError, ConnectionError) as error:  # broken, or broken off
            raise WebhookError(f"the body cannot be read: {error}") from None
        finally:
            self._held -= size
        return b"".join(chunks)


def _parsed(path: str, body: bytes) -> Any:
    """
    :raises WebhookError: if it is no JSON.
    """
    try:
        # API servers write a key twice only in parameters of drivers, which they pass on as they came; keeping what others
        # repeat would take three times the memory
        keeps = path != "/convert" and b"opaque" in body
        return parse(body, keep_repeated=keeps, in_turns=len(body) >= LARGE_BYTES)
    except JSONError as error:
        raise WebhookError(f"the body is no JSON: {error}") from None
    except RecursionError:
        raise _too_deep() from None


def _too_deep() -> WebhookError:
    return WebhookError("the body is nested too deeply")


def _kind(review: Any) -> Any:
    """The kind of object that a review says it is about."""
    request = review.get("request") if isinstance(review, dict) else None
    kind = request.get("kind") if isinstance(request, dict) else None
    return kind.get("kind") if isinstance(kind, dict) else None


@asynccontextmanager
async def _in_time(caller: Caller, otherwise: str) -> AsyncIterator[None]:
    """Wait as long as the caller does.

    :raises WebhookError: after that.
    """
    try:
        async with asyncio.timeout(caller.budget.seconds_left()):
            yield
    except TimeoutError:
        caller.budget.stop()
        raise WebhookError(otherwise, 503) from None


async def _unhurried(
    pool: Executor, work: Callable[[], Reply | _Unfinished], then: Callable[[], None]
) -> Reply | _Unfinished:
    """What work in a thread comes to; ``then`` is called once the thread is free, even if nobody waits any more.

    Work that has not begun when nobody waits any more is not begun.
    """
    loop = asyncio.get_running_loop()
    future = pool.submit(work)

    def ended(_: object) -> None:
        with suppress(RuntimeError):  # at the very end there is no loop
            loop.call_soon_threadsafe(then)

    future.add_done_callback(ended)
    return await asyncio.wrap_future(future)


def _received(request: web.BaseRequest, limit: int, memory: int) -> bytes | None:
    """The body if it has come with the head, as small ones do; None if it has to be waited for.

    :param memory: bytes that may be needed to read it.
    :raises WebhookError: if it is larger, or would take more.
    """
    content = request.content
    if not content.is_eof() or content.exception() is not None:
        return None
    body = content.read_nowait()
    if len(body) > limit:
        raise _too_large(limit)
    needed = JSONMemory()
    needed.add(body)
    if needed.bytes > memory:
        raise _too_many(memory)
    return body


def _check_head(request: web.BaseRequest, limit: int) -> None:
    headers = request.headers
    if request.method != "POST":
        raise WebhookError("only POST", 405)
    # what API servers send is told without a parser
    if headers.get("Content-Type") != JSON and request.content_type != JSON:
        raise WebhookError(f"Content-Type must be {JSON}", 415)
    if headers.get("Content-Encoding", "identity") != "identity":
        raise WebhookError("Content-Encoding must be identity", 415)
    if (request.content_length or 0) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> WebhookError:
    return WebhookError(f"the body is too large: the limit is {limit} bytes", 413)


def _too_many(limit: int) -> WebhookError:
    return WebhookError(f"the body has too many values: it would take more than {limit} bytes of memory", 413)


def _uid(review: Any) -> str:
    request = review.get("request") if isinstance(review, dict) else None
    uid = request.get("uid") if isinstance(request, dict) else None
    return uid[:100] if isinstance(uid, str) else ""


def _log_answer(webhook: str, uid: str, review: dict[str, Any], answer: dict[str, Any]) -> None:
    """Refusals and failures are worth a line always, the rest when debugging."""
    request, response = review["request"], answer["response"]
    if "allowed" not in response:
        failed = response["result"]["status"] != "Success"
        level = logging.WARNING if failed else logging.DEBUG
        reason = response["result"].get("message", "")
        log(level, "conversion", webhook=webhook, uid=uid, objects=len(request["objects"]), reason=reason)
        return
    level = logging.DEBUG if response["allowed"] else logging.INFO
    if not LOGGER.isEnabledFor(level):
        return
    log(
        level,
        "admitted" if response["allowed"] else "refused",
        webhook=webhook,
        uid=uid,
        operation=request["operation"],
        kind=request["kind"]["kind"],
        namespace=request.get("namespace") or "",
        name=request.get("name") or "",
        dryRun=bool(request.get("dryRun")),
        reason=response.get("status", {}).get("message", ""),
    )


def converted_text(body: bytes, answer: Object) -> bytes | bytearray:
    """The answer to a conversion. Only its objects can have numbers that are to be written as they came, or be nested
    over many levels; then it takes several times as long."""
    if not may_have_literals(body):
        with suppress(RecursionError):
            return _written(answer)
    parts = json_parts(answer, encode_basestring_ascii)
    text = bytearray()
    while some := "".join(islice(parts, _PARTS)):
        text += some.encode("ascii")
    return text


def _refused(path: str, error: WebhookError) -> Reply:
    log(logging.WARNING, "request refused", webhook=path[1:], code=error.code, reason=error.message)
    return Reply(error.code, f"{error.message}\n".encode("utf-8", "replace"), PLAIN)


def _server_log() -> logging.Logger:
    """Where the general server reports; what clients do wrong is worth a line, no more."""
    logger = logging.getLogger("aiohttp.server")
    logger.addFilter(_in_short)
    return logger


def _in_short(record: logging.LogRecord) -> bool:
    """Make a warning of a report about a request that is no HTTP."""
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError):
        text = " ".join(error.message.split())[:200]
        record.msg, record.args, record.exc_info = f"request refused: {text}", (), None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
    return True
