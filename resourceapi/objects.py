"""Kubernetes objects, and parts of them, as JSON has them."""

from __future__ import annotations

from typing import Any, Final, NoReturn

Object = dict[str, Any]


class _ReadOnly(dict[str, Any]):
    """A dict that refuses to change, because everybody shares it."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this object is shared and cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


EMPTY: Final[Object] = _ReadOnly()
"""Stands for a part that an object does not have: ``(claim.get("spec") or EMPTY).get("devices")``."""


def copied(value: Any) -> Any:
    """A copy of an object or a list and of all that is in it; scalars, quantities and raw JSON are shared."""
    if isinstance(value, dict):
        return {name: copied(member) for name, member in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def without_nulls(value: Any) -> Any:
    """The value without members that are null, a copy if there are any; entries of lists stay."""
    if not _has_null(value):
        return value
    whole = [value]
    pending: list[Any] = [whole]
    while pending:  # no recursion, since parameters can be nested deeply
        container = pending.pop()
        members = container.items() if isinstance(container, dict) else enumerate(container)
        for key, member in list(members):
            if isinstance(member, dict):
                container[key] = {name: each for name, each in member.items() if each is not None}
            elif isinstance(member, list):
                container[key] = list(member)
            else:
                continue
            pending.append(container[key])
    return whole[0]


def _has_null(value: Any) -> bool:
    pending = [value]
    for member in pending:  # which grows
        if isinstance(member, dict):
            pending.extend(member.values())
        elif isinstance(member, list):
            pending.extend(member)
        elif member is None:
            return True
    return False
