"""People who sign in with a bearer token of the cluster: who they are, and what they may see, is asked once in a while.

What the cluster has said about a token counts for :data:`SECONDS`, also that it does not take it: whoever loses a right sees what it was
for no longer than that. Nobody who has no token that counts makes those wait who are known already: they are remembered and asked about apart.
Nor does somebody with thousands of tokens, or accounts, make others wait: what they may see is asked for one of their tokens after the other, and where there is no room to
remember more, it is one of theirs that is forgotten.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import NamedTuple, TypeVar

from cluster.turns import Turns
from resourceapi.api_client import Unavailable
from resourceapi.logs import log
from serving.browser_pages import NotSignedIn, Visitor
from serving.logs import LogLimit
from serving.routes import HTTPError
from serving.slots import FairSlot, Places

_T = TypeVar("_T")
SECONDS = 30.0
#: Tokens that are remembered, those that are taken and those that are refused.
MOST_TAKEN, MOST_REFUSED = 1_000, 1_000
#: How many requests wait with tokens that are not known; what people see is asked about for so many of these, and for so many of one person.
MOST_ASKED, MOST_NEW, MOST_NEW_OF_ONE = 200, 100, 20
#: How many wait with tokens that are known, of all people and of one; open streams are among them.
MOST_KNOWN, MOST_KNOWN_OF_ONE = 500, 150
THREADS = 8
REALM = "Kubernetes"
_SIGN_IN = (
    "sign in with a token of the cluster: `kubectl create token ACCOUNT`, or that of your identity provider"
)
_REFUSED = "the cluster does not take this token, or no longer"
_CROWDED = "too many people sign in at the same time"


class _Known(NamedTuple):
    """What is known of a token, and until when.

    :param visitor: None for one that is refused, or where it has still to be asked what they see.
    :param name: whose it is, of one that is taken.
    """

    visitor: Visitor | None
    until: float
    name: str = ""


class Guest(NamedTuple):
    """Somebody whom the cluster knows.

    :param name: who it is: people take turns.
    :param visitor: finds out what they see; runs in a thread, and raises :class:`Unavailable` if the cluster does not say.
    """

    name: str
    visitor: Callable[[], Visitor]


class SignIn:
    """A :data:`serving.browser_pages.Door`; for the thread of the event loop.

    :param welcome: who has a token, None for nobody; runs in a thread, and raises :class:`Unavailable` if the cluster does not say.
    """

    def __init__(
        self, welcome: Callable[[str], Guest | None], clock: Callable[[], float] = monotonic
    ) -> None:
        self._welcome = welcome
        self._clock = clock
        self._threads, self._strangers = (
            ThreadPoolExecutor(THREADS, thread_name_prefix=name) for name in ("people", "strangers")
        )
        self._turns = FairSlot(THREADS)
        self._unknown = Places(2 * MOST_ASKED, MOST_ASKED, _CROWDED)  # half of it is left for others
        self._new = Places(MOST_NEW, MOST_NEW_OF_ONE, _CROWDED)
        self._known = Places(MOST_KNOWN, MOST_KNOWN_OF_ONE, _CROWDED)
        self._taken: Turns[_Known] = Turns(MOST_TAKEN)
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
        name = self._name(key)
        with self._known.taken(name) if name is not None else self._unknown.taken(""):
            task = self._asking.get(key)
            if task is None:
                task = self._asking[key] = asyncio.create_task(self._find_out(key, token))
            return await asyncio.shield(task)  # whoever goes does not take it from others with this token

    def _name(self, key: bytes) -> str | None:
        """Whose token it is, if that is known."""
        known = self._taken.get(key)
        return None if known is None else known.name

    async def _find_out(self, key: bytes, token: str) -> Visitor | None:
        until = self._clock() + SECONDS
        name, ask = self._name(key), partial(self._welcome, token)
        try:
            if name is not None:
                guest = await self._in_turn(name, ask)
            else:
                guest = await asyncio.get_running_loop().run_in_executor(self._strangers, ask)
            if (
                name is None and guest is not None
            ):  # also if there is no place for them: it is known now whose it is
                self._taken.put(guest.name, key, _Known(None, float("-inf"), guest.name))
            with self._new.taken(guest.name) if name is None and guest is not None else nullcontext():
                visitor = None if guest is None else await self._in_turn(guest.name, guest.visitor)
        except Unavailable as error:
            if self._log_limit.left_out("") is not None:
                log(logging.WARNING, "cannot ask who somebody is", reason=error.reason)
            raise HTTPError("the API server does not say who you are, or what you may see", 503) from None
        finally:
            del self._asking[key]
        self._forget(key)
        if visitor is not None:
            self._taken.put(visitor.name, key, _Known(visitor, until, visitor.name))
        else:
            self._refused[key] = _Known(None, until)
            if len(self._refused) > MOST_REFUSED:
                self._refused.popitem(last=False)
        return visitor

    async def _in_turn(self, name: str, ask: Callable[[], _T]) -> _T:
        """What is answered to a question about somebody."""
        await self._turns.acquire(name)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        finally:
            self._turns.release(name)

    def _forget(self, key: bytes) -> None:
        self._taken.discard(key)
        self._refused.pop(key, None)
