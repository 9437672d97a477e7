"""The fast path in a running service: it gives the answers of the general server."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest

from tests.webhook.examples import admission, claim
from tests.webhook.running import Running, running
from tests.webhook.wire import Wire


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that waits for what is slow to come, as everything may be on a busy machine."""
    with running(
        tmp_path_factory.mktemp("patient"),
        apiServer={"serves": "CustomResources"},
        timeouts={"idle": 600, "body": 600},
    ) as started:
        yield started


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that soon gives up whoever is slow."""
    with running(tmp_path_factory.mktemp("impatient"), timeouts={"idle": 6, "body": 1}) as started:
        yield started


BODY = json.dumps(admission(claim())).encode()


def request(body: bytes = BODY, *more: bytes, path: bytes = b"/validate") -> bytes:
    lines = [
        b"POST %s HTTP/1.1" % path,
        b"Host: localhost",
        b"Content-Type: application/json",
        b"Content-Length: %d" % len(body),
        *more,
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


@pytest.fixture
def wire(service: Running) -> Iterator[Wire]:
    with service.wire() as opened:
        yield opened


@pytest.fixture
def hasty(impatient: Running) -> Iterator[Wire]:
    with impatient.wire() as opened:
        yield opened


def answer(wire: Wire) -> http.client.HTTPResponse:
    response = http.client.HTTPResponse(wire)  # type: ignore[arg-type]
    response.begin()
    return response


def ask(wire: Wire, *parts: bytes) -> tuple[int, bytes]:
    for part in parts:
        wire.sendall(part)
    response = answer(wire)
    return response.status, response.read()


def test_both_ways_answer_alike(wire: Wire) -> None:
    """The short way and the general server say the same, with the same headers, none of which names the software."""
    answers = []
    for more in ((), (b"X-Forwarded-For: a",)):
        wire.sendall(request(BODY, *more))
        response = answer(wire)
        names = {name.lower() for name, _ in response.getheaders()}
        assert "server" not in names
        answers.append((response.status, response.read(), response.getheader("Content-Type"), names))
    assert answers[0] == answers[1]
    assert answers[0][0] == 200


def test_body_in_pieces(wire: Wire) -> None:
    """A request that comes bit by bit is answered once it is complete; so is the next one."""
    whole = request()
    middle = whole.index(b"\r\n\r\n") + 10
    assert ask(wire, whole[:middle], whole[middle:-1], whole[-1:])[0] == 200
    assert ask(wire, whole)[0] == 200
    assert ask(wire, whole[:20], whole[20:])[0] == 200


def test_slow_body(hasty: Wire) -> None:
    """A body that stops coming is given up as anywhere else."""
    assert ask(hasty, request()[:-1]) == (408, b"the body took longer than 1 s\n")


def test_requests_ahead_of_answers(wire: Wire) -> None:
    """Several requests at once are answered one after the other."""
    wire.sendall(request() * 3)
    response = b""
    while response.count(b"HTTP/1.1 200 OK") < 3 or not response.endswith(b"}"):
        received = wire.recv()
        assert received
        response += received


def test_garbage_in_a_body(wire: Wire) -> None:
    """What is no review is refused, and the connection stays."""
    code, text = ask(wire, request(b"garbage"))
    assert (code, text[:21]) == (400, b"the body is not JSON:")
    assert ask(wire, request())[0] == 200


def test_other_paths(wire: Wire) -> None:
    """Where there is no webhook, nothing is answered but that."""
    assert ask(wire, request(path=b"/other")) == (404, b"there is nothing here\n")


def test_unused_connection_ends(hasty: Wire) -> None:
    """A connection without requests is closed after a while."""
    assert ask(hasty, request())[0] == 200
    assert hasty.recv() == b""
