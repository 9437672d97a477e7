"""A collection of the cluster kept up to date by list and watch (Kubernetes docs, "Efficient detection of changes")."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from random import random
from threading import Condition, Event
from time import monotonic
from typing import Any

from cluster.budget import Budget, Holding, Holdings, text_bytes
from cluster.client import JSON, Client, Interruption
from cluster.store import Collection, number_of
from resourceapi.api_client import NOT_FOUND, Listing, Unavailable
from resourceapi.logs import LOGGER, log
from resourceapi.manifests import mapping, text
from resourceapi.objects import Object

WATCH_SECONDS = 60
# More than a watch lasts: what takes longer is a connection that nobody answers any more.
SOCKET_SECONDS = WATCH_SECONDS + 15.0
# A watch that ends sooner is opened again as late as that; without any event it has failed.
SHORT_SECONDS = 1.0
ENDING_SECONDS = 1.0
PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 1.0, 30.0
NOT_SERVED_SECONDS = 15.0
# The part of an object that an API server sends to those who need no more: no spec, no status.
METADATA = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"


class Reflector:
    """Keeps a collection as the cluster has it; ``synced`` is set once that has been listed.

    While the API server cannot be reached, everything stays as it was.  A collection that is not served
    counts as synced, has no objects (``Collection.is_listed`` tells the difference), and is tried again from time to time.
    """

    def __init__(
        self,
        client: Client,
        path: str,
        collection: Collection[Any],
        holdings: Holdings | None = None,
        *,
        metadata_only: bool = False,
        weigh: Callable[[Object], int] = text_bytes,
    ) -> None:
        """Make a reflector; :meth:`run` starts it.

        :param path: of the collection, from ``/api`` or ``/apis`` on.
        :param holdings: what several collections may take together; None for a collection by itself.
        :param metadata_only: whether no more of an object is needed than its metadata.
        :param weigh: the bytes of what is held of an object, if it is less than all of it.
        """
        self.synced = Event()
        self.path = path
        self._collection = collection
        self._holding = Holding(holdings or Holdings(), weigh)
        self._lists = client.accepting(METADATA.format("List") if metadata_only else JSON)
        self._watches = client.accepting(METADATA.format("") if metadata_only else JSON)
        self._interruption = Interruption()
        #: what to log after the next list, since something else has been logged
        self._recovery = ""
        self._lists_wanted = self._lists_begun = self._lists_done = 0
        #: the revision up to which everything is held
        self._held = 0
        self._progress = Condition()

    def relist(self, seconds: float) -> None:
        """Read the collection anew, and watch from there; return once a list that began after the call is held.

        :raises Unavailable: unless that is so within these seconds.
        """
        with self._progress:
            self._lists_wanted += 1
            wanted = self._lists_wanted
            self._interruption.request()
            if not self._progress.wait_for(lambda: self._lists_done >= wanted, seconds):
                raise Unavailable(f"GET {self.path}: no list within {seconds:g} s")

    def wait_for(self, revision: int, seconds: float) -> None:
        """Return once everything is held up to a revision; a watch tells of all changes in their order.

        :param revision: the resourceVersion that a write of one of the objects has been answered with.
        :raises Unavailable: unless that is so within these seconds.
        """
        with self._progress:
            if not self._progress.wait_for(lambda: 0 < revision <= self._held, seconds):
                raise Unavailable(f"GET {self.path}: no event within {seconds:g} s")

    def run(self, ending: Event) -> None:
        """List and watch until told to end; failures are logged, and tried again after ever longer pauses."""
        failures = 0
        while not ending.is_set():
            try:
                revision = self._list()
                while not (ending.is_set() or self._interruption.is_requested):
                    begun = monotonic()
                    revision = self._watch(revision)
                    missing = begun + SHORT_SECONDS - monotonic()
                    if missing < 0:
                        failures = 0
                    self._rest(missing, ending)
                continue
            except Unavailable as error:
                if self._interruption.is_requested:
                    continue
                if error.code == NOT_FOUND:
                    self._lose()
                    self._rest(NOT_SERVED_SECONDS, ending)
                    continue
                log(logging.WARNING, "watch failed", path=self.path, reason=error.reason)
            except Exception:  # noqa: BLE001 - whatever it is, the watch goes on
                LOGGER.exception("watch failed", extra={"fields": {"path": self.path}})
            self._recovery = "listed again"
            self._rest(_pause(failures), ending)
            failures += 1

    def _list(self) -> str:
        """Read the collection; the revision to watch from."""
        with self._progress:
            self._lists_begun = self._lists_wanted
            self._interruption.note()
        listing = Listing(self._lists.within(Budget()), self.path, hold=self._holding.add_listed)
        try:
            self._collection.replace(listing)
            self._holding.end_list()
        finally:
            self._holding.forget_list()
        self._have_seen(listing.revision)
        self._have_listed()
        if self._recovery:
            log(logging.INFO, self._recovery, path=self.path)
            self._recovery = ""
        return listing.revision

    def _have_seen(self, revision: str) -> None:
        with self._progress:
            self._held = number_of(revision)
            self._progress.notify_all()

    def _have_listed(self) -> None:
        self.synced.set()
        with self._progress:
            self._lists_done = self._lists_begun
            self._progress.notify_all()

    def _rest(self, seconds: float, ending: Event) -> None:
        """Pause, unless another list is wanted, or it is time to end."""
        while (
            seconds > 0 and not ending.is_set() and not self._interruption.wait(min(seconds, ENDING_SECONDS))
        ):
            seconds -= ENDING_SECONDS

    def _lose(self) -> None:
        if self._collection.is_listed:
            log(logging.WARNING, "no longer served", path=self.path)
            self._recovery = "listed again"
        elif not self.synced.is_set():
            log(logging.INFO, "not served", path=self.path)
            self._recovery = "served now"
        self._collection.lose()
        self._holding.end_list()
        self._have_listed()

    def _watch(self, revision: str) -> str:
        """Apply changes until the API server ends the watch; the revision to go on from.

        :raises Unavailable: if the watch cannot be opened, breaks off or ends at once, or the revision is too old (410).
        """
        begun, is_empty = monotonic(), True
        query = {
            "watch": "true",
            "resourceVersion": revision,
            "timeoutSeconds": str(WATCH_SECONDS),
            "allowWatchBookmarks": "true",
        }
        stream = self._watches.within(Budget()).events(self.path, query, SOCKET_SECONDS, self._interruption)
        with closing(stream) as events:
            for event in events:
                is_empty = False
                kind, changed = text(event, "type"), mapping(event, "object")
                if kind == "ERROR":
                    raise Unavailable(text(changed, "message") or "the watch has ended with an error")
                if kind == "DELETED":
                    self._collection.remove(changed)
                    self._holding.remove(changed)
                elif kind in ("ADDED", "MODIFIED"):
                    self._holding.put(changed)
                    self._collection.put(changed)
                revision = text(mapping(changed, "metadata"), "resourceVersion") or revision
                self._have_seen(revision)
        if is_empty and monotonic() - begun < SHORT_SECONDS and not self._interruption.is_requested:
            raise Unavailable(f"the watch has ended within {SHORT_SECONDS:g} s, without an event")
        return revision


def _pause(failures: int) -> float:
    """Seconds to wait after so many failures; random, so that not all replicas come back at once."""
    longest = min(LONGEST_PAUSE_SECONDS, PAUSE_SECONDS * 2.0 ** min(failures, 10))
    return longest * (0.5 + random() / 2)
