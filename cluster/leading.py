"""Which of the replicas acts: it alone, and never on what it decided before another one led.

Every write that gives or takes devices is preceded by :meth:`Leadership.insist` with the term in which it was decided. A
process that was stopped in between goes on with its write, but the API server refuses it: who led next has by then changed
the claim (the sidecar in :mod:`scheduler.take_over`).
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, Unavailable, expect, expect_object
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import LOGGER, log
from resourceapi.manifests import mapping, text
from resourceapi.times import micro_now

# Electing one of several processes by a Lease (``coordination.k8s.io``), by the rules of Kubernetes' own
# components.
# Times that other processes write are never read: a Lease has expired when this process has seen it
# unchanged for as long as it says, by its own clock. Beyond those rules, a Lease that is missing, or that
# somebody emptied by hand, counts as held until its duration has passed: whoever held it may not know yet.

LEAST_SECONDS = 2
# What a holder writes who gives a Lease back, as client-go does.
RELEASED_SECONDS = 1
Clock = Callable[[], float]


def boot_clock() -> float:
    """Seconds since the machine has started, also those during which it, or this process, was suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def unique_identity(prefix: str) -> str:
    """An identity that no other process has: not even the one before in the same container."""
    return f"{prefix}_{uuid4()}"


class Record(NamedTuple):
    """What a Lease said, and when this process first saw it so; an empty revision: there was no Lease."""

    revision: str
    holder: str
    seconds: int
    seen: float

    @property
    def was_released(self) -> bool:
        """Whether the last holder has given it back."""
        return bool(self.revision) and not self.holder and self.seconds == RELEASED_SECONDS


