"""Objects in a version that the release can serve, and does not: what is wrong with them beside the version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advice.findings import ERROR, Result
from resourceapi.decoding import DecodingError
from resourceapi.kinds import kind_in
from resourceapi.model.versions import GROUP
from resourceapi.releases import split_api_version

if TYPE_CHECKING:
    from advice.interpreter import Interpreter
    from documents.manifest import Manifest
    from validation.requests import Answer, Request
    from validation.server import Server

_INVALID = 422


def foretell(
    result: Result, manifest: Manifest, request: Request, server: Server, interpreter: Interpreter
) -> None:
    """Add to a result the errors that stay when the object is rewritten in a version that is served, or its own is."""
    answer = _answer_if_served(request, server)
    if answer is None:
        return
    later = Result(
        result.file, result.document, result.source, api_version=result.api_version, kind=result.kind
    )
    later.namespace, later.name = result.namespace, result.name
    interpreter.add_answer(later, manifest, answer)
    result.afterwards = [finding for finding in later.findings if finding.severity == ERROR]


def _answer_if_served(request: Request, server: Server) -> Answer | None:
    """What the server would answer if it served the version; None if nothing is certain."""
    group, version = split_api_version(request.api_version)
    kind, profile = kind_in(group, request.kind, version), server.profile
    if group != GROUP or kind is None or request.old is not None or not kind.served(version, profile.minor):
        return None
    serving = server.with_profile(profile.with_all_apis())
    answer = serving.handle(request)
    newest = kind.newest_served_by(profile)
    if not newest:
        return answer
    if answer.code != _INVALID:  # what cannot be read may be meant for the other version
        return None
    try:
        body = serving.read(request.body, f"{GROUP}/{newest}")
    except DecodingError:
        return None
    rewritten = server.handle(request._replace(api_version=f"{GROUP}/{newest}", body=body, raw=None))
    return answer if len(rewritten.errors) == len(answer.errors) else None
