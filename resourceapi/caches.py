"""Caches, which do not grow without bounds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

# A cache that is bounded by the memory of its entries, so that nobody who fills it takes the room of
# others.
# Each entry belongs to an owner: the namespace or the pool whose objects it has been made from. Where
# there is no room left, the owner with most bytes loses the entry that it has not used for the longest
# time. So whoever has no more than an equal share loses nothing.

#: What an entry takes beside its value: the key, and places in dictionaries.
ENTRY_BYTES = 400
Key = TypeVar("Key")
Value = TypeVar("Value")


class _Entry(Generic[Value]):
    __slots__ = ("owner", "value", "weight")

    def __init__(self, value: Value, weight: int, owner: Hashable) -> None:
        self.value = value
        self.weight = weight
        self.owner = owner


class WeighedCache(Generic[Key, Value]):
    """Values by key. For one thread at a time, but for :meth:`get`."""

    def __init__(self, most_bytes: int, dropped: Callable[[Key], None] = lambda key: None) -> None:
        """Begin empty.

        :param most_bytes: how much memory all entries together may take.
        :param dropped: told of each key that is taken out, for whatever reason but :meth:`clear`.
        """
        self._dropped = dropped
        self.most_bytes = most_bytes
        #: how much they take
        self.bytes = 0
        self._entries: dict[Key, _Entry[Value]] = {}
        #: the keys of each owner, those first that have not been used for the longest time
        self._keys: dict[Hashable, OrderedDict[Key, None]] = {}
        self._bytes_of: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get(self, key: Key) -> Value | None:
        """The value of a key, if there is one; that does not count as use."""
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def use(self, key: Key, owner: Hashable = "") -> Value | None:
        """The value of a key, if there is one, which belongs to this owner from now on."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.owner != owner:
            self._take_out(key, entry)
            entry.owner = owner
            self._put_in(key, entry)
        else:
            self._keys[owner].move_to_end(key)
        return entry.value

    def put(self, key: Key, value: Value, weight: int, owner: Hashable = "") -> None:
        """Keep a value in place of an earlier one; one that alone takes more than there is goes at once, with all of its owner.

        :param weight: how much memory the value takes, in bytes.
        """
        self.pop(key)
        self._put_in(key, _Entry(value, weight + ENTRY_BYTES, owner))
        self._make_room()

    def weigh(self, key: Key, weight: int) -> None:
        """Note that the value of a key, if it is still here, takes another number of bytes now."""
        entry = self._entries.get(key)
        if entry is not None:
            change = weight + ENTRY_BYTES - entry.weight
            entry.weight += change
            self._bytes_of[entry.owner] += change
            self.bytes += change
            self._make_room()

    def pop(self, key: Key) -> Value | None:
        """Take out the value of a key, if there is one."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._take_out(key, entry)
        self._dropped(key)
        return entry.value

    def drop(self, owner: Hashable) -> None:
        """Take out all that belongs to an owner."""
        for key in list(self._keys.get(owner, ())):
            self.pop(key)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self._keys.clear()
        self._bytes_of.clear()
        self.bytes = 0

    def _put_in(self, key: Key, entry: _Entry[Value]) -> None:
        self._entries[key] = entry
        self._keys.setdefault(entry.owner, OrderedDict())[key] = None
        self._bytes_of[entry.owner] = self._bytes_of.get(entry.owner, 0) + entry.weight
        self.bytes += entry.weight

    def _take_out(self, key: Key, entry: _Entry[Value]) -> None:
        owner = entry.owner
        del self._entries[key], self._keys[owner][key]
        self._bytes_of[owner] -= entry.weight
        self.bytes -= entry.weight
        if not self._keys[owner]:
            del self._keys[owner], self._bytes_of[owner]

    def _make_room(self) -> None:
        while self.bytes > self.most_bytes:
            owner = max(self._bytes_of, key=self._bytes_of.__getitem__)
            self.pop(next(iter(self._keys[owner])))


# Dictionaries of what could be found out again, which do not grow without bounds.


def remember(memory: dict[Key, Value], key: Key, value: Value, limit: int = 1024) -> None:
    """Keep a value, after forgetting all others if there are `limit` of them."""
    if len(memory) >= limit:
        memory.clear()
    memory[key] = value
