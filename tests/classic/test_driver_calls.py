"""Drivers that hang, that raise odd things, or that cannot be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from classic.claims import NotYet, SyncError
from classic.controller import Next
from classic.driver import ClaimAllocation
from cluster.event_writer import shown
from cluster.leading import NotLeading
from resourceapi.objects import Object
from tests.classic.scenes import NAMESPACE, Scene, allocation_on, claim, context, pod, resource_class


def scene(**options: object) -> Scene:
    scene = Scene(options=dict(options))
    scene.have(resource_class(), claim(mode="Immediate"), claim("other", mode="Immediate"))
    return scene


async def forever() -> None:
    await asyncio.Event().wait()


async def sync(scene: Scene, name: str = "claim") -> Next:
    return await scene.controller.sync_claim(NAMESPACE, name)


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("get_class_parameters", "class parameters: the driver has not answered within 0 s"),
        ("get_claim_parameters", "claim parameters: the driver has not answered within 0 s"),
        ("allocate", "claim claim: allocate: the driver has not answered within 0 s"),
    ],
)
def test_driver_that_hangs_is_given_up(method: str, text: str) -> None:
    hanging = scene(call_seconds=0)
    hanging.driver.failing[method] = forever
    with pytest.raises(SyncError) as raised:
        hanging.sync_claim()
    assert (str(raised.value), hanging.events[-1][3]) == (text, text)


def test_allocation_that_was_given_up_is_taken_back_first() -> None:
    """Nobody knows how far the driver has come."""
    hanging = scene(call_seconds=0.01)
    hanging.driver.failing["allocate"] = forever

    async def twice() -> None:
        with pytest.raises(SyncError):
            await sync(hanging)
        await asyncio.wait(hanging.controller.in_use.unfinished())
        await asyncio.sleep(0)
        hanging.driver.failing.clear()
        await sync(hanging)

    asyncio.run(twice())
    assert hanging.methods() == ["allocate", "deallocate", "allocate"]
    assert hanging.status()["allocation"] == allocation_on("")


def test_hanging_driver_does_not_stop_other_claims() -> None:
    hanging = scene()

    async def both() -> None:
        begun = asyncio.Event()

        async def hang() -> None:
            hanging.driver.failing.clear()
            begun.set()
            await forever()

        hanging.driver.failing["allocate"] = hang
        first = asyncio.create_task(sync(hanging))
        await begun.wait()
        await sync(hanging, "other")
        first.cancel()
        await asyncio.wait({first})

    asyncio.run(both())
    assert ("status" in hanging.claim(), "allocation" in hanging.status("other")) == (False, True)


def test_no_second_call_while_a_call_that_was_given_up_goes_on() -> None:
    """A driver that does not let itself be cancelled keeps its claim, and nothing else."""
    stubborn = scene(call_seconds=0.01)

    async def run() -> None:
        goes_on = asyncio.Event()

        async def insist() -> None:
            while not goes_on.is_set():
                try:
                    await goes_on.wait()
                except asyncio.CancelledError:
                    continue

        stubborn.driver.failing["allocate"] = insist
        with pytest.raises(SyncError):
            await sync(stubborn)
        with pytest.raises(NotYet, match="claim default/claim: the driver is being asked about it"):
            await sync(stubborn)
        goes_on.set()
        unfinished = stubborn.controller.in_use.unfinished()
        assert len(unfinished) == 1
        await asyncio.wait(unfinished)
        await asyncio.sleep(0)
        await sync(stubborn)

    asyncio.run(run())
    assert stubborn.methods() == ["allocate", "deallocate", "allocate"]


def test_shutdown_cancels_the_call() -> None:
    hanging = scene()
    ended: list[str] = []

    async def hang() -> None:
        try:
            await forever()
        finally:
            ended.append("cancelled")

    async def run() -> None:
        hanging.driver.failing["allocate"] = hang
        task = asyncio.create_task(sync(hanging))
        while not hanging.finalizers():
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait(hanging.controller.in_use.unfinished())

    asyncio.run(run())
    assert (ended, hanging.events) == (["cancelled"], [])


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


async def cancel_itself() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("failing", "text"),
    [
        (Mute(), "claim claim: allocate: Mute"),
        (cancel_itself, "claim claim: allocate: the driver has cancelled the call"),
        (ExceptionGroup("two", [OSError("a")]), "claim claim: allocate: two (1 sub-exception)"),
    ],
)
def test_odd_errors(failing: Exception | Callable[[], Awaitable[None]], text: str) -> None:
    odd = scene()
    odd.driver.failing["allocate"] = failing
    with pytest.raises(SyncError) as raised:
        odd.sync_claim()
    assert str(raised.value) == text


def test_driver_without_coroutines() -> None:
    """A method that was not written with `async` is an error of one claim, no end of the controller."""
    odd = scene()

    class Plain(type(odd.driver)):  # type: ignore[misc]
        def get_class_parameters(self, resource_class: object) -> object:
            raise KeyError("x")

    odd.driver = Plain()
    odd.restart()
    with pytest.raises(SyncError, match="class parameters: KeyError: 'x'"):
        odd.sync_claim()


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"error": "no room"}, "the error that the driver has given is not an exception"),
        ({"allocation": "node-1"}, "the allocation that the driver has given is not a dict"),
        ({}, "the driver has given neither an allocation nor an error"),
    ],
)
def test_odd_answers(fields: dict[str, object], text: str) -> None:
    odd = scene()

    async def allocate(claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        for name, value in fields.items():
            setattr(claims[0], name, value)

    odd.driver.allocate = allocate  # type: ignore[method-assign]
    with pytest.raises(SyncError, match=text):
        odd.sync_claim()
    assert "status" not in odd.claim()


@pytest.mark.parametrize("answer", ["node-1", [1], None])
def test_odd_unsuitable_nodes(answer: object) -> None:
    """They must not count as nodes that suit."""
    odd = scene()
    odd.have(claim("delayed"), pod(gpu="delayed"), context(selected="node-1"))

    async def unsuitable_nodes(
        pod: Object, claims: Sequence[ClaimAllocation], potential_nodes: Sequence[str]
    ) -> None:
        setattr(claims[0], "unsuitable_nodes", answer)  # noqa: B010 - it is not of that type

    odd.driver.unsuitable_nodes = unsuitable_nodes  # type: ignore[method-assign]
    with pytest.raises(SyncError, match="the driver's unsuitable_nodes are not a list of names"):
        odd.sync_context()


@pytest.mark.parametrize("length", [2_000, 2_001])
def test_length_of_an_error(length: int) -> None:
    odd = scene()
    odd.driver.failing["get_class_parameters"] = OSError("x" * length)
    with pytest.raises(SyncError) as raised:
        odd.sync_claim()
    text = str(raised.value).removeprefix("class parameters: ")
    assert (len(text), text.endswith("…")) == (2_000, length > 2_000)


def test_text_of_a_stranger_is_bounded_and_escaped_where_it_is_shown() -> None:
    """Events are written by :class:`cluster.event_writer.EventWriter`, which does that with every note."""
    odd = scene()
    odd.driver.failing["allocate"] = OSError("\x1b[31m" + "x" * 100_000)
    with pytest.raises(SyncError):
        odd.sync_claim()
    note = shown(odd.events[-1][3])
    assert note.startswith("claim claim: allocate: \\u001b[31mxxx")
    assert len(note.encode()) <= 1024


# --- leading


@pytest.mark.parametrize("allowed", range(7))
def test_old_leader_neither_writes_nor_calls_its_driver(allowed: int) -> None:
    """Of four calls and three writes, none comes after the loss."""
    insisted = 0

    def fence() -> None:
        nonlocal insisted
        if insisted == allowed:
            raise NotLeading("another replica leads")
        insisted += 1

    old = Scene(options={"fence": fence})
    old.have(resource_class(), claim(), pod(), context(selected="node-1"))
    before = len(old.objects.writes)
    with pytest.raises(NotLeading):
        old.sync_context()
    assert len(old.driver.calls) + len(old.objects.writes) - before == allowed
    assert old.events == []
