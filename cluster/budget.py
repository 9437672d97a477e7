"""How much is read and held of a cluster: of one answer (:mod:`cluster.client`), and here of all answers together.

What a server sends is up to the server, and to all who may create objects; that each answer is bounded helps little where
there are ever more of them.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic

from resourceapi import deep_json
from resourceapi.api_client import TooMuch
from resourceapi.json_values import JSONMemory
from resourceapi.manifests import key_of
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

#: How many objects of a watched collection are held: more than tenants can create before a service that holds them is short of memory.
MOST_WATCHED = 1_000_000
#: What an object takes beside its text.
OBJECT_BYTES = 1024
#: What a value takes in a text beside its characters: quotes and commas, or brackets.
_PART_BYTES = 3


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


class Holdings:
    """What the objects of watched collections take together, as long as they are held; for any number of threads."""

    def __init__(self, most_bytes: int = HELD_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._lock = Lock()

    def change(self, by: int) -> None:
        """Hold so many bytes more, or fewer.

        :raises TooMuch: if they are more than are left; then nothing changes.
        """
        with self._lock:
            if by > 0 and self._bytes + by > self._most_bytes:
                raise TooMuch(
                    f"the objects that are watched have more than {_shown(self._most_bytes)} in all"
                )
            self._bytes += by


class Holding:
    """The part that one collection has of them; for one thread.

    A list is held beside what it is going to replace, until it has come to its end.
    """

    def __init__(self, holdings: Holdings, weigh: Callable[[Object], int]) -> None:
        """Hold nothing yet.

        :param weigh: the bytes of what is held of an object.
        """
        self._holdings = holdings
        self._weigh = weigh
        self._sizes: dict[str, int] = {}
        self._listed: dict[str, int] = {}

    def forget_list(self) -> None:
        """Forget a list that has not come to its end."""
        self._holdings.change(-sum(self._listed.values()))
        self._listed = {}

    def add_listed(self, obj: Object) -> None:
        """Hold an object of a list.

        :raises TooMuch: if it is one more than :data:`MOST_WATCHED`, or takes more than is left.
        """
        self._add(self._listed, obj)

    def end_list(self) -> None:
        """Hold what has been listed instead of all else."""
        self._holdings.change(-sum(self._sizes.values()))
        self._sizes, self._listed = self._listed, {}

    def put(self, obj: Object) -> None:
        """Hold an object instead of one with its key.

        :raises TooMuch: as :meth:`add_listed`.
        """
        self._add(self._sizes, obj)

    def remove(self, obj: Object) -> None:
        """Hold an object no longer."""
        self._holdings.change(-self._sizes.pop(key_of(obj), 0))

    def _add(self, sizes: dict[str, int], obj: Object) -> None:
        key, size = key_of(obj), OBJECT_BYTES + self._weigh(obj)
        if key not in sizes and len(sizes) >= MOST_WATCHED:
            raise TooMuch(f"there are more than {MOST_WATCHED:,} objects")
        self._holdings.change(size - sizes.get(key, 0))
        sizes[key] = size


def text_bytes(value: Object) -> int:
    """About the bytes of a value as text, at a fifth of the price of writing it."""
    try:
        return len(marshal.dumps(value, 2))
    except ValueError:  # too deep
        return _bytes_of_parts(value)


def _bytes_of_parts(value: object) -> int:
    """The same, part by part: a tenant may change such an object again and again, and whoever follows the kind reads it each time."""
    found, pending = 0, [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str):
            found += len(part)
        elif isinstance(part, dict):
            pending += part
            pending += part.values()
        elif isinstance(part, list):
            pending += part
        found += _PART_BYTES
    return found


def _shown(size: int) -> str:
    return f"{size / _GIB:g} GiB" if size >= _GIB else f"{size:,} bytes"
