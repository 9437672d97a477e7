"""Sends an object of the input: as kubectl does, or the JSON of the file as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from documents.key_order import with_sorted_keys

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from validation.requests import Answer, Request
    from validation.server import Server

BAD_REQUEST = 400


def send(server: Server, request: Request, manifest: Manifest, *, as_sent: bool) -> Answer:
    """The server's answer to a request with the object of a manifest.

    :param as_sent: send JSON as it stands, keys in the order of the file and repeated ones twice, as curl does. YAML
        makes no difference: the server itself reads it with sorted keys.
    """
    if as_sent and manifest.json_text:
        return server.handle(request._replace(body=None, raw=manifest.json_text))
    answer = server.handle(request)
    if answer.code != BAD_REQUEST:
        return answer
    # the order of keys decides only which of several fields is refused, so it costs nothing where none is
    return server.handle(request._replace(body=with_sorted_keys(request.body)))
