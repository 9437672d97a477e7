"""Which requests wait for each other: large ones, huge ones, and those of clients that are not known."""

from __future__ import annotations

import asyncio

import pytest

from deviceselectors.request_budget import RequestBudget
from serving.connections import Connections
from serving.dispatch import Dispatcher, Reply, Request
from serving.routes import LARGE_BYTES, Caller, HTTPError, Route
from serving.slots import HUGE_BYTES, HUGE_VALUES, Slots

KNOWN = Caller("", RequestBudget(float("inf"), 1))
STRANGER = KNOWN._replace(doubt="who?")
FIRST, SECOND = (Route(f"/{lane}", lambda decoded, caller: {}, 10, lane=lane) for lane in ("first", "second"))
LARGE = b" " * LARGE_BYTES


def test_known_clients_do_not_wait_for_strangers() -> None:
    """Large requests of one lane share a slot, but not with those of clients that are not known."""
    slots = Slots()
    assert slots.slot(FIRST, LARGE, KNOWN) is slots.slot(FIRST._replace(path="/other"), LARGE, KNOWN)
    assert slots.slot(FIRST, LARGE, KNOWN) is not slots.slot(FIRST, LARGE, STRANGER)
    assert slots.slot(FIRST, LARGE, KNOWN) is not slots.slot(FIRST, LARGE[1:], KNOWN)
    assert slots.slot(FIRST, LARGE, KNOWN) is not slots.slot(SECOND, LARGE, KNOWN)


def test_huge_bodies_share_one_slot() -> None:
    """Whatever the lane and the client; a body is also huge if it has as many values as a larger one."""
    slots = Slots()
    sparse, dense = b" " * HUGE_VALUES, b"," * HUGE_VALUES
    huge = slots.slot(FIRST, b" " * HUGE_BYTES, KNOWN)
    for route in (FIRST, SECOND):
        for caller in (KNOWN, STRANGER):
            assert slots.slot(route, dense, caller) is huge
            assert slots.slot(route, dense[1:], caller) is not huge
            assert slots.slot(route, sparse, caller) is not huge


def test_known_clients_wait_however_many_strangers_do() -> None:
    """A client with a certificate is never turned away for the number of strangers that wait."""
    slots = Slots()
    dispatcher = Dispatcher(Connections(2), slots, "route")
    dispatcher.strangers = 1
    body = b'"' + b"x" * LARGE_BYTES + b'"'

    async def ask(caller: Caller) -> int:
        slot = slots.slot(FIRST, body, caller)
        await slot.acquire("")
        asyncio.get_running_loop().call_later(0.05, slot.release, "")
        reply = await dispatcher.answer(Request(FIRST, body, caller))
        assert isinstance(reply, Reply)
        return reply.code

    async def main() -> None:
        assert await ask(KNOWN) == 200
        with pytest.raises(HTTPError, match="too many large requests wait"):
            await ask(STRANGER)

    asyncio.run(main())
    dispatcher.close()
