"""The services by which kubelet and a driver talk on a node: answers to kubelet's calls, and the registration."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import grpc
from grpc import StatusCode
from grpc.aio import ServicerContext

from classic.kubelet.cdi import InvalidDevice
from classic.kubelet.preparation import AllocatedClaim, Preparation, RefusedClaim, TookTooLong
from classic.kubelet.wire import node_v1alpha2, node_v1alpha3, registration
from classic.kubelet.wire.message import Message, UnreadableMessage
from classic.kubelet.wire.node_v1alpha2 import ClaimRequest
from classic.kubelet.wire.node_v1alpha3 import Claim
from cluster.event_writer import shown
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import LOGGER, log

# One gRPC method as a function from message to message.

RequestT = TypeVar("RequestT", bound=Message)

# Quoted: what is generic for the type checker is not when it runs.
Method: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"


@dataclass(frozen=True)
class Service:
    """A service and what answers its methods, by name."""

    name: str
    methods: dict[str, Method]


class CallFailed(ClaimcheckError):
    """The call gets this status instead of an answer."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code


def method(
    request_type: type[RequestT], answer: Callable[[RequestT, float | None], Awaitable[Message]]
) -> Method:
    """What answers a method with one request and one response.

    :param answer: takes the request and for how many seconds the caller still waits (None: it hasn't said), and may raise
        :class:`CallFailed`.
    """

    async def serve(data: bytes, context: ServicerContext[bytes, bytes]) -> bytes:
        try:
            # Read here, not by gRPC: it would log a traceback for bytes that are no request.
            response = await answer(request_type.from_bytes(data), context.time_remaining())
            return response.to_bytes()
        except UnreadableMessage as error:
            failed = CallFailed(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except CallFailed as error:
            # Without its traceback, which would keep the request, and all that was made of it, while the call ends.
            failed = error.with_traceback(None)
        await context.abort(failed.code, shown(str(failed)))

    return grpc.unary_unary_rpc_method_handler(serve)


# The services ``v1alpha3.Node`` and ``v1alpha2.Node``: kubelet's calls, answered by a
# :class:`Preparation`.

#: kubelet sends together the claims of one pod that have the same driver.
MOST_CLAIMS = 1_000

# kubelet waits 45 s. The answer must be there before: it also has the results of the claims that were in time.
_SHARE_OF_DEADLINE = 0.9

Result = TypeVar("Result")


class NodeService:
    """Answers kubelet's calls in both versions.

    :param time_limit: for each call, in seconds; it is shorter where kubelet waits no longer.
    """

    def __init__(self, preparation: Preparation, time_limit: float) -> None:
        self._preparation = preparation
        self._time_limit = time_limit

    def services(self) -> Sequence[Service]:
        """Both versions. kubelet calls v1alpha3, and v1alpha2 only where that is missing."""
        return [
            Service(
                node_v1alpha3.SERVICE,
                {
                    node_v1alpha3.PREPARE: method(
                        node_v1alpha3.NodePrepareResourcesRequest, self._prepare_all
                    ),
                    node_v1alpha3.UNPREPARE: method(
                        node_v1alpha3.NodeUnprepareResourcesRequest, self._unprepare_all
                    ),
                },
            ),
            Service(
                node_v1alpha2.SERVICE,
                {
                    node_v1alpha2.PREPARE: method(
                        node_v1alpha2.NodePrepareResourceRequest, self._prepare_one
                    ),
                    node_v1alpha2.UNPREPARE: method(
                        node_v1alpha2.NodeUnprepareResourceRequest, self._unprepare_one
                    ),
                },
            ),
        ]

    async def _prepare_all(
        self, request: node_v1alpha3.NodePrepareResourcesRequest, seconds_left: float | None
    ) -> node_v1alpha3.NodePrepareResourcesResponse:
        outcomes = await self._each(request.claims, lambda claim: self._prepare(claim, seconds_left))
        return node_v1alpha3.NodePrepareResourcesResponse(
            {
                uid: node_v1alpha3.NodePrepareResourceResponse(error=shown(str(outcome)))
                if isinstance(outcome, CallFailed)
                else node_v1alpha3.NodePrepareResourceResponse(tuple(outcome))
                for uid, outcome in outcomes.items()
            }
        )

    async def _unprepare_all(
        self, request: node_v1alpha3.NodeUnprepareResourcesRequest, seconds_left: float | None
    ) -> node_v1alpha3.NodeUnprepareResourcesResponse:
        outcomes = await self._each(request.claims, lambda claim: self._unprepare(claim, seconds_left))
        return node_v1alpha3.NodeUnprepareResourcesResponse(
            {
                uid: node_v1alpha3.NodeUnprepareResourceResponse(
                    shown(str(outcome)) if isinstance(outcome, CallFailed) else ""
                )
                for uid, outcome in outcomes.items()
            }
        )

    async def _prepare_one(
        self, request: node_v1alpha2.NodePrepareResourceRequest, seconds_left: float | None
    ) -> node_v1alpha2.NodePrepareResourceResponse:
        return node_v1alpha2.NodePrepareResourceResponse(tuple(await self._prepare(request, seconds_left)))

    async def _unprepare_one(
        self, request: node_v1alpha2.NodeUnprepareResourceRequest, seconds_left: float | None
    ) -> node_v1alpha2.NodeUnprepareResourceResponse:
        await self._unprepare(request, seconds_left)
        return node_v1alpha2.NodeUnprepareResourceResponse()

    async def _each(
        self, claims: Sequence[Claim], call: Callable[[Claim], Awaitable[Result]]
    ) -> dict[str, Result | CallFailed]:
        """What became of each claim, by UID."""
        if len(claims) > MOST_CLAIMS:
            raise CallFailed(StatusCode.RESOURCE_EXHAUSTED, f"more than {MOST_CLAIMS:,} claims in one call")
        times = Counter(claim.uid for claim in claims)
        once = [claim for claim in claims if times[claim.uid] == 1]
        outcomes = await asyncio.gather(*(self._outcome(claim, call) for claim in once))
        # kubelet takes results by UID, and one that is missing for a result of its own.
        repeated = CallFailed(
            StatusCode.INVALID_ARGUMENT, "the claim has several resource handles for this driver"
        )
        return dict.fromkeys(times, repeated) | {
            claim.uid: outcome for claim, outcome in zip(once, outcomes, strict=True)
        }

    async def _outcome(self, claim: Claim, call: Callable[[Claim], Awaitable[Result]]) -> Result | CallFailed:
        try:
            return await call(claim)
        except CallFailed as error:
            return error

    async def _prepare(self, request: Claim | ClaimRequest, seconds_left: float | None) -> Sequence[str]:
        async def call(claim: AllocatedClaim) -> Sequence[str]:
            devices = await self._preparation.prepare(claim, self._seconds(seconds_left))
            log(logging.INFO, "claim prepared", claim=str(claim), uid=claim.uid, devices=list(devices))
            return devices

        return await _reported("claim not prepared", request, call)

    async def _unprepare(self, request: Claim | ClaimRequest, seconds_left: float | None) -> None:
        async def call(claim: AllocatedClaim) -> None:
            await self._preparation.unprepare(claim, self._seconds(seconds_left))
            log(logging.INFO, "claim unprepared", claim=str(claim), uid=claim.uid)

        await _reported("claim not unprepared", request, call)

    def _seconds(self, seconds_left: float | None) -> float:
        if seconds_left is None:
            return self._time_limit
        return min(self._time_limit, seconds_left * _SHARE_OF_DEADLINE)


async def _reported(
    failed: str, request: Claim | ClaimRequest, call: Callable[[AllocatedClaim], Awaitable[Result]]
) -> Result:
    """What the call returns; a failure is logged and becomes the status of kubelet's call."""
    try:
        claim = (
            AllocatedClaim.from_batch(request)
            if isinstance(request, Claim)
            else AllocatedClaim.from_request(request)
        )
    except RefusedClaim as error:
        log(logging.WARNING, failed, reason=str(error))
        raise CallFailed(StatusCode.INVALID_ARGUMENT, str(error)) from error
    try:
        return await call(claim)
    except Exception as error:
        failure = _failure(error)
        log(logging.WARNING, failed, claim=str(claim), uid=claim.uid, reason=shown(str(failure)))
        if failure.code is StatusCode.INTERNAL:
            LOGGER.debug("the driver raised", exc_info=error)
        raise failure from error


def _failure(error: Exception) -> CallFailed:
    """Never ``UNIMPLEMENTED``: kubelet would take the whole version for missing."""
    match error:
        case RefusedClaim():
            return CallFailed(StatusCode.INVALID_ARGUMENT, str(error))
        case TookTooLong():
            return CallFailed(StatusCode.DEADLINE_EXCEEDED, str(error))
        case InvalidDevice():
            return CallFailed(StatusCode.INTERNAL, f"the driver's devices: {error}")
        case _:
            return CallFailed(StatusCode.INTERNAL, f"{type(error).__name__}: {error}")


# The service by which a plugin becomes known to kubelet, which finds its socket in the registry's
# directory.


class RegistrationService:
    """Says who the plugin is and where its services are, and hears whether kubelet took it.

    :ivar registered: set while kubelet's last word is that it took the plugin.
    """

    def __init__(self, driver_name: str, endpoint: Path) -> None:
        self.registered = asyncio.Event()
        self._info = registration.PluginInfo(
            type=registration.DRA_PLUGIN,
            name=driver_name,
            endpoint=str(endpoint),
            supported_versions=(registration.API_VERSION,),
        )

    def service(self) -> Service:
        """What the server needs."""
        return Service(
            registration.SERVICE,
            {
                registration.GET_INFO: method(registration.InfoRequest, self._get_info),
                registration.NOTIFY: method(registration.RegistrationStatus, self._notify),
            },
        )

    async def _get_info(
        self, _request: registration.InfoRequest, _seconds: float | None
    ) -> registration.PluginInfo:
        return self._info

    async def _notify(
        self, status: registration.RegistrationStatus, _seconds: float | None
    ) -> registration.RegistrationStatusResponse:
        """Kubelet tries again after a refusal, so that it is no reason to end."""
        if status.plugin_registered:
            self.registered.set()
            log(logging.INFO, "kubelet has registered the plugin", driver=self._info.name)
        else:
            self.registered.clear()
            log(
                logging.ERROR,
                "kubelet refuses the plugin",
                driver=self._info.name,
                reason=shown(status.error),
            )
        return registration.RegistrationStatusResponse()