class Election:
    """One candidate for a Lease. One thread calls its methods; all raise :class:`resourceapi.api_client.Unavailable`."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        name: str,
        *,
        identity: str,
        seconds: int,
        clock: Clock = boot_clock,
    ) -> None:
        """Describe the candidate; nothing is requested yet.

        :param api: should give up a request well before the Lease expires.
        :param identity: of this process alone (:func:`unique_identity`).
        :param seconds: how long the Lease counts after a renewal, at least :data:`LEAST_SECONDS`.
        """
        if seconds < LEAST_SECONDS:
            raise ValueError(f"a Lease of less than {LEAST_SECONDS} s")
        self.identity = identity
        self.seconds = seconds
        self._api = api
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._path = f"{self._collection}/{name}"
        self._clock = clock
        self._metadata = {"name": name, "namespace": namespace}
        self._lease: dict[str, Any] = {}
        self._observed: Record | None = None
        self._renewed: float | None = None

    def attempt(self) -> float | None:
        """Renew the Lease, or take it if it has expired.

        :returns: when the last successful renewal was sent, by the clock; None if this process does not hold the Lease.
        """
        if self._renewed is not None and self._write(self._renewal()):
            return self._renewed
        record = self._observe()
        if record.holder == self.identity:
            self._write(self._renewal())
        else:
            self._renewed = None
            if record.was_released or self.seconds_left() <= 0:
                self._take()
        return self._renewed

    def seconds_left(self) -> float:
        """For how long the Lease that was seen last still counts, whoever holds it."""
        if self._observed is None:
            return float(self.seconds)
        return self._observed.seen + self._observed.seconds - self._clock()

    def release(self) -> None:
        """Give the Lease back, so that another process can take it at once. Stop what depends on it first."""
        if self._renewed is None:
            return
        self._renewed = None
        spec = {**self._renewal(), "holderIdentity": "", "leaseDurationSeconds": RELEASED_SECONDS}
        self._put({**self._lease, "spec": spec})

    def _observe(self) -> Record:
        """Read the Lease; the time of what has not changed since the last time stays."""
        answer = self._api.request("GET", self._path)
        if answer[0] == NOT_FOUND:
            self._lease = {}
        else:
            self._lease = expect_object(answer, f"GET {self._path}", "Lease", self._metadata["name"])
        return self._note()

    def _note(self) -> Record:
        before, spec = self._observed, mapping(self._lease, "spec")
        revision = text(mapping(self._lease, "metadata"), "resourceVersion")
        if before is None or before.revision != revision:
            seconds = spec.get("leaseDurationSeconds")
            if not isinstance(seconds, int):  # the longest that anybody may go by
                seconds = max(self.seconds, before.seconds if before else 0)
            before = Record(revision, text(spec, "holderIdentity"), seconds, self._clock())
            self._observed = before
        return before

    def _take(self) -> None:
        spec = mapping(self._lease, "spec")
        transitions = spec.get("leaseTransitions")
        count = transitions + 1 if isinstance(transitions, int) else 0
        renewal = self._renewal()
        self._write({**renewal, "acquireTime": renewal["renewTime"], "leaseTransitions": count})

    def _renewal(self) -> dict[str, Any]:
        return {
            **mapping(self._lease, "spec"),
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self.seconds,
            "renewTime": micro_now(),
        }

    def _write(self, spec: dict[str, Any]) -> bool:
        """Write the Lease as ours; False if another process has been faster."""
        sent = self._clock()
        if not self._put({**self._lease, "spec": spec}):
            return False
        self._renewed = sent
        return True

    def _put(self, lease: dict[str, Any]) -> bool:
        if self._lease:
            answer = self._api.request("PUT", self._path, lease)
            has_changed = answer[0] in (CONFLICT, NOT_FOUND)
        else:
            head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": self._metadata}
            answer = self._api.request("POST", self._collection, {**head, **lease})
            has_changed = answer[0] == CONFLICT
        if has_changed:
            return False
        self._lease = expect(answer, f"writing {self._path}", OK, CREATED)
        self._note()
        return True


class Unopposed:
    """An election with one candidate, for a service that is known to run only once."""

    def __init__(self, seconds: int, clock: Clock = boot_clock) -> None:
        self.identity = unique_identity("")
        self.seconds = seconds
        self._clock = clock

    def attempt(self) -> float | None:
        """Renewed now."""
        return self._clock()

    def seconds_left(self) -> float:
        """Never expires."""
        return float(self.seconds)

    def release(self) -> None:
        """Nothing to give back."""


# What to log of a request that failed, with advice where the service's own namespace is missing, as on a
# machine outside of the cluster.

_missing = re.compile(r'namespaces "([a-z0-9-]+)" not found').search


def reason_of(error: Unavailable) -> dict[str, str]:
    """The fields of a log message: the reason, and what to do about it if that is known."""
    missing = _missing(error.reason)
    if missing is None:
        return {"reason": error.reason}
    hint = f"kubectl create namespace {missing[1]}, or name another one in leaderElection.namespace"
    return {"reason": error.reason, "hint": hint}


# The part of the Lease's duration for which its holder relies on it: clocks do not run equally fast.
RELIABLE = 0.9
RETRY_SECONDS = 0.5
LEAST_PAUSE_SECONDS = 0.01


Fence = Callable[[], None]
"""Called right before a write; raises :class:`NotLeading`."""


class NotLeading(ClaimcheckError):
    """Another process leads, or has led since something was decided."""


class Candidate(Protocol):
    """What :class:`Leadership` needs of an election (:class:`Election`)."""

    identity: str
    seconds: int

    def attempt(self) -> float | None:
        """When the last successful renewal was sent; None if another process leads."""

    def seconds_left(self) -> float:
        """For how long the Lease still counts."""

    def release(self) -> None:
        """Let another process lead."""


class Leader(Protocol):
    """Whether this process may allocate (:class:`Leadership`)."""

    @property
    def term(self) -> int:
        """The term in which this process leads; raises NotLeading."""

    def insist(self, term: int) -> None:
        """Raise NotLeading unless the term goes on."""


class _Hold(NamedTuple):
    """A term in which this process holds the Lease, and when it sent the last renewal that succeeded."""

    term: int
    renewed: float


class Leadership:
    """Takes part in an election for as long as the process runs; a term begins with a take-over and ends with a loss.

    Any thread may ask. ``take_over`` runs in a thread of its own while the Lease is being renewed, and is called again if
    it fails; this process leads as soon as it has returned.
    """

    def __init__(
        self,
        candidate: Candidate,
        *,
        renew_seconds: float,
        take_over: Callable[[Fence], None],
        lose: Callable[[], None] = lambda: None,
        clock: Clock = boot_clock,
    ) -> None:
        """Make it ready; :meth:`run` begins.

        :param renew_seconds: between two renewals, and between two attempts to take the Lease.
        :param take_over: called before anything is decided in a term, with what insists on the term before each write;
            raises if it cannot be done now.
        :param lose: called when a term has ended, whether or not its take-over had.
        :param clock: that of the candidate.
        """
        self.identity = candidate.identity
        self._candidate = candidate
        self._renew_seconds = renew_seconds
        self._take_over = take_over
        self._lose = lose
        self._clock = clock
        # No lock: each is set by one thread, and replaced as a whole; `_ended` by any, which can only end a term.
        self._hold: _Hold | None = None
        self._terms = 0
        self._ready = 0
        self._ended = 0
        self._ending = Event()
        self._failing = self._waiting = False
        self._thread = Thread(target=self.run, name="leadership", daemon=True)

    @property
    def is_leading(self) -> bool:
        """Whether this process leads, and has taken over."""
        hold = self._hold
        return hold is not None and hold.term == self._ready and self._is_reliable(hold)

    @property
    def term(self) -> int:
        """The term in which this process leads; what is decided now is decided in it.

        :raises NotLeading: if it does not, or has not taken over yet.
        """
        hold = self._hold
        if hold is None or hold.term != self._ready:
            raise NotLeading("another replica leads")
        self.insist(hold.term)
        return hold.term

    def insist(self, term: int) -> None:
        """Make sure, right before a write, that no other replica leads, nor has led since the term began.

        Whoever is told so may count on it: the term has ended then, also if the Lease is renewed after all.

        :raises NotLeading: unless the Lease has been renewed recently enough, by the time when the renewal was sent.
        """
        hold = self._hold
        if hold is None or hold.term != term:
            raise NotLeading("another replica has led since this was decided")
        if not self._is_reliable(hold):
            self._ended = term
            raise NotLeading("the Lease was not renewed in time")

    def start(self) -> None:
        """Take part from now on, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop to lead, and let another replica do so at once."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def run(self) -> None:
        """Take part until :meth:`stop`."""
        while not self._ending.is_set():
            self.step()
            self._ending.wait(self._pause())
        self._end_term()
        try:
            self._candidate.release()
        except Unavailable as error:
            log(logging.WARNING, "the Lease was not released", reason=error.reason)

    def step(self) -> None:
        """Renew the Lease or try to take it, once."""
        try:
            renewed = self._candidate.attempt()
        except Unavailable as error:
            if not self._failing:
                log(logging.WARNING, "the Lease cannot be renewed", **reason_of(error))
            self._fail()
            return
        except Exception:  # noqa: BLE001 - whatever it is, this process goes on as a candidate
            LOGGER.exception("the Lease cannot be renewed")
            self._fail()
            return
        self._failing = False
        if renewed is None:
            self._end_term()
            self._wait()
        elif self._hold is not None and self._is_reliable(self._hold):
            self._hold = _Hold(self._hold.term, renewed)
        else:
            self._end_term()
            self._begin_term(renewed)

    def _fail(self) -> None:
        """Note that the Lease could not be renewed; the term ends when that has gone on for too long."""
        self._failing = True
        if self._hold is not None and not self._is_reliable(self._hold):
            self._end_term()

    def _wait(self) -> None:
        """Say once that the Lease is another process's, or counts as such because it is new."""
        if not self._waiting:
            seconds = round(self._candidate.seconds_left(), 1)
            log(logging.INFO, "waiting for the Lease", identity=self.identity, seconds=seconds)
        self._waiting = True

    def _begin_term(self, renewed: float) -> None:
        self._waiting = False
        self._terms += 1
        self._hold = _Hold(self._terms, renewed)
        Thread(target=self._begin, args=(self._terms,), name="take-over", daemon=True).start()

    def _end_term(self) -> None:
        hold, self._hold = self._hold, None
        if hold is not None:
            level = logging.INFO if self._ending.is_set() else logging.WARNING
            log(level, "no longer leading", identity=self.identity)
            self._lose()

    def _begin(self, term: int) -> None:
        """Take over; try again until that is done, or the term has ended."""
        began, told = self._clock(), ""
        while self._holds(term):
            try:
                self._take_over(partial(self.insist, term))
                self._ready = term
                log(logging.INFO, "leading", identity=self.identity, seconds=round(self._clock() - began, 3))
                return
            except (NotLeading, Unavailable) as error:
                if str(error) != told:
                    log(logging.WARNING, "take-over failed", reason=str(error))
                told = str(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody else leads meanwhile
                if repr(error) != told:
                    LOGGER.exception("take-over failed")
                told = repr(error)
            self._ending.wait(RETRY_SECONDS)

    def _holds(self, term: int) -> bool:
        hold = self._hold
        return hold is not None and hold.term == term

    def _is_reliable(self, hold: _Hold) -> bool:
        in_time = self._clock() - hold.renewed < RELIABLE * self._candidate.seconds
        return in_time and hold.term != self._ended

    def _pause(self) -> float:
        """Seconds until the next attempt, which is not later than when another one's Lease expires.

        An API server that does not answer is asked no more often because of that.
        """
        if self._hold is not None or self._failing:
            return self._renew_seconds
        return max(LEAST_PAUSE_SECONDS, min(self._renew_seconds, self._candidate.seconds_left()))
