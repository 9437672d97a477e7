"""The ledger of one namespace, which replicas share: the usage counted last, and reservations since then.

A claim that is about to be stored is reserved first.  A recount lists what is stored, counts it, and removes the
reservations of what it has found; others stay until it is certain that their claims will not come.
So what the ledger says is used is never less than what is stored, whatever fails in between.

Of reservations with the same name only the largest counts: at any time only one of them can be stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from secrets import token_hex
from typing import Any, NamedTuple

from quota import amounts
from resourceapi.quantity import Amounts, Quantity, added, amounts_of

# How many users of a resource are kept by name, the largest, to be named in refusals.
REMEMBERED_USERS = 5


class Charged(NamedTuple):
    """An object and what it counts: stored, or about to be. ``uid`` is its ``metadata.uid``."""

    uid: str
    kind: str
    name: str
    usage: Amounts


class Ledger(NamedTuple):
    """``counted``: the usage that the latest recount has found.  ``users``: of each resource, who uses the most of it.

    ``reserved``: what has been reserved, by uid.  ``covered``: the limits of quotas for which everything since the
    recount is reserved (see :func:`quota.reservations.limits_of`).  ``recount``: a random text that tells one recount
    from any other.  ``waited``: for how many seconds, at the latest recount, each reservation had been there at least.
    """

    counted: Amounts
    users: Mapping[str, tuple[Charged, ...]]
    reserved: Mapping[str, Charged]
    covered: frozenset[str] = frozenset()
    recount: str = ""
    waited: Mapping[str, float] = {}

    def used(self, *, beside: str = "") -> Amounts:
        """All that is counted or reserved.

        :param beside: the name of a claim that is to be created: reservations for others of that name do not count,
            since only one of them can be stored.
        """
        by_name: dict[str, Amounts] = {}
        for entry in self.reserved.values():
            if not entry.name or entry.name != beside:
                so_far = by_name.get(entry.name or entry.uid, {})
                by_name[entry.name or entry.uid] = amounts.largest(so_far, entry.usage)
        total = self.counted
        for usage in by_name.values():
            total = added(total, usage)
        return total

    def users_of(self, resource: str) -> list[Charged]:
        """The largest users of a resource, and those with reservations."""
        counted = self.users.get(resource, ())
        return [*counted, *(entry for entry in self.reserved.values() if resource in entry.usage)]

    def with_reservation(self, entry: Charged) -> Ledger:
        """The ledger with one more reservation."""
        return self._replace(reserved={**self.reserved, entry.uid: entry})

    def recounted(
        self,
        found: Iterable[Charged],
        expired: Collection[str],
        covered: frozenset[str],
        ages: Mapping[str, float] = {},
    ) -> Ledger:
        """The ledger after a recount.

        :param found: everything that is stored, listed after this ledger's ``recount`` was read.
        :param expired: uids of reservations whose claims will not come any more.
        :param ages: for how many seconds reservations have been there, at least.
        """
        stored = list(found)
        counted: Amounts = {}
        for entry in stored:
            counted = added(counted, entry.usage)
        settled = {entry.uid for entry in stored}.union(expired)
        left = {uid: entry for uid, entry in self.reserved.items() if uid not in settled}
        waited = {uid: ages.get(uid, self.waited.get(uid, 0.0)) for uid in left}
        return Ledger(counted, _largest_users(stored), left, covered, token_hex(8), waited)


EMPTY = Ledger({}, {}, {})


def to_json(ledger: Ledger) -> dict[str, Any]:
    """A ledger as a JSON object."""
    return {
        "recount": ledger.recount,
        "covered": sorted(ledger.covered),
        "counted": amounts.written(ledger.counted),
        "users": {
            resource: [[entry.kind, entry.name, str(entry.usage[resource])] for entry in entries]
            for resource, entries in sorted(ledger.users.items())
        },
        "reserved": [
            [entry.uid, entry.kind, entry.name, amounts.written(entry.usage)]
            for entry in ledger.reserved.values()
        ],
        "waited": {uid: int(seconds) for uid, seconds in ledger.waited.items() if seconds >= 1},
    }


def from_json(value: Mapping[str, Any]) -> Ledger:
    """The ledger in a JSON object that :func:`to_json` has made.

    :raises ValueError: (KeyError, TypeError) for anything else; a recount of an empty ledger replaces it.
    """
    users = {
        resource: tuple(
            Charged("", kind, name, amounts_of({resource: amount})) for kind, name, amount in entries
        )
        for resource, entries in value["users"].items()
    }
    reserved = {
        uid: Charged(uid, kind, name, amounts_of(usage)) for uid, kind, name, usage in value["reserved"]
    }
    covered = frozenset(value["covered"])
    # earlier releases kept no times
    waited = {uid: float(seconds) for uid, seconds in value.get("waited", {}).items()}
    return Ledger(amounts_of(value["counted"]), users, reserved, covered, str(value["recount"]), waited)


def _largest_users(stored: Iterable[Charged]) -> dict[str, tuple[Charged, ...]]:
    by_resource: dict[str, list[tuple[Quantity, Charged]]] = {}
    for entry in stored:
        for resource, amount in entry.usage.items():
            by_resource.setdefault(resource, []).append((amount, entry))
    return {
        resource: tuple(
            Charged(entry.uid, entry.kind, entry.name, {resource: amount})
            for amount, entry in sorted(users, key=_largest_first)[:REMEMBERED_USERS]
        )
        for resource, users in by_resource.items()
    }


def _largest_first(user: tuple[Quantity, Charged]) -> tuple[int, str, str]:
    return -user[0].value(), user[1].kind, user[1].name
