"""Events about ResourceSlicePatches that do not apply to all devices that they are about, as administrators can see."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from threading import Event
from time import monotonic

from allocator.patches.merge import PatchFailure
from cluster.event_writer import EventWriter, Subject
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.logs import LOGGER
from resourceapi.manifests import uid_of
from scheduler.cluster_picture import ClusterPicture

LOOK_SECONDS = 1.0
#: How long a patch has to fail before that is told: its class may be created a moment later.
QUIET_SECONDS = 2.0
#: How often other words may be told about a patch: devices come and go.
PAUSE_SECONDS = 60.0
#: The same words are told again before API servers delete the event, after an hour.
REPEAT_SECONDS = 1800.0


@dataclass
class _Told:
    """What has been said about a patch.

    :ivar since: when it began to fail: the first look that found it failing, or the last one that did not.
    :ivar note: the last words; none have been said if it is empty.
    """

    since: float
    note: str = ""
    at: float = 0.0


class PatchEvents:
    """Tells of each failing patch in one event, in its own thread; only the replica that leads does."""

    def __init__(
        self,
        picture: ClusterPicture,
        writer: EventWriter,
        leads: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Make it ready; :meth:`run` tells.

        :param leads: whether this replica answers kube-scheduler.
        """
        self._picture = picture
        self._writer = writer
        self._leads = leads
        self._clock = clock
        self._told: dict[str, _Told] = {}  # by the uid of the patch

    def run(self, ending: Event) -> None:
        """Tell until told to end."""
        while not ending.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception:  # noqa: BLE001 - whatever it is, there is another look
                LOGGER.exception("failing patches not told")

    def look(self) -> None:
        """Tell of the patches that fail, and of which that has not been told yet."""
        failing = self._failing() if self._leads() else {}
        now = self._clock()
        self._told = self._still_told(failing, now) | {
            uid: self._told.get(uid) or _Told(now) for uid in failing
        }
        for uid, (name, failure) in failing.items():
            told, note = self._told[uid], str(failure)
            if now >= told.since + QUIET_SECONDS and _is_due(told, note, now):
                told.note, told.at = note, now
                self._writer.warn(self._subject(name, uid), note)

    def _still_told(self, failing: Collection[str], now: float) -> dict[str, _Told]:
        """What was said lately of patches that do not fail at the moment: devices come and go, and they may fail again."""
        return {
            uid: replace(told, since=now)
            for uid, told in self._told.items()
            if uid not in failing and told.note and now < told.at + PAUSE_SECONDS
        }

    def _failing(self) -> dict[str, tuple[str, PatchFailure]]:
        """Name and failure of the patches that fail, by uid."""
        with self._picture.lock:
            failures = dict(self._picture.state.inventory.failures)
        patches = self._picture.patches.objects
        return {
            uid_of(patch): (name, failure)
            for name, failure in failures.items()
            if (patch := patches.get(name)) is not None
        }

    def _subject(self, name: str, uid: str) -> Subject:
        api_version = f"{self._picture.patch_group}/{next(iter(RESOURCE_SLICE_PATCH.versions))}"
        return Subject(api_version, RESOURCE_SLICE_PATCH.name, "", name, uid, "Patching", "FailedPatching")


def _is_due(told: _Told, note: str, now: float) -> bool:
    if not told.note:
        return True
    return now >= told.at + (REPEAT_SECONDS if note == told.note else PAUSE_SECONDS)
