"""Room for bodies: whoever takes it with slow or many bodies leaves others theirs."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from serving.bodies import MAX_HELD
from serving.routes import LARGE_BYTES, NO_CERTIFICATE, Clients, Route
from tests.serving.test_server import Served, serving
from tests.webhook.serving import answer
from tests.webhook.test_waiting import is_answered, until

LARGEST = 2 * LARGE_BYTES
TOO_MUCH = (503, b"too much is being sent at once\n")


class Handler:
    """Begins to answer when told to."""

    def __init__(self) -> None:
        self.answers = threading.Event()

    def __call__(self, decoded: Any, caller: Any) -> Any:
        self.answers.wait()
        return caller.doubt

    def routes(self) -> list[Route]:
        return [Route("/echo", self, LARGEST, namespace=lambda body: body[1:2].decode())]


class KnownLater(Clients):
    """Clients that have no certificate until they are told to have one."""

    def __init__(self) -> None:
        super().__init__(for_all_requests=False)
        self.are_known = False

    def doubt(self, certificate: Any) -> str:
        return "" if self.are_known else NO_CERTIFICATE


def text(namespace: str, size: int) -> bytes:
    """A body for a namespace."""
    return f'"{namespace * (size - 2)}"'.encode()


def begin(served: Served, namespace: str, size: int) -> http.client.HTTPConnection:
    """Send a body but for its last byte."""
    return served.send("/echo", text(namespace, size)[:-1], {"Content-Length": str(size)})


def holds(served: Served, size: int) -> Callable[[], bool]:
    """Whether strangers' bodies have so many bytes."""
    return lambda: served.server._bodies._strangers._of.total() == size


def test_slow_bodies_make_room() -> None:
    """One that fills the room and does not end gives way to a smaller one; what there is room for stays."""
    handler = Handler()
    handler.answers.set()
    with serving(handler.routes()) as served:
        slow = [begin(served, namespace, LARGEST) for namespace in "ab"]
        until(holds(served, MAX_HELD * (LARGEST - 1)))
        assert served.ask("/echo", text("c", LARGE_BYTES), {})[0] == 200
        until(lambda: any(map(is_answered, slow)))
        slow.sort(key=is_answered)
        assert answer(slow[1]) == TOO_MUCH
        assert not is_answered(slow[0])
        slow[0].send(b'"')
        assert answer(slow[0])[0] == 200


def test_many_bodies_of_a_namespace_leave_room() -> None:
    """Those that wait for their turn leave as much room to others as all but one of them take."""
    handler = Handler()
    size = LARGE_BYTES * 3 // 2
    with serving(handler.routes()) as served:
        waiting = [served.send("/echo", text("a", size))]
        until(holds(served, size))
        assert served.ask("/echo", text("a", size), {}) == TOO_MUCH
        waiting.append(served.send("/echo", text("b", size)))
        until(holds(served, 2 * size))
        handler.answers.set()
        assert {answer(each)[0] for each in waiting} == {200}


def test_a_namespace_may_come_late() -> None:
    """A body counts for whoever it turns out to be of; it is looked at seldom, and not for ever."""
    handler, looked_at = Handler(), list[int]()

    def namespace(body: bytes) -> str:
        looked_at.append(len(body))
        return body[LARGE_BYTES // 2 :][:1].decode()

    route = Route("/echo", handler, LARGEST, namespace=namespace)
    with serving([route]) as served:
        counted = served.server._bodies._strangers._of
        sent = begin(served, "a", 100)
        until(lambda: counted == {"": 99})
        sent.close()
        until(lambda: not counted)
        waiting = served.send("/echo", b'"a', {"Content-Length": str(LARGEST)})
        until(lambda: counted == {"": 2})
        for size in range(1000, LARGEST - 1000, 1000):
            waiting.send(b"a" * 1000)
            until(partial(lambda size: counted.total() == size, size + 2))
        assert list(counted) == ["a"]
        waiting.close()
    assert len(looked_at) < 12
    assert looked_at[-1] < 3 * LARGE_BYTES


def test_strangers_take_no_room_of_known_clients() -> None:
    """However many namespaces they name."""
    handler, clients = Handler(), KnownLater()
    handler.answers.set()
    with serving(handler.routes(), clients) as served:
        slow = [begin(served, namespace, LARGEST) for namespace in "ab"]
        until(holds(served, MAX_HELD * (LARGEST - 1)))
        clients.are_known = True
        assert served.ask("/echo", text("c", LARGEST), {}) == (200, b'""')
        assert not any(map(is_answered, slow))
        for each in slow:
            each.close()
