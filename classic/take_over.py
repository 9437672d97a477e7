"""What the controller of a driver does before anything else: see all claims, and have late writes of the one before refused.

That one may have been killed, and its last request be on its way; or be suspended right before it, as it led. Each write names
the version of the claim that it is about, so it is enough to change the claims that an allocation may be about to be written
to: those with the finalizer, but without an allocation.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from classic.claims import finalizer_of, has_finalizer, is_allocated, namespace_of
from classic.live_objects import LiveObjects, hold
from cluster.leading import Fence
from resourceapi.api_client import CONFLICT, NOT_FOUND, OK, Api, Unavailable, expect, expect_object
from resourceapi.logs import log
from resourceapi.manifests import key_of, mapping, name_of, text
from resourceapi.model.versions import CLASSIC_PATH
from resourceapi.objects import Object

RELIST_SECONDS = 30.0
#: The annotation, behind the name of the driver, with the process that found the claim unfinished; nothing reads it.
SEEN_BY = "seen-by"
WRITERS = 8
ATTEMPTS = 5


class TakeOver(NamedTuple):
    """Brings what is held of claims up to date, and changes those that the process before may be writing.

    :ivar identity: of this process alone.
    """

    api: Api
    live: LiveObjects
    driver_name: str
    identity: str

    def __call__(self, fence: Fence) -> list[Object]:
        """Take over; the claims that the driver has allocated.

        :param fence: called before each write.
        :raises NotLeading: if another process leads meanwhile; Unavailable if the API server does not answer.
        """
        fence()
        for reflector in self.live.reflectors:
            reflector.relist(RELIST_SECONDS)
        collections = (self.live.claims, self.live.classes, self.live.contexts)
        if not all(each.is_listed for each in collections):
            raise Unavailable(f"{CLASSIC_PATH}: the API server does not serve it")
        unfinished = [
            claim for claim in list(self.live.claims.objects.values()) if self._is_unfinished(claim)
        ]
        with ThreadPoolExecutor(WRITERS) as pool:
            for written in [pool.submit(self._settle, claim, fence) for claim in unfinished]:
                written.result()
        if unfinished:
            log(logging.INFO, "claims whose allocation was not finished", count=len(unfinished))
        return [claim for claim in list(self.live.claims.objects.values()) if self._is_own(claim)]

    def _is_own(self, claim: Object) -> bool:
        return is_allocated(claim) and text(mapping(claim, "status"), "driverName") == self.driver_name

    def _is_unfinished(self, claim: Object) -> bool:
        return has_finalizer(claim, finalizer_of(self.driver_name)) and not is_allocated(claim)

    def _settle(self, claim: Object, fence: Fence) -> None:
        """Change a claim, unless it is finished meanwhile: then what is held of it says so."""
        path = f"{CLASSIC_PATH}/namespaces/{namespace_of(claim)}/resourceclaims/{name_of(claim)}"
        annotation = {f"{self.driver_name}/{SEEN_BY}": self.identity}
        for _ in range(ATTEMPTS):
            fence()
            version = text(mapping(claim, "metadata"), "resourceVersion")
            change = {"metadata": {"resourceVersion": version, "annotations": annotation}}
            answer = self.api.request("PATCH", path, change)
            if answer[0] not in (CONFLICT, NOT_FOUND):
                hold(self.live.claims, expect(answer, f"PATCH {path}", OK))
                return
            answer = self.api.request("GET", path)
            if answer[0] == NOT_FOUND:
                self.live.claims.remove(claim)
                return
            claim = expect_object(answer, f"GET {path}", "ResourceClaim", name_of(claim))
            hold(self.live.claims, claim)
            if not self._is_unfinished(claim):
                return
        raise Unavailable(f"PATCH {path}: {key_of(claim)} changes all the time")
