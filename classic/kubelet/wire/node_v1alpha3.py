"""The service ``v1alpha3.Node``: kubelet prepares and unprepares several claims in one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from classic.kubelet.wire.message import Message, message
from classic.kubelet.wire.structured_handle import StructuredResourceHandle

SERVICE = "v1alpha3.Node"
PREPARE = "NodePrepareResources"
UNPREPARE = "NodeUnprepareResources"


@message("v1alpha3.Claim")
@dataclass(frozen=True, slots=True)
class Claim(Message):
    """A claim, with what the driver's controller (or the scheduler) left for this node in one of its resource handles."""

    namespace: Annotated[str, 1] = ""
    uid: Annotated[str, 2] = ""
    name: Annotated[str, 3] = ""
    resource_handle: Annotated[str, 4] = ""
    structured_resource_handle: Annotated[tuple[StructuredResourceHandle, ...], 5] = ()


@message("v1alpha3.NodePrepareResourcesRequest")
@dataclass(frozen=True, slots=True)
class NodePrepareResourcesRequest(Message):
    """The claims of a pod that this driver is to prepare."""

    claims: Annotated[tuple[Claim, ...], 1] = ()


@message("v1alpha3.NodePrepareResourceResponse")
@dataclass(frozen=True, slots=True)
class NodePrepareResourceResponse(Message):
    """The devices of one claim, or why it could not be prepared."""

    cdi_devices: Annotated[tuple[str, ...], 1] = ()
    error: Annotated[str, 2] = ""


@message("v1alpha3.NodePrepareResourcesResponse")
@dataclass(frozen=True, slots=True)
class NodePrepareResourcesResponse(Message):
    """An answer for the UID of each claim of the request."""

    claims: Annotated[Mapping[str, NodePrepareResourceResponse], 1] = field(default_factory=dict)


@message("v1alpha3.NodeUnprepareResourcesRequest")
@dataclass(frozen=True, slots=True)
class NodeUnprepareResourcesRequest(Message):
    """The claims that no pod on this node uses any more."""

    claims: Annotated[tuple[Claim, ...], 1] = ()


@message("v1alpha3.NodeUnprepareResourceResponse")
@dataclass(frozen=True, slots=True)
class NodeUnprepareResourceResponse(Message):
    """Why one claim could not be unprepared; empty if it was."""

    error: Annotated[str, 1] = ""


@message("v1alpha3.NodeUnprepareResourcesResponse")
@dataclass(frozen=True, slots=True)
class NodeUnprepareResourcesResponse(Message):
    """An answer for the UID of each claim of the request."""

    claims: Annotated[Mapping[str, NodeUnprepareResourceResponse], 1] = field(default_factory=dict)
