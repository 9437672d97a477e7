"""Comparing what is known of claims in memory with what the API server has: they may differ for a moment only."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from threading import Event
from typing import NamedTuple

from allocator.time_limit import STEP_SECONDS
from cluster.store import version_of
from resourceapi.api_client import Api, Listing, Unavailable
from resourceapi.logs import LOGGER, log
from resourceapi.manifests import key_of, mapping, uid_of
from resourceapi.objects import Object
from resourceapi.phrases import shortened
from resourceapi.records.claims import Allocation
from scheduler.claim_writes import devices_of
from scheduler.cluster_picture import ClusterPicture
from scheduler.take_over import CLAIMS_OF_ALL

# How long a watch event may be on its way.
LAG_SECONDS = 5.0
RELIST_SECONDS = 30.0
MOST_NAMES, MAX_NAME = 10, 200


#: the devices that the allocator counts for a claim, and those that it holds
Difference = tuple[Allocation | None, Allocation | None]


class Held(NamedTuple):
    """A version of a claim, with the devices that it holds."""

    uid: str
    version: int
    devices: tuple[tuple[str, ...], ...]


class SelfCheck:
    """Looks for drift: claims that memory has otherwise than the API server for longer than an event takes."""

    def __init__(
        self,
        api: Api,
        picture: ClusterPicture,
        *,
        relist: Callable[[float], None],
        found: Callable[[int], None],
        lag_seconds: float = LAG_SECONDS,
    ) -> None:
        """Make it ready.

        :param relist: reads all claims anew, within so many seconds.
        :param found: is told how many claims each check found to have drifted.
        :param lag_seconds: how long a difference may last.
        """
        self._api = api
        self._picture = picture
        self._relist = relist
        self._found = found
        self._lag_seconds = lag_seconds

    def run(self, seconds: float, ending: Event) -> None:
        """Check again and again.

        :param seconds: between two checks.
        """
        while not ending.wait(seconds):
            try:
                self.check(ending)
            except Unavailable as error:
                log(logging.WARNING, "claims in memory were not checked", reason=error.reason)
            except Exception:  # noqa: BLE001 - whatever it is, the next check may tell more
                LOGGER.exception("claims in memory were not checked")

    def check(self, ending: Event) -> list[str]:
        """Check once, and list again if something has drifted; the claims that have.

        :raises Unavailable: if the API server does not answer.
        """
        drifted = self._drifted(ending)
        self._found(len(drifted))
        if drifted:
            names = [shortened(key, MAX_NAME) for key in drifted[:MOST_NAMES]]
            log(logging.ERROR, "claims in memory had drifted", count=len(drifted), claims=names)
            self._relist(RELIST_SECONDS)
        return drifted

    def _drifted(self, ending: Event) -> list[str]:
        listing = Listing(self._api, CLAIMS_OF_ALL)
        listed = _held_by(listing)
        revision = version_of({"metadata": {"resourceVersion": listing.revision}})
        suspects = _differences(listed, self._known(), revision)
        wrong = self._wrongly_counted(ending)
        if not (suspects or wrong) or ending.wait(self._lag_seconds):
            return []
        known = self._known()
        late = suspects & _differences(listed, known, revision)
        late -= self._gone_since(late - known.keys())
        still = self._wrongly_counted(ending, wrong)
        return sorted(late | {key for key, difference in still.items() if difference == wrong[key]})

    def _known(self) -> dict[str, Held]:
        return _held_by([each.object for each in list(self._picture.claim_objects.objects.values())])

    def _gone_since(self, keys: Iterable[str]) -> set[str]:
        """Those of the claims that were listed and are not known, that have been deleted meanwhile."""
        listed = _held_by(Listing(self._api, CLAIMS_OF_ALL)) if keys else {}
        return {key for key in keys if key not in listed}

    def _wrongly_counted(self, ending: Event, among: Iterable[str] | None = None) -> dict[str, Difference]:
        """Claims of which the allocator counts other devices than they hold, or are about to get; none when it is time to end.

        The picture is held for a part of them at a time. The allocator is told of a change a moment after it has been taken in, so
        that only what stays different is wrong.

        :param among: which of them are compared, if not all.
        """
        picture = self._picture
        with picture.lock:
            keys = iter({*picture.claim_objects.objects, *picture.state.held} if among is None else among)
        wrong: dict[str, Difference] = {}
        while True:
            with picture.lock:
                for key in keys:
                    claim = picture.claims.get(key)
                    counted, held = picture.state.held.get(key), None if claim is None else claim.allocation
                    if counted != held:
                        wrong[key] = counted, held
                    if picture.lock.seconds > STEP_SECONDS:
                        break
                else:
                    return wrong
            if ending.wait(STEP_SECONDS):
                return {}


def _held_by(claims: Iterable[Object]) -> dict[str, Held]:
    return {key_of(claim): Held(uid_of(claim), version_of(claim), _devices(claim)) for claim in claims}


def _devices(claim: Object) -> tuple[tuple[str, ...], ...]:
    return tuple(devices_of(mapping(claim, "status", "allocation")))


def _differences(listed: Mapping[str, Held], known: Mapping[str, Held], revision: int) -> set[str]:
    """The claims that are known otherwise than they were listed, and not because they have changed since.

    :param revision: that of the list.
    """
    found = {key for key, claim in known.items() if key not in listed and claim.version <= revision}
    for key, claim in listed.items():
        held = known.get(key)
        if held is None or held.version < claim.version or (held.version == claim.version and held != claim):
            found.add(key)
    return found
