"""Electing one of several processes by a Lease (``coordination.k8s.io``), by the rules of Kubernetes' own components.

Times that other processes write are never read: a Lease has expired when this process has seen it unchanged for as long as
it says, by its own clock. Beyond those rules, a Lease that is missing, or that somebody emptied by hand, counts as held until
its duration has passed: whoever held it may not know yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, expect, expect_object
from resourceapi.manifests import mapping, text
from resourceapi.timestamps import in_microseconds

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
            "renewTime": _now(),
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


def _now() -> str:
    return in_microseconds(datetime.now(UTC))
