"""How much is read of a cluster: of one answer (:mod:`cluster.client`), and here of all answers together.

What a server sends is up to the server, and to all who may create objects; that each answer is bounded helps little where
there are ever more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from resourceapi import deep_json
from resourceapi.api_client import TooMuch
from resourceapi.json_values import JSONMemory
from resourceapi.objects import Object

_GIB = 1024**3
#: What a command, one list of a watched collection, or one watch may read, in bytes: more than all pods of the largest
#: cluster that Kubernetes supports (150,000 of 10 KB).
READ_BYTES = 4 * _GIB
#: What the objects that a command reads may take in memory, as estimated: more than the devices of 5,000 nodes with
#: 128 each take. The estimate is two to three times what they do take.
HELD_BYTES = 6 * _GIB
#: How long a command, or one list of a watched collection, may wait for answers in all, in seconds: half an hour is enough
#: for all of that at 2.5 MB a second.
WAIT_SECONDS = 1800.0


class Budget:
    """What may be read still, by one thread at a time.

    :param read_bytes: of answers, as they come.
    :param held_bytes: of objects, decoded.
    :param wait_seconds: how long answers may be waited for.
    :param clock: returns seconds since any moment.
    """

    def __init__(
        self,
        read_bytes: int = READ_BYTES,
        held_bytes: int = HELD_BYTES,
        wait_seconds: float = WAIT_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._clock = clock
        self._wait_seconds, self._waited = wait_seconds, 0.0
        self._read_bytes, self._read = read_bytes, 0
        self._held_bytes, self._held = held_bytes, 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Charge the time for which an answer is waited for.

        :raises TooMuch: if there is none left.
        """
        if self._waited >= self._wait_seconds:
            raise TooMuch(f"the answers took more than {self._wait_seconds:g} s in all")
        begin = self._clock()
        try:
            yield
        finally:
            self._waited += self._clock() - begin

    def read(self, size: int) -> None:
        """Charge bytes that have come.

        :raises TooMuch: if they are more than are left.
        """
        self._read += size
        if self._read > self._read_bytes:
            raise TooMuch(f"the answers have more than {_shown(self._read_bytes)} in all")

    def hold(self, value: Object) -> None:
        """Charge an object that is going to be held.

        :raises TooMuch: if it takes more than is left.
        """
        memory = JSONMemory()
        memory.add(deep_json.dumps(value).encode("utf-8", "replace"))
        self._held += memory.bytes
        if self._held > self._held_bytes:
            raise TooMuch(f"the objects take more than {_shown(self._held_bytes)} of memory in all")


def _shown(size: int) -> str:
    return f"{size / _GIB:g} GiB" if size >= _GIB else f"{size:,} bytes"
