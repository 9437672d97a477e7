"""Reservations: a claim is charged before it is admitted, so that no number of replicas admits more than fits.

Usage is reserved in a ledger of the namespace by compare-and-swap.  Nothing is given back when a claim is refused later
or its creation fails: the next recount finds no claim and strikes the reservation once none can come any more.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Event, Lock
from time import monotonic, sleep
from typing import NamedTuple, Protocol

from quota.admission import Verdict, admit
from quota.amounts import only, without_zeros
from quota.evaluators import Evaluator
from quota.ledger import EMPTY, Charged, Ledger, from_json, to_json
from quota.resource_quotas import ResourceQuota
from quota.store import Store, Stored
from resourceapi.errors import ClaimcheckError, WriteConflict
from resourceapi.kinds import CLAIM
from resourceapi.objects import Object
from resourceapi.quantity import ZERO, Amounts, Quantity
from resourceapi.records.claims import pod_served_by

TOO_MANY_OTHERS = "the ledger of the namespace is being changed by too many others"
# A ConfigMap holds 1 MiB at most.
MAX_LEDGER_BYTES = 900 * 1024
# When so much is reserved, a recount is due, which strikes what has been stored since the last one.
MANY_RESERVATIONS = 500
# Before the uid of a pod, in a reservation for the claim that counts less because of it.
OF_POD = "pod/"
# Waiting between attempts, in seconds, doubled from the first to the last.
FIRST_PAUSE, LAST_PAUSE = 0.002, 0.1


class NameTaken(ClaimcheckError):
    """There is an object of that name already, so that the creation of another one is bound to fail."""


class Busy(ClaimcheckError):
    """Too many others change the ledger, or too much is reserved: try again later."""


class Namespaces(Protocol):
    """The namespaces of a cluster."""

    def quotas(self, namespace: str) -> Sequence[ResourceQuota]:
        """The ResourceQuotas; only their limits matter."""

    def charged(self, namespace: str) -> Iterable[Charged]:
        """Everything stored that is charged; it includes all that was stored before the call."""

    def evaluator(self, namespace: str) -> Evaluator:
        """How claims are counted there."""

    def uid_of(self, namespace: str, name: str) -> str:
        """The uid of the stored claim of that name; empty if there is none."""


class Times(NamedTuple):
    """How long things may take, in seconds.

    :param patience: how long a reservation may take.
    :param grace: how long after its reservation a claim may still be stored: more than the API server gives a request in all.
    :param freshness: before a claim is refused, usage is recounted unless that was done so recently.
    """

    patience: float = 5.0
    grace: float = 300.0
    freshness: float = 1.0


USUAL_TIMES = Times()


class Reservations:
    """Reserves usage for new claims and recounts what is used; for any number of threads and processes."""

    def __init__(
        self,
        store: Store,
        namespaces: Namespaces,
        *,
        is_enforced: Callable[[str], bool] = lambda name: True,
        is_deleted: Callable[[str], bool] = lambda uid: False,
        times: Times = USUAL_TIMES,
        clock: Callable[[], float] = monotonic,
        pause: Callable[[float], None] = sleep,
    ) -> None:
        """Make it ready.

        :param is_enforced: which limits (names in a quota) are held here; others hold the rest.
        :param is_deleted: whether a claim (uid) is known to have been stored and deleted; it need not know all of them.
        """
        self.store = store
        self.namespaces = namespaces
        self._is_enforced = is_enforced
        self._is_deleted = is_deleted
        self._times = times
        self._clock = clock
        self._pause = pause
        self._locks: dict[str, Lock] = {}
        self._recounted: dict[str, float] = {}
        # When, by the clock of this process, a reservation was there at the latest: no clocks need to agree.
        self._there_since: dict[str, dict[str, float]] = {}

    def reserve(
        self,
        namespace: str,
        claim: Object,
        *,
        dry_run: bool = False,
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> tuple[Verdict, Ledger]:
        """Reserve what a new claim (v1, with name and uid) counts, if that fits into every quota.

        The verdict is that of :func:`quota.admission.admit`; the ledger tells who uses what.  A dry run reserves
        nothing.  Reserving the same claim again changes nothing.

        :param is_wanted: whether somebody still waits for the verdict; for nobody nothing is reserved.
        :raises NameTaken: if the claim would fit, but another one has its name.
        :raises Busy: if it cannot be decided now.
        """
        quotas = self._limits(namespace)
        evaluator = self.namespaces.evaluator(namespace)
        covered = limits_of(quotas, evaluator)
        if not covered:
            return Verdict(tuple(quotas)), EMPTY
        if dry_run:
            return self._preview(namespace, claim, quotas, evaluator)
        lock = self._locks.setdefault(namespace, Lock())
        if not lock.acquire(timeout=self._times.patience):
            raise Busy(TOO_MANY_OTHERS)
        try:
            return self._reserve(namespace, claim, quotas, evaluator, is_wanted)
        finally:
            lock.release()

    def recount(self, namespace: str) -> Ledger:
        """Count what is stored, and strike reservations of claims that are stored or will not come any more.

        :raises Busy: if it cannot be written now.
        """
        quotas = self._limits(namespace)
        covered = limits_of(quotas, self.namespaces.evaluator(namespace))
        return self._recount(namespace, covered, self._clock() + self._times.patience)

    def forget(self, namespace: str) -> None:
        """Delete the ledger of a namespace without quotas; if one comes back, it begins with a recount."""
        stored = self.store.get(namespace)
        if stored is not None and not limits_of(
            self._limits(namespace), self.namespaces.evaluator(namespace)
        ):
            try:
                self.store.delete(namespace, stored.version)
            except WriteConflict:
                return  # it is in use again
        self._there_since.pop(namespace, None)
        self._recounted.pop(namespace, None)

    # --- reserving -----------------------------------------------------------------------------------------------

    def _reserve(
        self,
        namespace: str,
        claim: Object,
        quotas: Sequence[ResourceQuota],
        evaluator: Evaluator,
        is_wanted: Callable[[], bool],
    ) -> tuple[Verdict, Ledger]:
        covered = limits_of(quotas, evaluator)
        deadline, pauses = self._clock() + self._times.patience, _pauses()
        fresh = name_is_free = False
        while True:
            stored, ledger = self._read(namespace)
            if stored is None or not covered <= ledger.covered:
                self._recount(namespace, covered, deadline)
                self._insist(deadline)
                continue
            # After the ledger is read: whatever that has no reservation for any more is among the claims that are stored now.
            asked, entry = self._asked(claim, evaluator, ledger)
            if entry.uid in ledger.reserved:
                return Verdict(tuple(quotas)), ledger
            verdict = admit(with_usage(quotas, ledger, beside=entry.name), evaluator, asked)
            crowded = len(ledger.reserved) >= MANY_RESERVATIONS
            if (verdict.message or crowded) and not fresh and self._is_stale(namespace):
                self._recount(namespace, covered, deadline)
                fresh = True
                continue
            if verdict.message or not entry.usage:
                return verdict, ledger
            if not name_is_free:
                self._expect_free(namespace, entry)
                name_is_free = True
            if not is_wanted():
                raise Busy("nobody waits for the answer any more")
            reserved = ledger.with_reservation(entry)
            try:
                self._write(namespace, reserved, stored)
            except WriteConflict:
                self._wait(pauses, deadline)
                continue
            self._there_since.setdefault(namespace, {})[entry.uid] = self._clock()
            return verdict, reserved

    def _expect_free(self, namespace: str, entry: Charged) -> None:
        """Refuse a claim whose name is taken, rather than admit it without a reservation.

        The name may be free before the API server looks.

        :raises NameTaken: if another claim has the name.
        """
        if entry.name and self.namespaces.uid_of(namespace, entry.name) not in ("", entry.uid):
            raise NameTaken

    def _preview(
        self, namespace: str, claim: Object, quotas: Sequence[ResourceQuota], evaluator: Evaluator
    ) -> tuple[Verdict, Ledger]:
        """The verdict alone; what is stored is counted if it must be, but not written down."""
        _, ledger = self._read(namespace)
        name = claim["metadata"].get("name", "")
        verdict = admit(with_usage(quotas, ledger, beside=name), evaluator, claim)
        covered = limits_of(quotas, evaluator)
        if covered <= ledger.covered and not (verdict.message and self._is_stale(namespace)):
            return verdict, ledger
        ledger = ledger.recounted(self.namespaces.charged(namespace), (), covered)
        return admit(with_usage(quotas, ledger, beside=name), evaluator, claim), ledger

    def _asked(self, claim: Object, evaluator: Evaluator, ledger: Ledger) -> tuple[Object, Charged]:
        """The claim as it counts, and what is to be reserved; the API server gives a claim its uid before it asks.

        Of the claims that are made for a pod which has been charged already, one counts less. A reservation says so, in place
        of an amount, as long as that claim may not be stored yet.
        """
        metadata = claim["metadata"]
        name, owner = metadata.get("name", ""), pod_served_by(claim)
        uid = metadata.get("uid") or name
        usage = without_zeros(evaluator.usage(claim))
        held = self._held(usage, ledger.covered)
        if owner is not None:
            alone = {**claim, "metadata": {"name": name, "uid": uid}}
            whole = without_zeros(evaluator.usage(alone))
            mark = OF_POD + owner[1]
            if any(mark in each.usage for each in ledger.reserved.values() if each.uid != uid):
                claim, held = alone, self._held(whole, ledger.covered)
            elif usage != whole:
                held[mark] = Quantity(1)
        return claim, Charged(uid, CLAIM.name, name, held)

    def _held(self, usage: Amounts, covered: frozenset[str]) -> Amounts:
        """What a ledger has of a usage: what limits are about. All else takes as much room as tenants like."""
        limited = {each.partition("/")[2] for each in covered}
        return {name: a for name, a in usage.items() if name in limited and self._is_enforced(name)}

    def _is_stale(self, namespace: str) -> bool:
        """Whether the last recount is too old to refuse a claim by it."""
        last = self._recounted.get(namespace)
        return last is None or self._clock() - last >= self._times.freshness

    def _limits(self, namespace: str) -> list[ResourceQuota]:
        """The quotas, with those of their limits that are held here."""
        quotas = self.namespaces.quotas(namespace)
        return [
            quota._replace(hard={name: a for name, a in quota.hard.items() if self._is_enforced(name)})
            for quota in quotas
        ]

    # --- recounting ----------------------------------------------------------------------------------------------

    def _recount(self, namespace: str, covered: frozenset[str], deadline: float) -> Ledger:
        """One recount.

        The ledger is read first and what is stored is listed then, so that whatever has been struck from the ledger
        is in the list.  Reservations that come while the list is made are kept; but if another recount comes in
        between, it may have struck what this list does not have yet, and all begins again.
        """
        pauses = _pauses()
        while True:
            _, before = self._read(namespace)
            found = [
                each._replace(usage=self._held(each.usage, covered))
                for each in self.namespaces.charged(namespace)
            ]
            ages = self._ages(namespace, before, {entry.uid for entry in found})
            expired = {uid for uid, age in ages.items() if age >= self._times.grace or self._is_deleted(uid)}
            while True:
                stored, now = self._read(namespace)
                if now.recount != before.recount:
                    break
                counted = now.recounted(found, expired, covered, ages)
                try:
                    self._write(namespace, counted, stored)
                except WriteConflict:
                    self._wait(pauses, deadline)
                    continue
                self._recounted[namespace] = self._clock()
                return counted
            self._wait(pauses, deadline)

    def _ages(self, namespace: str, ledger: Ledger, found: set[str]) -> dict[str, float]:
        """For how many seconds, at least, reservations have been there whose claim has not come.

        It is known from when this process saw them first, and how old they were then for whoever has recounted before:
        so it goes on where that one ended.  Clocks that can be set are not asked.
        """
        now, since = self._clock(), self._there_since.get(namespace, {})
        waiting = {
            uid: min(since.get(uid, now), now - ledger.waited.get(uid, 0.0))
            for uid in ledger.reserved
            if uid not in found
        }
        self._there_since[namespace] = waiting
        return {uid: now - there for uid, there in waiting.items()}

    # --- the stored ledger ---------------------------------------------------------------------------------------

    def _read(self, namespace: str) -> tuple[Stored | None, Ledger]:
        stored = self.store.get(namespace)
        if stored is None:
            return None, EMPTY
        try:
            return stored, from_json(stored.content)
        except (AttributeError, KeyError, TypeError, ValueError):
            # Somebody has put something else there. It covers nothing, so a recount writes it anew.
            return stored, EMPTY

    def _write(self, namespace: str, ledger: Ledger, stored: Stored | None) -> None:
        content = to_json(ledger)
        if len(ledger.reserved) > 1 and len(json.dumps(content)) > MAX_LEDGER_BYTES:
            raise Busy(f"too many claims are being created in namespace {namespace}")
        if stored is None:
            self.store.create(namespace, content)
        else:
            self.store.replace(namespace, content, stored.version)

    def _wait(self, pauses: Iterator[float], deadline: float) -> None:
        """Pause before the next attempt. Raises Busy if there is no time for one."""
        length = next(pauses)
        self._insist(deadline - length)
        self._pause(length)

    def _insist(self, deadline: float) -> None:
        if self._clock() >= deadline:
            raise Busy(TOO_MANY_OTHERS)


def limits_of(quotas: Iterable[ResourceQuota], evaluator: Evaluator) -> frozenset[str]:
    """The limits that concern claims, each with its quota: as long as there is one, claims are reserved."""
    return frozenset(
        f"{quota.uid or quota.name}/{name}"
        for quota in quotas
        if not quota.scopes
        for name in evaluator.matching(quota.hard)
    )


def with_usage(quotas: Iterable[ResourceQuota], ledger: Ledger, *, beside: str = "") -> list[ResourceQuota]:
    """The quotas with what the ledger says is used of them; see :meth:`quota.ledger.Ledger.used`."""
    used = ledger.used(beside=beside)
    return [
        quota._replace(used={**dict.fromkeys(quota.hard, ZERO), **only(used, quota.hard)}) for quota in quotas
    ]


def _pauses() -> Iterator[float]:
    """Lengths of pauses, random so that those who compete do not meet again."""
    length = FIRST_PAUSE
    while True:
        yield random.uniform(length / 2, length)
        length = min(length * 2, LAST_PAUSE)


RECOUNT_SECONDS = 10.0


class RecountController:
    """Recounts every namespace with a quota, and forgets the ledgers of all others; each replica runs one."""

    def __init__(
        self,
        reservations: Reservations,
        namespaces_with_quota: Callable[[], Iterable[str]],
        *,
        interval: float = RECOUNT_SECONDS,
        report: Callable[[str, Exception], None] = lambda namespace, error: None,
    ) -> None:
        """Make a controller; :meth:`run` starts it.

        :param interval: seconds between recounts, give or take a fifth so that replicas drift apart.
        :param report: called with a namespace that could not be recounted this time (empty: all), and why.
        """
        self._reservations = reservations
        self._namespaces_with_quota = namespaces_with_quota
        self._interval = interval
        self._report = report

    def run(self, stop: Event) -> None:
        """Recount until told to stop."""
        while not stop.wait(self._interval * random.uniform(0.8, 1.2)):
            self.recount_all(stop)

    def recount_all(self, stop: Event | None = None) -> None:
        """One round; whatever fails is reported and tried again in the next one."""
        try:
            wanted = set(self._namespaces_with_quota())
            stored = self._reservations.store.keys()
        except Exception as error:  # noqa: BLE001 - the next round may succeed
            self._report("", error)
            return
        for namespace in sorted(wanted.union(stored)):
            if stop is not None and stop.is_set():
                return
            try:
                if namespace in wanted:
                    self._reservations.recount(namespace)
                else:
                    self._reservations.forget(namespace)
            except Exception as error:  # noqa: BLE001 - one namespace does not end the work for others
                self._report(namespace, error)
