"""Recognises the API server before anything is read from it, and notices when it has become another one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event

from cluster.client import Client
from cluster.group_snapshots import InConfiguration, Snapshots
from resourceapi.api_client import Unavailable
from resourceapi.logs import log
from resourceapi.objects import Object
from resourceapi.releases import Profile
from scheduler.server_skew import ConnectedServer, Unsuitable, ask, differences, objections

RETRY_SECONDS = 5.0
AGAIN_SECONDS = 300.0
_POLL_SECONDS = 0.2


class ServerCheck:
    """Asks until the API server is one that goes with the configuration; until then the sidecar is not ready.

    It is also where the server keeps snapshots (:class:`cluster.group_snapshots.Snapshots`).
    """

    def __init__(self, client: Client, profile: Profile, serves: str) -> None:
        """Make a check; :meth:`run` asks.

        :param profile: the release and gates of the configuration.
        :param serves: BuiltIn or CustomResources.
        """
        #: set once the server is recognised
        self.recognized = Event()
        self._client = client
        self._profile = profile
        self._serves = serves
        self._snapshots: Snapshots = InConfiguration()
        self._server: ConnectedServer | None = None
        self._told = ""

    def with_snapshot(self, allocation: Object, uid: str) -> Object:
        """The allocation to write."""
        return self._snapshots.with_snapshot(allocation, uid)

    def read(self, claim: Object) -> Object:
        """A claim with its snapshot where the allocator looks for it."""
        return self._snapshots.read(claim)

    def first(self, run: Callable[[Event], None]) -> Callable[[Event], None]:
        """What is to run, and begins once the server is recognised."""

        def run_later(ending: Event) -> None:
            while not self.recognized.wait(_POLL_SECONDS):
                if ending.is_set():
                    return
            run(ending)

        return run_later

    def run(self, ending: Event) -> None:
        """Ask until told to end; what is wrong is logged once."""
        while not ending.is_set():
            self.ask()
            ending.wait(AGAIN_SECONDS if self.recognized.is_set() else RETRY_SECONDS)

    def ask(self) -> None:
        """Ask once."""
        try:
            server = ask(self._client)
        except Unavailable as error:
            if not self.recognized.is_set():
                self._tell(
                    logging.WARNING, "API server not recognized", f"it does not answer: {error.reason}"
                )
            return
        except Unsuitable as error:
            self._tell(logging.ERROR, "API server not suitable", str(error))
            return
        if reason := objections(server, self._profile, self._serves):
            self._tell(logging.ERROR, "API server not suitable", reason)
        elif self._server is None:
            self._server = server
            self._snapshots = server.snapshots(self._profile)
            for difference in differences(server, self._profile):
                log(logging.WARNING, "API server differs from the configuration", difference=difference)
            self.recognized.set()
        elif server.has_groups() != self._server.has_groups():
            change = "has" if server.has_groups() else "no longer has"
            reason = f"it {change} compatibility groups; the sidecar takes notice when it is started again"
            self._tell(logging.WARNING, "API server has changed", reason)

    def _tell(self, level: int, message: str, reason: str) -> None:
        """Log what is wrong, unless that was the last that was logged."""
        if reason != self._told:
            self._told = reason
            log(level, message, reason=reason)
