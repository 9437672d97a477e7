"""Why a claim does not fit into a quota, for its author: which request and alternative, how much, who has the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quota.admission import Shortage
from quota.claims import Demand
from quota.device_classes import ExtendedResources
from quota.names import CLAIM_COUNT
from resourceapi.model.claims import ALL
from resourceapi.quantity import Quantity

# So many of those who use a limit are named, the largest first.
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

    ``found``: the demands of the claim.  ``users``: who is charged for the resource; others use what they do not.
    """
    left = shortage.limit.sub(shortage.used)
    has_room = left.sign() > 0
    rest = f"leaves {left} of {shortage.limit}" if has_room else f"has none left of {shortage.limit}"
    used = _used_by(users, shortage.used)
    return (
        f"{shortage.missing} too few {_what(shortage.resource, resources)}: {_needs(shortage, found, resources)}, "
        f'quota "{shortage.quota}" {rest}' + (f" ({used})" if used else "")
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
    """Who has what is used, the largest first, and how much is left for users that are not named."""
    known = sorted((user for user in users if user.amount.sign() > 0), key=_largest_first)
    named = known[:NAMED_USERS]
    rest = used
    for user in named:
        rest = rest.sub(user.amount)
    parts = [str(user) for user in named]
    if rest.sign() > 0:
        parts.append(f"others {rest}")
    return "used by " + ", ".join(parts) if parts else ""


def _largest_first(user: User) -> tuple[int, str, str]:
    return (-user.amount.value(), user.kind, user.name)
