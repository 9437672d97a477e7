"""The account of one namespace that replicas share: what has been counted, and what is reserved since then.

A claim that is about to be stored is reserved first.  A recount lists what is stored, counts it, and strikes the
reservations of what it has found; those that it does not find stay until it is certain that nothing will come of them.
So what the ledger says is used is never less than what is stored, whatever fails in between.

Of reservations with the same name only the largest counts: at any time only one of them can be stored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from secrets import token_hex
from typing import Any, NamedTuple

from quota import amounts
from quota.amounts import Amounts
from resourceapi.quantity import Quantity

# So many of those who use a resource are remembered by name, the largest, to be named in refusals.
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

        ``beside``: leave out what is reserved for claims of this name, since they will not be there beside one that is
        to get it.
        """
        by_name: dict[str, Amounts] = {}
        for entry in self.reserved.values():
            if not entry.name or entry.name != beside:
                known = by_name.get(entry.name or entry.uid, {})
                by_name[entry.name or entry.uid] = amounts.largest(known, entry.usage)
        total = self.counted
        for usage in by_name.values():
            total = amounts.added(total, usage)
        return total

    def users_of(self, resource: str) -> list[Charged]:
        """Who is known to use a resource."""
        counted = self.users.get(resource, ())
        return [*counted, *(entry for entry in self.reserved.values() if resource in entry.usage)]

    def with_reservation(self, entry: Charged) -> Ledger:
        return self._replace(reserved={**self.reserved, entry.uid: entry})

    def without_reservation(self, uid: str) -> Ledger:
        return self._replace(reserved={key: entry for key, entry in self.reserved.items() if key != uid})

    def recounted(
        self,
        found: Iterable[Charged],
        hopeless: Collection[str],
        covered: frozenset[str],
        ages: Mapping[str, float] = {},
    ) -> Ledger:
        """The ledger after a recount.

        ``found``: everything that is stored, listed after this ledger's ``recount`` was read.  ``hopeless``: uids of
        reservations that nothing will come of.  ``ages``: for how many seconds reservations have been there, at least.
        """
        stored = list(found)
        counted: Amounts = {}
        for entry in stored:
            counted = amounts.added(counted, entry.usage)
        settled = {entry.uid for entry in stored}.union(hopeless)
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

    :raises ValueError: (KeyError, TypeError) for anything else; a recount of an empty ledger mends it.
    """
    users = {
        resource: tuple(
            Charged("", kind, name, amounts.read({resource: amount})) for kind, name, amount in entries
        )
        for resource, entries in value["users"].items()
    }
    reserved = {
        uid: Charged(uid, kind, name, amounts.read(usage)) for uid, kind, name, usage in value["reserved"]
    }
    covered = frozenset(value["covered"])
    # earlier releases kept no times
    waited = {uid: float(seconds) for uid, seconds in value.get("waited", {}).items()}
    return Ledger(amounts.read(value["counted"]), users, reserved, covered, str(value["recount"]), waited)


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
