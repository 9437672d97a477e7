"""A client that plays kubelet 1.30: finds plugins, registers them, and has claims prepared and unprepared."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import grpc
from grpc.aio import AioRpcError, UnaryUnaryMultiCallable, insecure_channel

from classic.kubelet.wire import node_v1alpha2, node_v1alpha3, registration
from classic.kubelet.wire.message import Message
from classic.kubelet.wire.node_v1alpha3 import (
    Claim,
    NodePrepareResourceResponse,
    NodeUnprepareResourceResponse,
)

ResponseT = TypeVar("ResponseT", bound=Message)

SECONDS = 45.0


async def call(
    socket: Path | str,
    service: str,
    method: str,
    request: Message | bytes,
    response_type: type[ResponseT],
    seconds: float = SECONDS,
) -> ResponseT:
    """One call on a connection of its own."""
    data = request if isinstance(request, bytes) else request.to_bytes()
    async with insecure_channel(f"unix:{socket}") as channel:
        sending: UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{service}/{method}")
        answer = await sending(data, timeout=seconds)
        return response_type.from_bytes(answer)


@dataclass
class FakeKubelet:
    """What kubelet knows of plugins: name and endpoint."""

    registry: Path
    plugins: dict[str, str] = field(default_factory=dict)
    seconds: float = SECONDS
    refusals: list[str] = field(default_factory=list)

    def sockets(self) -> list[Path]:
        """What kubelet's watcher takes for plugins."""
        return [
            path
            for path in sorted(self.registry.iterdir())
            if not path.name.startswith(".") and stat.S_ISSOCK(path.lstat().st_mode)
        ]

    async def register_all(self, refuse: str = "") -> None:
        """Register each plugin whose socket is there, or refuse it with this text."""
        for socket in self.sockets():
            info = await call(
                socket,
                registration.SERVICE,
                registration.GET_INFO,
                registration.InfoRequest(),
                registration.PluginInfo,
            )
            problem = refuse or _problem(info)
            status = registration.RegistrationStatus(plugin_registered=not problem, error=problem)
            await call(
                socket,
                registration.SERVICE,
                registration.NOTIFY,
                status,
                registration.RegistrationStatusResponse,
            )
            if problem:
                self.refusals.append(problem)
            else:
                self.plugins[info.name] = info.endpoint or str(socket)

    async def prepare(self, driver: str, *claims: Claim) -> dict[str, NodePrepareResourceResponse]:
        """The results, by UID, from v1alpha3 or what the plugin has."""
        try:
            response = await call(
                self.plugins[driver],
                node_v1alpha3.SERVICE,
                node_v1alpha3.PREPARE,
                node_v1alpha3.NodePrepareResourcesRequest(claims),
                node_v1alpha3.NodePrepareResourcesResponse,
                self.seconds,
            )
        except AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNIMPLEMENTED:
                raise
            return {claim.uid: await self.prepare_one(driver, claim) for claim in claims}
        return dict(response.claims)

    async def prepare_one(self, driver: str, claim: Claim) -> NodePrepareResourceResponse:
        """The result of v1alpha2, as kubelet keeps it."""
        request = node_v1alpha2.NodePrepareResourceRequest(
            claim.namespace, claim.uid, claim.name, claim.resource_handle, claim.structured_resource_handle
        )
        try:
            response = await call(
                self.plugins[driver],
                node_v1alpha2.SERVICE,
                node_v1alpha2.PREPARE,
                request,
                node_v1alpha2.NodePrepareResourceResponse,
            )
        except AioRpcError as error:
            return NodePrepareResourceResponse(error=f"{error.code().name}: {error.details()}")
        return NodePrepareResourceResponse(response.cdi_devices)

    async def unprepare(self, driver: str, *claims: Claim) -> dict[str, NodeUnprepareResourceResponse]:
        """The results of v1alpha3, by UID."""
        response = await call(
            self.plugins[driver],
            node_v1alpha3.SERVICE,
            node_v1alpha3.UNPREPARE,
            node_v1alpha3.NodeUnprepareResourcesRequest(claims),
            node_v1alpha3.NodeUnprepareResourcesResponse,
        )
        return dict(response.claims)

    async def unprepare_one(self, driver: str, claim: Claim) -> str:
        """The error of v1alpha2, or nothing."""
        request = node_v1alpha2.NodeUnprepareResourceRequest(
            claim.namespace, claim.uid, claim.name, claim.resource_handle
        )
        try:
            await call(
                self.plugins[driver],
                node_v1alpha2.SERVICE,
                node_v1alpha2.UNPREPARE,
                request,
                node_v1alpha2.NodeUnprepareResourceResponse,
            )
        except AioRpcError as error:
            return f"{error.code().name}: {error.details()}"
        return ""


def _problem(info: registration.PluginInfo) -> str:
    """Why kubelet 1.30 would not take the plugin."""
    if info.type != "DRAPlugin":
        return f"no handler registered for plugin type: {info.type}"
    if not any(version.startswith("1.") for version in info.supported_versions):
        return "none of the versions is supported"
    return ""
