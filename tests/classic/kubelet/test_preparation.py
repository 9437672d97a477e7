"""In which order, and how many at a time, a driver is called."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from classic.kubelet.cdi import DeviceKind
from classic.kubelet.preparation import AllocatedClaim, Preparation, SpecDirectory, TookTooLong
from tests.classic.kubelet.node import DRIVER, RecordingDriver, uid

LONG = 60.0


def claims(count: int) -> Sequence[AllocatedClaim]:
    return [AllocatedClaim("default", f"claim-{number}", uid(number)) for number in range(count)]


def preparation(driver: RecordingDriver, directory: Path, at_once: int = 16) -> Preparation:
    return Preparation(driver, SpecDirectory(directory, DeviceKind(DRIVER, "gpu")), at_once)


class Counted:
    """Calls that wait until they are let go; how many were running at most."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.running = 0
        self.most = 0
        self.begun = asyncio.Event()

    async def __call__(self, _claim: AllocatedClaim) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        self.begun.set()
        try:
            await self.go_on.wait()
        finally:
            self.running -= 1


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_calls_about_a_claim_come_one_after_the_other(tmp_path: Path) -> None:
    """A claim is not unprepared while it is being prepared; another claim doesn't wait."""

    async def scenario() -> None:
        counted = Counted()
        driver = RecordingDriver(counted)
        tested = preparation(driver, tmp_path)
        first, second = claims(2)
        calls = [
            asyncio.create_task(tested.prepare(first, LONG)),
            asyncio.create_task(tested.unprepare(first, LONG)),
            asyncio.create_task(tested.prepare(second, LONG)),
        ]
        await settle()
        assert counted.running == 2
        assert driver.unprepared == []
        counted.go_on.set()
        await asyncio.gather(*calls)
        assert driver.unprepared == [first]
        assert len(list(tmp_path.iterdir())) == 1

    asyncio.run(scenario())


def test_so_many_calls_at_a_time(tmp_path: Path) -> None:
    """More claims wait for their turn."""

    async def scenario() -> None:
        counted = Counted()
        tested = preparation(RecordingDriver(counted), tmp_path, at_once=3)
        calls = [asyncio.create_task(tested.prepare(each, LONG)) for each in claims(10)]
        await settle()
        assert counted.running == 3
        counted.go_on.set()
        await asyncio.gather(*calls)
        assert counted.most == 3

    asyncio.run(scenario())


def test_a_call_that_cannot_be_cancelled_holds_its_claim(tmp_path: Path) -> None:
    """kubelet gets an error in time. The next call about the claim waits for the first, others don't."""

    async def scenario() -> None:
        go_on = asyncio.Event()

        async def deaf(claim: AllocatedClaim) -> None:
            while claim.uid == uid(0) and not go_on.is_set():
                try:
                    await go_on.wait()
                except asyncio.CancelledError:
                    continue

        driver = RecordingDriver(deaf)
        tested = preparation(driver, tmp_path)
        first, second = claims(2)
        for _ in range(2):
            with pytest.raises(TookTooLong, match=r"^the driver has not finished within 0\.01 s$"):
                await tested.prepare(first, 0.01)
        await tested.prepare(second, LONG)
        go_on.set()
        await tested.unprepare(first, LONG)
        assert driver.unprepared == [first]
        assert [file.name for file in tmp_path.iterdir()] == [f"{DRIVER}=gpu_{uid(1)}.json"]

    asyncio.run(scenario())


def test_when_kubelet_leaves_the_call_is_cancelled(tmp_path: Path) -> None:
    """The driver hears of it, and the claim is free for the next call."""

    async def scenario() -> None:
        counted = Counted()
        tested = preparation(RecordingDriver(counted), tmp_path)
        (claim,) = claims(1)
        call = asyncio.create_task(tested.prepare(claim, LONG))
        await counted.begun.wait()
        call.cancel()
        await settle()
        assert counted.running == 0
        counted.go_on.set()
        assert await tested.prepare(claim, LONG)

    asyncio.run(scenario())


def test_the_end_cancels_all_calls(tmp_path: Path) -> None:
    """So that the process can end."""

    async def scenario() -> None:
        counted = Counted()
        tested = preparation(RecordingDriver(counted), tmp_path, at_once=2)
        calls = [asyncio.create_task(tested.prepare(each, LONG)) for each in claims(4)]
        await counted.begun.wait()
        tested.close()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(result) for result in results} == {asyncio.CancelledError}

    asyncio.run(scenario())


def test_a_spec_that_cannot_be_written_is_undone(tmp_path: Path) -> None:
    """kubelet never asks to unprepare what failed: the driver is asked at once."""
    directory = tmp_path / "cdi"
    directory.write_text("", encoding="utf-8")

    async def scenario() -> None:
        driver = RecordingDriver()
        (claim,) = claims(1)
        with pytest.raises(FileExistsError):
            await preparation(driver, directory).prepare(claim, LONG)
        assert driver.unprepared == [claim]

    asyncio.run(scenario())


def test_what_pods_may_be_using_is_not_undone(tmp_path: Path) -> None:
    """A claim with a spec was prepared before; an error in the next preparation leaves it as it is."""

    async def scenario() -> None:
        driver = RecordingDriver()
        tested = preparation(driver, tmp_path)
        (claim,) = claims(1)
        await tested.prepare(claim, LONG)
        (spec,) = tmp_path.iterdir()
        content = spec.read_bytes()
        (tmp_path / f".{spec.name}.new").mkdir()
        with pytest.raises(OSError, match="Is a directory"):
            await tested.prepare(claim, LONG)
        assert driver.unprepared == []
        assert spec.read_bytes() == content

    asyncio.run(scenario())
