"""A claim that kubelet wants prepared or unprepared, and what may stand in it.

Whatever comes from outside is checked here, before a driver sees it or a file is named after it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from classic.kubelet.wire.node_v1alpha2 import ClaimRequest
from classic.kubelet.wire.node_v1alpha3 import Claim
from classic.kubelet.wire.structured_handle import StructuredResourceHandle
from resourceapi.errors import ClaimcheckError
from resourceapi.limits import CLASSIC_RESOURCE_HANDLE_DATA_BYTES
from resourceapi.names import long_name, short_name

# The API server gives UUIDs; what matters here is that no file name or CDI name made of a UID is anything else.
_UID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


class RefusedClaim(ClaimcheckError):
    """The claim cannot be prepared or unprepared, whoever asks again; the text says why, and reaches the pod's events."""


@dataclass(frozen=True, slots=True)
class AllocatedClaim:
    """A claim allocated for this node.

    :ivar resource_handle: the ``data`` that the driver's controller left in the claim's resource handle.
    :ivar structured: what the scheduler left there instead, if the class has structured parameters.
    """

    namespace: str
    name: str
    uid: str
    resource_handle: str = ""
    structured: StructuredResourceHandle | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def from_batch(cls, claim: Claim) -> Self:
        """One of the claims of a v1alpha3 request.

        :raises RefusedClaim: if it cannot be one that the API server stored
        """
        return cls._checked(
            claim.namespace, claim.name, claim.uid, claim.resource_handle, claim.structured_resource_handle
        )

    @classmethod
    def from_request(cls, request: ClaimRequest) -> Self:
        """The claim of a v1alpha2 request.

        :raises RefusedClaim: if it cannot be one that the API server stored
        """
        return cls._checked(
            request.namespace,
            request.claim_name,
            request.claim_uid,
            request.resource_handle,
            request.structured_resource_handle,
        )

    @classmethod
    def _checked(
        cls, namespace: str, name: str, uid: str, data: str, structured: tuple[StructuredResourceHandle, ...]
    ) -> Self:
        if not _UID.fullmatch(uid):
            raise RefusedClaim("the claim's UID is invalid")
        if short_name(namespace):
            raise RefusedClaim("the claim's namespace is invalid")
        if long_name(name):
            raise RefusedClaim("the claim's name is invalid")
        if len(data.encode()) > CLASSIC_RESOURCE_HANDLE_DATA_BYTES:
            raise RefusedClaim(
                f"the claim's resource handle has more than {CLASSIC_RESOURCE_HANDLE_DATA_BYTES:,} bytes"
            )
        if len(structured) > 1:
            raise RefusedClaim("the claim has more than one structured resource handle")
        return cls(namespace, name, uid, data, structured[0] if structured else None)
