"""Runs the handlers of routes where they keep nobody else waiting.

A handler that is quick runs on the event loop; one that may block in a thread, once there is a slot; what has to wait for
other servers in a thread for such waiting.
"""

from __future__ import annotations

import asyncio
import logging
from asyncio import CancelledError
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from aiohttp import web

from resourceapi.logs import LOGGER, log
from serving.connections import Connections
from serving.http_server import Response
from serving.logs import LogLimit
from serving.routes import BRIEF_BYTES, Caller, HTTPError, Route, Waiting
from serving.slots import FairSlot, Slots

# More than there are slots: who has one never waits for a thread that clients of another sort have.
WORKER_THREADS = 64
# Threads that wait for other servers, and how many requests may queue for one of them.
WAITING_THREADS = 64
MAX_WAITING = 256
JSON = "application/json"
PLAIN = "text/plain; charset=utf-8"
_CROWDED = "too many large requests wait"
_NOT_YET = object()


class Reply(NamedTuple):
    """The response to a request: HTTP status, body and content type."""

    code: int
    body: bytes | bytearray
    content_type: str = JSON

    def response(self) -> web.Response:
        """The response for the general server."""
        return Response(status=self.code, body=self.body, headers={"Content-Type": self.content_type})


class Request(NamedTuple):
    """A request to a route, with its whole body."""

    route: Route
    body: bytes
    caller: Caller


class Unfinished(NamedTuple):
    """A request that cannot be answered at once.

    ``decoded``: its body; no such thing if that is to be decoded in a thread, too.
    ``waiting``: what the handler waits for; None if the handler has not run yet.
    """

    request: Request
    decoded: Any
    waiting: Waiting | None = None


