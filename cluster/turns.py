"""What waits in several namespaces takes turns, so that much in one of them does not keep the others waiting."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Turns(Generic[_T]):
    """Values by key, in the order of their coming within each namespace; for one thread at a time."""

    def __init__(self, most: int = sys.maxsize) -> None:
        """Begin empty.

        :param most: how many may wait; of more, the oldest of the namespace with the most is left out.
        """
        self._most = most
        self._namespaces: OrderedDict[str, OrderedDict[Hashable, _T]] = OrderedDict()
        self._home: dict[Hashable, str] = {}

    def __len__(self) -> int:
        return len(self._home)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._home

    def get(self, key: Hashable) -> _T | None:
        """The value that waits with a key, if one does."""
        namespace = self._home.get(key)
        return None if namespace is None else self._namespaces[namespace][key]

    def put(self, namespace: str, key: Hashable, value: _T) -> None:
        """Let a value wait; one that waits already keeps its place.

        :param key: always of the same namespace.
        """
        self._namespaces.setdefault(namespace, OrderedDict())[key] = value
        self._home[key] = namespace
        if len(self._home) > self._most:
            largest = max(self._namespaces, key=lambda each: len(self._namespaces[each]))
            self._take(largest, next(iter(self._namespaces[largest])))

    def take(
        self,
        is_due: Callable[[_T], bool] = lambda value: True,
        may_take: Callable[[str], bool] = lambda namespace: True,
    ) -> _T | None:
        """The first value that is due in the namespace whose turn it is; None if none is due in any.

        :param may_take: whether a namespace has a turn at all; of others, no value is looked at.
        """
        for namespace, waiting in self._namespaces.items():
            if not may_take(namespace):
                continue
            key = next((key for key, value in waiting.items() if is_due(value)), None)
            if key is not None:
                value = self._take(namespace, key)
                self.pass_on(namespace)
                return value
        return None

    def pass_on(self, namespace: str) -> None:
        """Let a namespace wait behind all others."""
        if namespace in self._namespaces:
            self._namespaces.move_to_end(namespace)

    def discard(self, key: Hashable) -> None:
        """Let a value wait no longer, if it does; the others keep their places."""
        if (namespace := self._home.get(key)) is not None:
            self._take(namespace, key)

    def clear(self) -> None:
        """Let nothing wait any more."""
        self._namespaces.clear()
        self._home.clear()

    def _take(self, namespace: str, key: Hashable) -> _T:
        del self._home[key]
        waiting = self._namespaces[namespace]
        value = waiting.pop(key)
        if not waiting:
            del self._namespaces[namespace]
        return value
