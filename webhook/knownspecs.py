"""Specs that the rules have nothing against, so that claims made from one template are not all looked at in full."""

from __future__ import annotations

import marshal
from hashlib import blake2b
from typing import Any

from validation.requests import CREATE, Answer, Request
from validation.server import Server

Object = dict[str, Any]
MOST = 10_000
BYTES = 64 * 1024
_DIGEST_BYTES = 20
_FORMAT = 2  # of marshal: without references, so that equal values are equal texts
# Kinds whose specs are judged by themselves, and the least that each of them may have in any version.
_LEAST: dict[str, Object] = {
    "ResourceClaim": {"devices": {}},
    "ResourceClaimTemplate": {"spec": {"devices": {}}},
}
# Whether it is allowed depends on the namespace.
_NOT_BY_ITSELF = b"adminAccess"


class KnownSpecs:
    """Remembers, by their digests, the latest specs that were taken in the creation of an object.

    What is known holds for one server with its release and gates.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def handle(self, server: Server, request: Request) -> Answer:
        """What the server answers to the request; the object in the answer may lack its spec, as then does the request."""
        key = _key(request)
        if key in self._known:
            request.body = {**request.body, "spec": _LEAST[request.kind]}
            return server.handle(request)
        answer = server.handle(request)
        if key is not None and answer.accepted:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[key] = None
        return answer


def _key(request: Request) -> bytes | None:
    """What stands for the spec, None if it is not judged by itself or too large to be worth it."""
    body = request.body
    if request.verb != CREATE or request.kind not in _LEAST or type(body) is not dict:
        return None
    try:
        text = marshal.dumps((request.api_version, request.kind, body["spec"]), _FORMAT)
    except (KeyError, ValueError):  # no spec; numbers that are kept as they were written
        return None
    if len(text) > BYTES or _NOT_BY_ITSELF in text:
        return None
    return blake2b(text, digest_size=_DIGEST_BYTES).digest()
