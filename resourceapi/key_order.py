"""The order in which the keys of an object are sent."""

from __future__ import annotations

from operator import itemgetter
from typing import Any


def with_sorted_keys(value: dict[str, Any]) -> dict[str, Any]:
    """The object as kubectl sends it: the keys of every mapping sorted, each once.

    Where the server names only one of several fields that it cannot read, the order of the keys decides which.
    """
    result = _sorted(value)
    pending: list[Any] = [result]
    while pending:  # an object of a cluster may be thousands of levels deep
        container = pending.pop()
        for key, member in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(member, dict):
                container[key] = _sorted(member)
            elif isinstance(member, list):
                container[key] = list(member)
            else:
                continue
            pending.append(container[key])
    return result


def _sorted(mapping: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(mapping.items(), key=itemgetter(0)))
