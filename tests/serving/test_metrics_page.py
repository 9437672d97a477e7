"""Anybody may ask for the metrics as often as they like: the text is made once a second, and keeps nobody waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from serving import pages
from serving.pages import Exposition, MetricsPage
from tests.webhook.running import PATIENCE_SECONDS


class Rendering:
    """Makes texts, and counts them; the first waits until it may go on."""

    def __init__(self) -> None:
        self.count = 0
        self.threads: list[threading.Thread] = []
        self.may_go_on = threading.Event()

    def __call__(self) -> Exposition:
        self.count += 1
        self.threads.append(threading.current_thread())
        assert self.may_go_on.wait(PATIENCE_SECONDS)
        return f"{self.count}".encode(), "text/plain"


def test_all_who_ask_within_a_second_share_a_text() -> None:
    """The attack: 1,000 requests at once; the event loop is free meanwhile, and whoever leaves takes nothing from others."""
    rendering, now = Rendering(), [0.0]

    async def attack() -> list[bytes | None]:
        page = MetricsPage(rendering, lambda: now[0])
        asking = [asyncio.create_task(page.current()) for _ in range(1000)]
        await asyncio.sleep(0)
        asking.pop(0).cancel()
        now[0] = 5.0  # the first text is being made still
        asking.append(asyncio.create_task(page.current()))
        await asyncio.sleep(0)
        rendering.may_go_on.set()
        found = [shown and shown[0] for shown in await asyncio.gather(*asking)]
        now[0] = 5.9
        assert rendering.count == 1
        found += [shown and shown[0] for shown in [await page.current(), await page.current()]]
        page.close()
        return found

    assert asyncio.run(attack()) == [b"1"] * 1000 + [b"2"] * 2
    assert threading.main_thread() not in rendering.threads


@pytest.mark.parametrize(
    "render",
    [lambda: (b"x" * 11, "text/plain"), lambda: 1 / 0],
    ids=["too-large", "failing"],
)
def test_metrics_that_cannot_be_shown(
    render: Callable[[], Exposition], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """There is an answer, and one line in the log however often somebody asks."""
    monkeypatch.setattr(pages, "MOST_BYTES", 10)
    monkeypatch.setattr(pages, "RENDER_SECONDS", 0.0)

    async def ask() -> list[Exposition | None]:
        page = MetricsPage(render)
        try:
            return [await page.current() for _ in range(3)]
        finally:
            page.close()

    assert asyncio.run(ask()) == [None] * 3
    assert [record.message for record in caplog.records] == ["no metrics"]
