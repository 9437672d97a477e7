"""The service ``v1alpha2.Node``: one claim in one call, as kubelet had it first; an error is the error of the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from classic.kubelet.wire.message import Message, message
from classic.kubelet.wire.structured_handle import StructuredResourceHandle

SERVICE = "v1alpha2.Node"
PREPARE = "NodePrepareResource"
UNPREPARE = "NodeUnprepareResource"


@dataclass(frozen=True, slots=True)
class ClaimRequest(Message):
    """What both requests say of their claim."""

    namespace: Annotated[str, 1] = ""
    claim_uid: Annotated[str, 2] = ""
    claim_name: Annotated[str, 3] = ""
    resource_handle: Annotated[str, 4] = ""
    structured_resource_handle: Annotated[tuple[StructuredResourceHandle, ...], 5] = ()


@message("v1alpha2.NodePrepareResourceRequest")
@dataclass(frozen=True, slots=True)
class NodePrepareResourceRequest(ClaimRequest):
    """The claim to prepare."""


@message("v1alpha2.NodePrepareResourceResponse")
@dataclass(frozen=True, slots=True)
class NodePrepareResourceResponse(Message):
    """The devices of the claim."""

    cdi_devices: Annotated[tuple[str, ...], 1] = ()


@message("v1alpha2.NodeUnprepareResourceRequest")
@dataclass(frozen=True, slots=True)
class NodeUnprepareResourceRequest(ClaimRequest):
    """The claim to unprepare."""


@message("v1alpha2.NodeUnprepareResourceResponse")
@dataclass(frozen=True, slots=True)
class NodeUnprepareResourceResponse(Message):
    """Nothing: the call succeeded."""
