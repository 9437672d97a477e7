"""The means of waking pods: a ResourceClaim that nobody uses, whose changes make kube-scheduler retry all refused pods.

kube-scheduler retries a pod that an extender has refused whenever any ResourceClaim changes, and not when a ResourceSlice
does (docs/explanation/waking.md).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from resourceapi.api_client import Api, Unavailable, expect, expect_object
from resourceapi.kinds import CLAIM
from resourceapi.manifests import mapping
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object

API_VERSION = f"{GROUP}/v1"
#: When pods were last woken.
ANNOTATION = "claimcheck.example.com/woken-at"
CREATED, NOT_FOUND, CONFLICT = 201, 404, 409
#: How often a change is tried when others change, make or delete the claim meanwhile.
TRIES = 3


class WakeUpClaim:
    """Changes the claim, and makes it where there is none. For one thread."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self._api = api
        self._collection = f"/apis/{API_VERSION}/namespaces/{namespace}/{CLAIM.resource}"
        self._name = name
        #: as it was when last seen
        self._claim: Object | None = None

    def touch(self) -> None:
        """Have kube-scheduler retry the pods that were refused.

        :raises Unavailable: if the claim could not be changed.
        """
        for left in reversed(range(TRIES)):
            try:
                self._write(self._claim or self._read())
                return
            except Unavailable as error:
                self._claim = None
                if not left or error.code not in (NOT_FOUND, CONFLICT):
                    raise

    def _read(self) -> Object | None:
        path = f"{self._collection}/{self._name}"
        answer = self._api.request("GET", path)
        return None if answer[0] == NOT_FOUND else self._claim_in(answer, f"GET {path}")

    def _write(self, known: Object | None) -> None:
        if known is None:
            what = f"POST {self._collection}"
            made = self._api.request("POST", self._collection, _touched(_new(self._name)))
            self._claim = expect(made, what, CREATED)
        else:
            path = f"{self._collection}/{self._name}"
            self._claim = self._claim_in(self._api.request("PUT", path, _touched(known)), f"PUT {path}")

    def _claim_in(self, answer: tuple[int, Any], what: str) -> Object:
        return expect_object(answer, what, CLAIM.name, self._name)


def _new(name: str) -> Object:
    """A claim that could never get a device, were it ever used."""
    nothing = {"deviceClassName": "none", "selectors": [{"cel": {"expression": "false"}}]}
    return {
        "apiVersion": API_VERSION,
        "kind": CLAIM.name,
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "none", "exactly": nothing}]}},
    }


def _touched(claim: Object) -> Object:
    metadata = mapping(claim, "metadata")
    now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    annotations = {**mapping(metadata, "annotations"), ANNOTATION: now}
    return {**claim, "metadata": {**metadata, "annotations": annotations}}
