"""kube-apiserver, as far as it answers requests for DRA objects: decode, convert, default, drop, validate, return."""

from __future__ import annotations

from collections.abc import Callable

from resourceapi.kinds import KINDS, deprecation_warning
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from resourceapi.request_body import BadRequest
from resourceapi.request_body import read as read_request_body
from validation import statuses
from validation.headers import in_headers
from validation.kinds import RULES
from validation.requests import STATUS, STRICT, WARN, Answer, Request
from validation.review import Review
from validation.setting import Setting


class Server(Setting):
    """A server of one profile; it stores nothing, so it may be shared between threads."""

    def handle(self, request: Request) -> Answer:
        """What the server answers to a request."""
        answer = self._handle(request)
        if answer.warnings:
            answer.warnings = in_headers(answer.warnings)
        return answer

    def _handle(self, request: Request) -> Answer:
        group, version = split_api_version(request.api_version)
        review = self._review_of(request, group, version)
        if review is None:
            return statuses.not_served()
        warnings = []
        if group == GROUP and (warning := deprecation_warning(KINDS[request.kind], version)):
            warnings.append(warning)
        answer = statuses.refuse_size(request.raw) or self._read_and(review, request)
        if request.field_validation == WARN:
            warnings += [problem.text for problem in answer.decoding]
        answer.warnings = warnings + answer.warnings
        return answer

    def _review_of(self, request: Request, group: str, version: str) -> Callable[[Object], Answer] | None:
        """What answers the request once its body is read; None if the server has no such URL."""
        if group != GROUP:
            from validation import pods

            return pods.review_of(self, request, group, version)
        kind = KINDS.get(request.kind)
        if kind is None or not kind.served(version, self.profile.minor):
            return None
        if request.verb == STATUS and not RULES[kind.name].has_status:
            return None  # only kinds with a status have the subresource
        return lambda obj: Review(self, request, kind, version, obj).answer()

    def _read_and(self, review: Callable[[Object], Answer], request: Request) -> Answer:
        """Read the body and review the object in it."""
        try:
            body = read_request_body(
                raw=request.raw,
                body=request.body,
                api_version=request.api_version,
                kind=request.kind,
                schema_of=self.schema_of,
                strict=request.field_validation == STRICT,
            )
        except BadRequest as error:
            return statuses.bad_request(str(error), path=error.path, decoding=error.problems)
        answer = review(body.object)
        answer.decoding = body.problems
        return answer
