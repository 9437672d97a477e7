"""Whether two values are the same to the server.

Kubernetes compares objects "semantically": an empty list or map is as good as none, quantities are compared by
amount.
"""

from __future__ import annotations

from typing import Any


def equal(one: Any, other: Any) -> bool:
    """Whether two values in normal form mean the same."""
    if one == other:
        return True
    if isinstance(one, dict) or isinstance(other, dict):
        return _equal_maps(one or {}, other or {})
    if isinstance(one, list) or isinstance(other, list):
        one, other = one or [], other or []
        return len(one) == len(other) and all(map(equal, one, other))
    return False


def _equal_maps(one: Any, other: Any) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return False
    return all(equal(one.get(key), other.get(key)) for key in one.keys() | other.keys())
