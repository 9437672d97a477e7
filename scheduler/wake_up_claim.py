"""The means of waking pods: a ResourceClaim that nobody uses, whose changes make kube-scheduler retry all refused pods.

kube-scheduler retries a pod that an extender has refused whenever any ResourceClaim changes, and not when a ResourceSlice
does (docs/explanation/waking.md).
"""

from __future__ import annotations

from datetime import UTC, datetime

from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, expect
from resourceapi.kinds import CLAIM
from resourceapi.model.versions import GROUP
from resourceapi.timestamps import in_microseconds

API_VERSION = f"{GROUP}/v1"
#: When pods were last woken.
ANNOTATION = "claimcheck.example.com/woken-at"


class WakeUpClaim:
    """Changes the claim, and makes it where there is none."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self._api = api
        self._collection = f"/apis/{API_VERSION}/namespaces/{namespace}/{CLAIM.resource}"
        self._name = name

    def touch(self) -> None:
        """Have kube-scheduler retry the pods that were refused.

        :raises Unavailable: if the claim could not be changed.
        """
        path = f"{self._collection}/{self._name}"
        annotations = {"annotations": {ANNOTATION: _now()}}
        answer = self._api.request("PATCH", path, {"metadata": annotations})
        if answer[0] != NOT_FOUND:
            expect(answer, f"PATCH {path}", OK)
            return
        claim = {**_NEVER_MET, "metadata": {"name": self._name, **annotations}}
        made = self._api.request("POST", self._collection, claim)
        # where there is one by now, somebody has just made it, which is as good
        expect(made, f"POST {self._collection}", CREATED, CONFLICT)


#: It could never get a device, were it ever used.
_NEVER_MET = {
    "apiVersion": API_VERSION,
    "kind": CLAIM.name,
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "none",
                    "exactly": {"deviceClassName": "none", "selectors": [{"cel": {"expression": "false"}}]},
                }
            ]
        }
    },
}


def _now() -> str:
    return in_microseconds(datetime.now(UTC))
