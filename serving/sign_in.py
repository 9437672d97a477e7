"""People who sign in with a bearer token of the cluster: who they are, and what they may see, is asked once in a while.

What the cluster has said about a token counts for :data:`SECONDS`, also that it does not take it: whoever loses a right sees what it was
for no longer than that. Nobody who has no token that counts makes those wait who are known already: they are remembered and asked about apart.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from time import monotonic
from typing import NamedTuple

from resourceapi.api_client import Unavailable
from resourceapi.logs import log
from serving.browser_pages import NotSignedIn, Visitor
from serving.logs import LogLimit
from serving.routes import HTTPError

SECONDS = 30.0
#: Tokens that are remembered, those that are taken and those that are refused, and how many are asked about at a time.
MOST_TAKEN, MOST_REFUSED, MOST_ASKED = 1_000, 1_000, 200
THREADS = 8
REALM = "Kubernetes"
_SIGN_IN = (
    "sign in with a token of the cluster: `kubectl create token ACCOUNT`, or that of your identity provider"
)
_REFUSED = "the cluster does not take this token, or no longer"
_CROWDED = "too many people sign in at the same time"


class _Known(NamedTuple):
    """What is known of a token, and until when.

    :param visitor: None for one that is refused.
    """

    visitor: Visitor | None
    until: float


class SignIn:
    """A :data:`serving.browser_pages.Door`; for the thread of the event loop.

    :param welcome: who has a token, None for nobody; runs in a thread, and raises :class:`Unavailable` if the cluster does not say.
    """

    def __init__(
        self, welcome: Callable[[str], Visitor | None], clock: Callable[[], float] = monotonic
    ) -> None:
        self._welcome = welcome
        self._clock = clock
        self._threads, self._strangers = (
            ThreadPoolExecutor(THREADS, thread_name_prefix=name) for name in ("people", "strangers")
        )
        self._taken: OrderedDict[bytes, _Known] = OrderedDict()
        self._refused: OrderedDict[bytes, _Known] = OrderedDict()
        self._asking: dict[bytes, asyncio.Task[Visitor | None]] = {}
        self._log_limit = LogLimit()

    def close(self) -> None:
        """End the threads."""
        for each in (self._threads, self._strangers):
            each.shutdown(wait=False, cancel_futures=True)

    async def __call__(self, token: str) -> Visitor:
        """Who has a token.

        :raises NotSignedIn: if nobody has.
        """
        if not token:
            raise NotSignedIn(_SIGN_IN, REALM)
        key = sha256(token.encode("utf-8", "surrogateescape")).digest()
        known = self._taken.get(key) or self._refused.get(key)
        if known is not None and self._clock() < known.until:
            visitor = known.visitor
        else:
            visitor = await self._ask(key, token)
        if visitor is None:
            raise NotSignedIn(_REFUSED, REALM)
        return visitor

    async def _ask(self, key: bytes, token: str) -> Visitor | None:
        task = self._asking.get(key)
        if task is None:
            if len(self._asking) >= MOST_ASKED and key not in self._taken:
                raise HTTPError(_CROWDED, 503)
            task = self._asking[key] = asyncio.create_task(self._find_out(key, token))
        return await asyncio.shield(task)  # whoever goes does not take it from others with this token

    async def _find_out(self, key: bytes, token: str) -> Visitor | None:
        until = self._clock() + SECONDS
        threads = self._threads if key in self._taken else self._strangers
        try:
            visitor = await asyncio.get_running_loop().run_in_executor(threads, self._welcome, token)
        except Unavailable as error:
            self._forget(key)
            if self._log_limit.left_out("") is not None:
                log(logging.WARNING, "cannot ask who somebody is", reason=error.reason)
            raise HTTPError("the API server does not say who you are, or what you may see", 503) from None
        finally:
            del self._asking[key]
        self._forget(key)
        remembered, most = (self._refused, MOST_REFUSED) if visitor is None else (self._taken, MOST_TAKEN)
        remembered[key] = _Known(visitor, until)
        if len(remembered) > most:
            remembered.popitem(last=False)
        return visitor

    def _forget(self, key: bytes) -> None:
        for each in (self._taken, self._refused):
            each.pop(key, None)
