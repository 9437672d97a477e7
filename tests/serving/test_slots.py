"""Which requests wait for each other: large ones, huge ones, and those of clients that are not known."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from deviceselectors.request_budget import RequestBudget
from serving.connections import Connections
from serving.dispatch import Dispatcher, Reply, Request
from serving.routes import LARGE_BYTES, Caller, HTTPError, Route
from serving.slots import HUGE_BYTES, HUGE_VALUES, FairSlot, SharedSlot, Slots, StrangersSlot

KNOWN = Caller("", RequestBudget(float("inf"), 1))
STRANGER = KNOWN._replace(doubt="who?")
FIRST, SECOND = (Route(f"/{lane}", lambda decoded, caller: {}, 10, lane=lane) for lane in ("first", "second"))
LARGE = b" " * LARGE_BYTES
HUGE = b" " * HUGE_BYTES
AnySlot = FairSlot | SharedSlot | StrangersSlot


def test_known_clients_do_not_wait_for_strangers() -> None:
    """Large requests of one lane share a slot, but not with those of clients that are not known."""
    slots = Slots()
    assert slots.slot(FIRST, LARGE, KNOWN) is slots.slot(FIRST._replace(path="/other"), LARGE, KNOWN)
    assert slots.slot(FIRST, LARGE, KNOWN) is not slots.slot(FIRST, LARGE, STRANGER)
    assert slots.slot(FIRST, LARGE, KNOWN) is not slots.slot(FIRST, LARGE[1:], KNOWN)
    assert slots.slot(FIRST, LARGE, KNOWN) is not slots.slot(SECOND, LARGE, KNOWN)


def test_huge_bodies_share_one_slot() -> None:
    """Whatever the lane; a body is also huge if it has as many values as a larger one."""
    slots = Slots()
    sparse, dense = b" " * HUGE_VALUES, b"," * HUGE_VALUES
    for caller in (KNOWN, STRANGER):
        huge = slots.slot(FIRST, HUGE, caller)
        for route in (FIRST, SECOND):
            assert slots.slot(route, dense, caller) is huge
            assert slots.slot(route, dense[1:], caller) is not huge
            assert slots.slot(route, sparse, caller) is not huge


async def order(coming: Iterable[tuple[AnySlot, str]]) -> list[str]:
    """Who has a slot one after the other, if all come at once, each for a slot and with a namespace."""
    found: list[str] = []

    async def enter(slot: AnySlot, namespace: str) -> None:
        await slot.acquire(namespace)
        found.append(namespace)
        for _ in range(9):  # nobody else has it meanwhile
            assert found[-1] == namespace
            await asyncio.sleep(0)
        slot.release(namespace)

    await asyncio.gather(*(enter(*each) for each in coming))
    return found


def test_strangers_have_one_turn_at_huge_bodies() -> None:
    """However many namespaces they name, known clients wait for one of them; among themselves these take turns."""
    slots = Slots()
    known, strange = (slots.slot(FIRST, HUGE, caller) for caller in (KNOWN, STRANGER))
    strangers = [(strange, namespace) for namespace in ("a", "a", "b", "c")]

    async def main() -> None:
        assert await order([*strangers, (known, "mine"), (known, "yours")]) == [*"a", "mine", "yours", *"bca"]
        assert strange.is_free_for("a")
        await known.acquire("mine")
        assert not strange.is_free_for("a")

    asyncio.run(main())


def test_who_goes_leaves_the_slot_to_others() -> None:
    """Whether it waits for strangers or for known clients."""
    slots = Slots()
    known, strange = (slots.slot(FIRST, HUGE, caller) for caller in (KNOWN, STRANGER))

    async def main() -> None:
        await known.acquire("mine")
        waiting = [asyncio.create_task(strange.acquire(namespace)) for namespace in "ab"]
        await asyncio.sleep(0)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        known.release("mine")
        assert await order([(strange, "a"), (known, "mine")]) == ["a", "mine"]

    asyncio.run(main())


def test_processes_take_turns_at_huge_bodies(tmp_path: Path) -> None:
    """However many wait in the one that has the slot, another one need not wait for them."""
    for caller in (KNOWN, STRANGER):
        first, second = (Slots(tmp_path).slot(FIRST, HUGE, caller) for _ in range(2))
        found = asyncio.run(order([*((first, name) for name in "abc"), (second, "x")]))
        assert found == [*"axbc"]


def test_strangers_have_one_turn_in_all_processes(tmp_path: Path) -> None:
    """Known clients do not wait for one of them in each process."""
    first, second = (Slots(tmp_path) for _ in range(2))
    strange = [slots.slot(FIRST, HUGE, STRANGER) for slots in (first, second)]
    known = second.slot(FIRST, HUGE, KNOWN)
    found = asyncio.run(order([*((slot, name) for slot in strange for name in "ab"), (known, "mine")]))
    assert found[:2] == ["a", "mine"]


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
