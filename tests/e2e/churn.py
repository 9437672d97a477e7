"""Pods and gangs that come and go at random, whatever happens to the cluster meanwhile."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Sequence
from typing import Any, Self

from tests.e2e import fleet
from tests.e2e.client import Answer, Client

_AGAIN_SECONDS = 0.1
_BUSY = (429, 500, 503, 504)


class Churn:
    """In the background: so many pods a second come while there are fewer than `alive`, else as many go.

    A gang counts as one. Those that go may be bound, or still wait.
    """

    def __init__(
        self,
        client: Client,
        scheduler: str,
        *,
        alive: int,
        rate: float,
        mix: Sequence[str] = fleet.MIX,
        first: int = 0,
        seed: int = 1,
    ) -> None:
        """`mix`: the kinds of pods; `first`: the number of the first one."""
        self.created = 0
        self.deleted = 0
        self.problems: list[str] = []
        self._client = client
        self._scheduler = scheduler
        self._alive = alive
        self._first = first
        self._rate = rate
        self._random = random.Random(seed)
        self._mix = mix
        self._alive_now: list[list[str]] = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._ending.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1 / self._rate, time.monotonic() - 1)
            if len(self._alive_now) >= self._alive:
                self._remove()
            else:
                self._add()

    def _add(self) -> None:
        number, kind = self._first + self.created, self._random.choice(self._mix)
        self.created += 1
        made = fleet.objects(number, kind, self._scheduler)
        for path, body in made:
            self._insist("POST", path, body)
        # Other pods may use the same claim.
        self._alive_now.append(
            [f"{path}/{body['metadata']['name']}" for path, body in made if path != fleet.CLAIMS]
        )

    def _remove(self) -> None:
        paths = self._alive_now.pop(self._random.randrange(len(self._alive_now)))
        self.deleted += 1
        for path in reversed(paths):
            self._insist("DELETE", path)

    def _insist(self, verb: str, path: str, body: object = None) -> None:
        answer = insist(self._client, verb, path, body)
        # What was asked for twice may be done already.
        if answer.code >= 300 and answer.code != (404 if verb == "DELETE" else 409):
            self.problems.append(f"{verb} {path}: {answer.code} {answer.body}")


def insist(client: Client, verb: str, path: str, body: Any = None) -> Answer:
    """Ask until there is an answer, for as long as a server may be away."""
    deadline = time.monotonic() + 300
    while True:
        try:
            answer = client.ask(verb, path, body)
            if answer.code not in _BUSY or time.monotonic() > deadline:
                return answer
        except (OSError, http.client.HTTPException):
            if time.monotonic() > deadline:
                raise
        time.sleep(_AGAIN_SECONDS)
