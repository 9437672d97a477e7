"""One gRPC method as a function from message to message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import grpc
from grpc.aio import ServicerContext

from classic.kubelet.wire.message import Message, UnreadableMessage
from cluster.event_writer import shown
from resourceapi.errors import ClaimcheckError

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
