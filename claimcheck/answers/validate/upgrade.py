"""Objects that some release has stored: what the release that is asked about does with them, beside creating them again.

A server reads them in any version that it serves, and takes updates that it would refuse as new objects: what was stored may
stay, and fields whose gate is off are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advice.findings import NO_SUCH_API, UPDATES_ACCEPTED, UPDATES_REFUSED, Stored
from claimcheck.answers.stored import as_stored
from resourceapi.decoding import DecodingError
from resourceapi.kinds import RESOURCE_SLICE, kind_of
from resourceapi.manifests import group_of, mapping, text
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from validation.requests import STATUS, UPDATE, WARN, Answer, Request

if TYPE_CHECKING:
    from advice.findings import Result
    from validation.server import Server

_NO_SUCH_RESOURCE = 404


def served_version(value: Object, server: Server) -> str:
    """The version of an object or, if the server does not serve that, the newest one that it serves; empty if none."""
    version = split_api_version(value["apiVersion"])[1]
    kind = kind_of(value["apiVersion"], value["kind"])
    assert kind is not None
    return version if kind.served_by(version, server.profile) else kind.newest_served_by(server.profile)


def update_of_stored(value: Object, result: Result, server: Server) -> tuple[Stored, Answer | None]:
    """What the server does with a stored object, and its answer to an update that changes nothing, if it serves the kind.

    :raises DecodingError: if no server can have stored it.
    """
    driver = text(mapping(value, "spec"), "driver") if value["kind"] == RESOURCE_SLICE.name else ""
    if group_of(value) == GROUP:
        if split_api_version(value["apiVersion"])[1] not in server.profile.schemas:
            raise DecodingError(f"no stored object of {value['apiVersion']} can be read", ("apiVersion",))
        version = served_version(value, server)
        if not version:
            return Stored(NO_SUCH_API, driver=driver), None
        value = as_stored(value, result, version, server)
    answer = _unchanged(UPDATE, value, result, server)
    if answer.accepted and value.get("status"):
        of_status = _unchanged(STATUS, value, result, server)
        if not of_status.accepted and of_status.code != _NO_SUCH_RESOURCE:
            answer = of_status
    updates = UPDATES_ACCEPTED if answer.accepted else UPDATES_REFUSED
    return Stored(updates, api_version=value["apiVersion"], message=answer.message, driver=driver), answer


def _unchanged(verb: str, stored: Object, result: Result, server: Server) -> Answer:
    request = Request(
        verb=verb,
        api_version=stored["apiVersion"],
        kind=result.kind,
        namespace=result.namespace,
        name=result.name,
        body=stored,
        old=stored,
        field_validation=WARN,  # what this release does not know is no reason to refuse what is stored
    )
    return server.handle(request)
