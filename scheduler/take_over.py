"""What a new leader does before it allocates anything: see all claims, and have late writes of the leader before refused.

The leader before may have been stopped anywhere, and may go on at any time; its requests may still be on their way. Each
write of its was, or will be, preceded by :meth:`cluster.leading.Leadership.insist`, so only those matter whose claims it
had read before the Lease expired: they name a resourceVersion that the claim has no longer once it has changed, by whomever.
Changed here are those that this take-over finds

- with the finalizer, but not allocated: devices may be about to be written;
- reserved for a pod that is not on a node: they may be about to be taken from the pod, which this leader will rely on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cluster.leading import Fence
from resourceapi.api_client import CONFLICT, NOT_FOUND, OK, Api, Unavailable, expect, expect_object
from resourceapi.kinds import CLAIM
from resourceapi.logs import log
from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.model.versions import V1_PATH
from resourceapi.objects import Object
from resourceapi.records.claims import finalizers_of, has_finalizer
from scheduler.claim_writes import FINALIZER, Target

SEEN_BY = "claimcheck/seen-by"
"""The annotation with the leader that found the claim unfinished, and a number so that it differs; nothing reads it."""
CLAIMS_OF_ALL = f"{V1_PATH}/{CLAIM.resource}"
WRITERS = 8


class TakeOver:
    """Brings the memory of claims up to date, and writes those that the leader before may be writing."""

    def __init__(
        self,
        api: Api,
        identity: str,
        *,
        catch_up: Callable[[], None],
        claims: Callable[[], Iterable[Object]],
        seen: Callable[[Object], None],
        is_on_node: Callable[[str, str, str], bool],
    ) -> None:
        """Describe the memory.

        :param identity: of this process.
        :param catch_up: returns once the memory has all claims as they were at the call, or later; raises Unavailable.
        :param claims: those in memory, with all of their metadata.
        :param seen: puts a claim as the API server answered it into the memory.
        :param is_on_node: whether the memory has the pod with this namespace, name and uid on a node.
        """
        self._api = api
        self._identity = identity
        self._catch_up = catch_up
        self._claims = claims
        self._seen = seen
        self._is_on_node = is_on_node
        self._count = 0

    def __call__(self, insist: Fence) -> None:
        """Take over.

        :param insist: called before each write.
        :raises NotLeading: if another replica leads meanwhile; Unavailable if the API server does not answer.
        """
        insist()
        self._count += 1
        self._catch_up()
        unfinished = [claim for claim in self._claims() if self._change(claim)]
        with ThreadPoolExecutor(WRITERS) as pool:
            for written in [pool.submit(self._settle, claim, insist) for claim in unfinished]:
                written.result()
        if unfinished:
            log(logging.INFO, "claims that the leader before had not finished", count=len(unfinished))

    def _settle(self, claim: Object, insist: Fence) -> None:
        """Change a claim, unless somebody else does: either way, what was sent before names a version that it has no longer."""
        insist()
        path, revision = Target.of(claim).path, _revision(claim)
        answer = self._api.request(
            "PATCH", path, {"metadata": {"resourceVersion": revision, **self._change(claim)}}
        )
        if answer[0] in (NOT_FOUND, CONFLICT):
            changed = self._read(path, name_of(claim))
            if changed is not None and _revision(changed) == revision:
                raise Unavailable(f"PATCH {path}: {answer[0]}, but the claim has not changed")
        else:
            changed = expect(answer, f"PATCH {path}", OK)
        if changed is not None:
            self._seen(changed)

    def _read(self, path: str, name: str) -> Object | None:
        answer = self._api.request("GET", path)
        return None if answer[0] == NOT_FOUND else expect_object(answer, f"GET {path}", "ResourceClaim", name)

    def _change(self, claim: Object) -> dict[str, Any]:
        """The metadata to change; empty for a claim that no late write can harm."""
        if not mapping(claim, "status", "allocation"):
            if not has_finalizer(claim, FINALIZER):
                return {}
            return {"finalizers": [name for name in finalizers_of(claim) if name != FINALIZER]}
        namespace = text(mapping(claim, "metadata"), "namespace")
        for consumer in entries(mapping(claim, "status"), "reservedFor"):
            is_pod = text(consumer, "resource") == "pods"
            if is_pod and not self._is_on_node(namespace, text(consumer, "name"), text(consumer, "uid")):
                return {"annotations": {SEEN_BY: f"{self._identity}/{self._count}"}}
        return {}


def _revision(claim: Object) -> str:
    return text(mapping(claim, "metadata"), "resourceVersion")
