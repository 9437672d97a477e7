"""Sends an object of the input: as kubectl does, or the JSON of the file as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resourceapi.deep_json import most_bytes
from resourceapi.errors import ClaimcheckError
from resourceapi.go_text import json_text
from resourceapi.recognition import with_sorted_keys
from validation import statuses
from validation.requests import CREATE, WARN

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from resourceapi.field_errors import Path
    from resourceapi.objects import Object
    from validation.requests import Answer, Request
    from validation.server import Server

BAD_REQUEST = 400
#: Who sends a request: ``kubectl apply``, the same with ``--server-side``, ``kubectl create``, ``kubectl patch``, or a client that
#: sends JSON as it stands, such as curl.
APPLY, SERVER_SIDE, CREATE_ONLY, PATCH, AS_SENT = (
    "apply",
    "apply --server-side",
    "create",
    "patch",
    "as sent",
)


class ChangeRefused(ClaimcheckError):
    """The server does not change an object so; the text is the server's.

    :ivar rule: a name of :mod:`validation.requests`.
    :ivar path: the field that it is about; empty for the whole.
    :ivar of_configuration: whether it applies the configuration to no object at all.
    """

    def __init__(self, rule: str, message: str, path: Path = (), *, of_configuration: bool = False) -> None:
        super().__init__(message)
        self.rule = rule
        self.path = path
        self.of_configuration = of_configuration


def send(server: Server, request: Request, manifest: Manifest, sender: str) -> Answer:
    """The server's answer to a request with the object of a manifest.

    YAML makes no difference to who sends it as it stands: the server itself reads it with sorted keys.
    """
    if sender == AS_SENT and manifest.json_text:
        return server.handle(request._replace(body=None, raw=manifest.json_text))
    refusal = None if manifest.is_small else _refuse_size(request.body)
    if refusal is not None:
        return refusal
    if sender == PATCH:  # kubectl leaves it to the server, which warns of unknown fields
        request = request._replace(field_validation=WARN)
    if request.verb != CREATE:  # parameters of drivers are compared as text
        return server.handle(request._replace(body=with_sorted_keys(request.body)))
    answer = server.handle(request)
    if answer.code != BAD_REQUEST:
        return answer
    # the order of keys decides only which of several fields is refused, so it costs nothing where none is
    return server.handle(request._replace(body=with_sorted_keys(request.body)))


def _refuse_size(body: Object) -> Answer | None:
    """Refuse a body that the server does not read to its end."""
    if most_bytes(body) <= statuses.BODY_BYTES:
        return None
    return statuses.refuse_size(json_text(body) + "\n")
