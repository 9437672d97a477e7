"""The text that Prometheus scrapes, rendered now and then: whoever reaches the port may ask for it, and it takes a while."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

from resourceapi.logs import LOGGER
from serving.log_limit import LogLimit

# Scrapers ask every few seconds at most; all who ask in between get the same text.
RENDER_SECONDS = 1.0
# Some hundred times what the metrics of a service take.
MOST_BYTES = 8 * 1024 * 1024

Exposition = tuple[bytes, str]
"""A text and its content type."""


class MetricsPage:
    """What one process shows to all who ask; for the thread of the event loop.

    :param render: makes the text; runs in a thread of its own, once at a time.
    :param clock: returns seconds since any fixed point in time.
    """

    def __init__(self, render: Callable[[], Exposition], clock: Callable[[], float] = monotonic) -> None:
        self._render = render
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        self._shown: asyncio.Future[Exposition | None] | None = None
        self._since = float("-inf")
        self._log_limit = LogLimit()

    async def current(self) -> Exposition | None:
        """The text of at most :data:`RENDER_SECONDS` ago, or the one that is being made; None if it cannot be made."""
        shown = self._shown
        if shown is None or (shown.done() and self._clock() - self._since >= RENDER_SECONDS):
            self._since = self._clock()
            shown = self._shown = asyncio.get_running_loop().run_in_executor(self._thread, self._rendered)
        return await asyncio.shield(shown)  # whoever goes does not take it from the others

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _rendered(self) -> Exposition | None:
        try:
            body, content_type = self._render()
            if len(body) > MOST_BYTES:
                raise ValueError(f"the metrics have more than {MOST_BYTES:,} bytes")
        except Exception:  # noqa: BLE001 - whatever is wrong with a file of them, the service goes on
            if self._log_limit.left_out("") is not None:
                LOGGER.exception("no metrics")
            return None
        return body, content_type