class Dispatcher:
    """Runs handlers for one process.

    :param connections: clients that are not known wait on at most half of them.
    :param label: the field of log lines that has the name of the route.
    """

    def __init__(self, connections: Connections, slots: Slots, label: str) -> None:
        self._connections = connections
        self._slots = slots
        self._label = label
        self._workers = ThreadPoolExecutor(WORKER_THREADS, "worker")
        self._waiters = ThreadPoolExecutor(WAITING_THREADS, "waiter")
        #: by whether a namespace has as many as it leaves free
        self._turns = {shares: FairSlot(WAITING_THREADS, shares=shares) for shares in (False, True)}
        #: how many wait, by namespace
        self._waiting: Counter[str | None] = Counter()
        self._log_limit = LogLimit()
        self.strangers = 0
        """Requests of clients that are not known that wait for a slot."""

    def close(self) -> None:
        """End the threads that do nothing; drop what has not begun."""
        for pool in (self._workers, self._waiters):
            pool.shutdown(wait=False, cancel_futures=True)

    def begin(self, request: Request) -> Reply | Unfinished:
        """Answer a small request on the event loop, unless it may block or has to wait.

        :raises HTTPError: instead of an answer.
        """
        if len(request.body) >= BRIEF_BYTES:
            return Unfinished(request, _NOT_YET)
        decoded = self._decoded(request)
        if request.route.may_block(decoded, len(request.body)):
            return Unfinished(request, decoded)
        return self._handle(request, decoded)

    async def answer(self, request: Request) -> Reply | Unfinished:
        """Answer a request, wherever that has to run, unless it has to wait for other servers (see :meth:`wait`).

        :raises HTTPError: instead of an answer.
        """
        outcome = self.begin(request)
        return outcome if isinstance(outcome, Reply) else await self.go_on(outcome)

    async def go_on(self, unfinished: Unfinished) -> Reply | Unfinished:
        """Answer a request that :meth:`begin` could not answer, as :meth:`answer` does.

        :returns: what has to wait without its body, which need not be kept so long.
        :raises HTTPError: instead of an answer.
        """
        request, decoded, waiting = unfinished
        outcome: Reply | Unfinished = unfinished
        if waiting is None:
            outcome = await self._in_slot(request, lambda: self._decode_and_handle(request, decoded))
        if isinstance(outcome, Unfinished):
            return outcome._replace(request=request._replace(body=b""))
        return outcome

    def refused(self, route: Route, error: HTTPError) -> Reply:
        """The response that tells the client of an error, which is logged; of many alike now and then one."""
        left_out = self._log_limit.left_out((route.name, error.code))
        if left_out is not None:
            fields = {self._label: route.name, "code": error.code, "reason": error.message}
            log(logging.WARNING, "request refused", **fields, **({"left_out": left_out} if left_out else {}))
        return Reply(error.code, f"{error.message}\n".encode("utf-8", "replace"), PLAIN)

    def _decode_and_handle(self, request: Request, decoded: Any) -> Reply | Unfinished:
        return self._handle(request, self._decoded(request) if decoded is _NOT_YET else decoded)

    def _decoded(self, request: Request) -> Any:
        try:
            return request.route.decode(request.body)
        except RecursionError:
            raise _too_deep() from None

    def _handle(self, request: Request, decoded: Any) -> Reply | Unfinished:
        return self._reply(request, decoded, lambda: request.route.handler(decoded, request.caller))

    def _reply(self, request: Request, decoded: Any, work: Callable[[], Any]) -> Reply | Unfinished:
        """Encode what work on a request returns, unless that has to wait.

        :raises HTTPError: instead of an answer.
        """
        route = request.route
        try:
            answer = work()
            if isinstance(answer, Waiting):
                return Unfinished(request, decoded, answer)
            body = route.encode(request.body, answer)
        except RecursionError:
            raise _too_deep() from None
        except HTTPError:
            raise
        except Exception:  # noqa: BLE001 - whatever goes wrong, the client gets an answer and the log the reason
            fields = {self._label: route.name, **route.log_fields(decoded)}
            LOGGER.exception("request failed", extra={"fields": fields})
            return Reply(500, b"internal error\n", PLAIN)
        route.answered(decoded, answer)
        return Reply(200, body)

    async def _in_slot(self, request: Request, work: Callable[[], Reply | Unfinished]) -> Reply | Unfinished:
        """The outcome of work in a thread, as soon as there is a slot for it.

        Clients that are not known neither delay those that are, nor take all places for connections by waiting.
        """
        caller = request.caller
        slot = self._slots.slot(request.route, request.body, caller)
        namespace = request.route.namespace(request.body)
        is_unknown = bool(caller.doubt)
        if is_unknown and not slot.is_free_for(namespace) and self.strangers >= self._connections.half:
            raise HTTPError(_CROWDED, 503)
        self.strangers += is_unknown
        try:
            async with _in_time(caller, _CROWDED):
                await slot.acquire(namespace)
        finally:
            self.strangers -= is_unknown
        return await _in_thread(self._workers, work, caller, lambda: slot.release(namespace))

    async def wait(self, unfinished: Unfinished) -> Reply:
        """Answer a request that waits for other servers, in a thread for that.

        Of the places for waiting, a namespace has at most as many as it leaves free, so that others find one, too.

        :raises HTTPError: instead of an answer.
        """
        request, decoded, waiting = unfinished
        assert waiting is not None
        namespace, turns = waiting.namespace, self._turns[waiting.shares]
        free = WAITING_THREADS + MAX_WAITING - self._waiting.total()
        if free <= 0 or (namespace is not None and self._waiting[namespace] >= free):
            raise HTTPError(waiting.too_many, 503)
        self._waiting[namespace] += 1
        has_turn = False

        def left() -> None:
            self._waiting[namespace] -= 1
            if not self._waiting[namespace]:
                del self._waiting[namespace]
            if has_turn and namespace is not None:
                turns.release(namespace)

        async with _in_time(request.caller, waiting.too_late):
            if namespace is not None:
                try:
                    await turns.acquire(namespace)
                except CancelledError:
                    left()
                    raise
                has_turn = True
            outcome = await _in_thread(
                self._waiters,
                lambda: self._reply(request, decoded, waiting.finish),
                request.caller,
                left,
            )
        assert isinstance(outcome, Reply)
        return outcome


@asynccontextmanager
async def _in_time(caller: Caller, too_late: str) -> AsyncIterator[None]:
    """Wait as long as the client does.

    :raises HTTPError: after that.
    """
    try:
        async with asyncio.timeout(caller.deadline.seconds_left()):
            yield
    except TimeoutError:
        caller.deadline.stop()
        raise HTTPError(too_late, 503) from None


async def _in_thread(
    pool: Executor, work: Callable[[], Reply | Unfinished], caller: Caller, then: Callable[[], None]
) -> Reply | Unfinished:
    """The outcome of work in a thread; ``then`` is called once the thread is free, even if the client has gone.

    Work that has not begun when the client goes is not begun.
    """
    loop = asyncio.get_running_loop()
    future = pool.submit(work)

    def ended(_: object) -> None:
        with suppress(RuntimeError):  # there is no loop at the very end
            loop.call_soon_threadsafe(then)

    future.add_done_callback(ended)
    try:
        return await asyncio.wrap_future(future)
    except CancelledError:
        caller.deadline.stop()
        raise


def _too_deep() -> HTTPError:
    return HTTPError("the body is nested too deeply")
