"""Why a claim does not fit into a quota: how much its requests count, what is left, and who uses the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quota.admission import Shortage
from quota.claims import Demand
from quota.names import CLAIM_COUNT, ExtendedResources
from resourceapi.model.claims import ALL
from resourceapi.quantity import Quantity

# How many users are named, the largest first.
NAMED_USERS = 5


class User(NamedTuple):
    """An object that is charged: ``claim "a"``, ``pod "p"``."""

    kind: str
    name: str
    amount: Quantity

    def __str__(self) -> str:
        return f'{self.kind} "{self.name}" {self.amount}'


def explain(
    shortage: Shortage, found: Sequence[Demand], users: Iterable[User], resources: ExtendedResources
) -> str:
    """One sentence about one limit.

    :param found: the demands of the claim.
    :param users: who is charged for the resource; what they do not use, others do.
    """
    left = shortage.limit.sub(shortage.used)
    has_room = left.sign() > 0
    room = f"leaves {left} of {shortage.limit}" if has_room else f"has none left of {shortage.limit}"
    used = _used_by(users, shortage.used)
    return (
        f"{shortage.missing} too few {_what(shortage.resource, resources)}: {_needs(shortage, found, resources)}, "
        f'quota "{shortage.quota}" {room}' + (f" ({used})" if used else "")
    )


def describe(demand: Demand) -> str:
    """``request "gpu", alternative "small" (class "small.example.com", ExactCount): 2``."""
    alternative = f', alternative "{demand.alternative}"' if demand.alternative else ""
    worst = ", at worst" if demand.mode == ALL else ""
    return f'request "{demand.request}"{alternative} (class "{demand.device_class}", {demand.mode}{worst}): {demand.devices}'


def _what(resource: str, resources: ExtendedResources) -> str:
    if resource == CLAIM_COUNT:
        return "claims"
    classes = sorted(resources.classes_counted_by(resource))
    if len(classes) == 1:
        return f'devices of class "{classes[0]}" ({resource})'
    return resource


def _needs(shortage: Shortage, found: Sequence[Demand], resources: ExtendedResources) -> str:
    if shortage.resource == CLAIM_COUNT:
        return f"needed {shortage.requested}"
    classes = resources.classes_counted_by(shortage.resource)
    parts = [describe(demand) for demand in found if demand.counted and demand.device_class in classes]
    return f"needed {shortage.requested}" + (f" for {'; '.join(parts)}" if parts else "")


def _used_by(users: Iterable[User], used: Quantity) -> str:
    """The largest users, and how much users that are not named have together."""
    named = largest(users)
    others = used
    for user in named:
        others = others.sub(user.amount)
    parts = [str(user) for user in named]
    if others.sign() > 0:
        parts.append(f"others {others}")
    return "used by " + ", ".join(parts) if parts else ""


def largest(users: Iterable[User]) -> list[User]:
    """Those of the users that are named, the largest first."""
    return sorted((user for user in users if user.amount.sign() > 0), key=_largest_first)[:NAMED_USERS]


def _largest_first(user: User) -> tuple[int, str, str]:
    return (-user.amount.value(), user.kind, user.name)
