"""Specs that the rules have nothing against, so that claims like earlier ones are not looked at in full."""

from __future__ import annotations

from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from validation.requests import CREATE, Answer, Request
from validation.server import Server
from webhook.cached_parts import KnownParts, stand_in

MOST = 10_000
BYTES = 64 * 1024
# Kinds whose specs are judged by themselves, and the least that each of them may have in any version.
_LEAST: dict[str, Object] = {
    "ResourceClaim": {"devices": {}},
    "ResourceClaimTemplate": {"spec": {"devices": {}}},
}
# Whether it is allowed depends on the namespace.
_NOT_BY_ITSELF = b"adminAccess"


class KnownSpecs:
    """Remembers, by their digests, the latest specs that were taken in the creation of an object, and their parts.

    What is known holds for one server with its release and gates.
    """

    def __init__(self) -> None:
        self._specs: dict[bytes, None] = {}
        self._parts: dict[bytes, None] = {}

    def handle(self, server: Server, request: Request) -> Answer:
        """What the server answers to the request; the object in the answer may lack what is known, as then does the request."""
        key = _key(request)
        if key is None:
            return server.handle(request)
        if key in self._specs:
            request.body = {**request.body, "spec": _LEAST[request.kind]}
            return server.handle(request)
        answer = self._handle_new(server, request)
        if answer.accepted:
            _remember(self._specs, [key])
        return answer

    def _handle_new(self, server: Server, request: Request) -> Answer:
        """The answer about a spec that is not known as a whole."""
        whole = request.body
        parts = KnownParts(self._parts, split_api_version(request.api_version)[1])
        spec = whole["spec"]
        if request.kind == "ResourceClaim":
            remainder = parts.taken_out(spec)
        else:
            remainder = {**spec, "spec": parts.taken_out(spec.get("spec"))} if type(spec) is dict else spec
        if parts.found:
            request.body = {**whole, "spec": remainder}
        answer = server.handle(request)
        if parts.found and not answer.accepted:
            # what is wrong is told with the whole at hand
            request.body = whole
            return server.handle(request)
        if answer.accepted:
            _remember(self._parts, parts.new)
        return answer


def _remember(known: dict[bytes, None], new: list[bytes]) -> None:
    if len(known) + len(new) > MOST:
        known.clear()
    known.update(dict.fromkeys(new[:MOST]))


def _key(request: Request) -> bytes | None:
    """What stands for the spec, None if it is not judged by itself or too large to be worth it."""
    body = request.body
    if request.verb != CREATE or request.kind not in _LEAST or type(body) is not dict:
        return None
    try:
        text, key = stand_in((request.api_version, request.kind, body["spec"]))
    except (KeyError, ValueError):  # no spec; numbers that are kept as they were written
        return None
    if len(text) > BYTES or _NOT_BY_ITSELF in text:
        return None
    return key
