"""A memory of what was found for pods on nodes, of bounded size: in a large cluster each entry is large."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

#: Of how many pairs of a pod and a node something is remembered in one memory: some hundred MiB.
MOST_PAIRS = 2_000_000
Value = TypeVar("Value")


class Newest(Generic[Value]):
    """The newest values by the uid of their pod; the oldest are dropped for newer ones. For one thread at a time."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        self._pairs = 0

    def __len__(self) -> int:
        """How many pods something is remembered of."""
        return len(self._values)

    def put(self, uid: str, value: Value, nodes: int) -> None:
        """Remember a value in place of an earlier one.

        :param nodes: of how many nodes it tells.
        """
        self.pop(uid)
        self._values[uid] = value, nodes + 1
        self._pairs += nodes + 1
        while self._pairs > MOST_PAIRS and len(self._values) > 1:
            self.pop(next(iter(self._values)))

    def get(self, uid: str) -> Value | None:
        """The value of a pod, if there is one."""
        found = self._values.get(uid)
        return None if found is None else found[0]

    def pop(self, uid: str) -> Value | None:
        """Take out the value of a pod, if there is one."""
        found = self._values.pop(uid, None)
        if found is None:
            return None
        self._pairs -= found[1]
        return found[0]

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()
        self._pairs = 0
