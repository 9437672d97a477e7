"""Looks for what the server will report once it can read an object, as long as all of a run takes no more than it may."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
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


MOST_EFFORT = 1_000_000
"""After how much effort of a run (:class:`advice.afterwards.foretelling.Effort`) no further object is looked at."""


class ForetellingFailed(UserWarning):
    """A mistake of ours, at which a run does not end: only tests and Python's development mode show it."""


# At the end: what tests and `python -X dev` ask for goes first.
warnings.simplefilter("ignore", ForetellingFailed, append=True)


class LookingAhead:
    """What a run may still spend."""

    def __init__(self) -> None:
        self._spent = 0

    def foretell(self, result: Result, foretell: Callable[[], None]) -> None:
        """Have a result's ``afterwards`` found, unless all effort is spent.

        Whatever goes wrong there, the server's answer stays.
        """
        if self._spent >= MOST_EFFORT:
            result.is_foretold = False
            return
        try:
            foretell()
        except Exception as error:  # noqa: BLE001 - what is only foretold must not hide what is certain
            warnings.warn(ForetellingFailed(repr(error)), stacklevel=2)
        self._spent += result.effort


def limit(results: Iterable[Result]) -> None:
    """Leave of results of several processes what one process would have found.

    Each process has spent no more on the objects before one of its own than one process would have.
    """
    spent = 0
    for result in results:
        if result.effort and spent >= MOST_EFFORT:
            result.is_foretold = False
            result.afterwards = []
        spent += result.effort


# Objects in a version that the release can serve, and does not: what is wrong with them beside the
# version.

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
