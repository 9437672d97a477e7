"""kube-apiserver, as far as it answers requests for DRA objects: decode, convert, default, drop, validate, return."""

from __future__ import annotations

from resourceapi.kinds import deprecation_warning
from resourceapi.releases import split_api_version
from resourceapi.request_body import BadRequest
from resourceapi.request_body import read as read_request_body
from validation import statuses
from validation.headers import in_headers
from validation.kind_rules import KindRules
from validation.kinds import rules_of
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
        rules = self._rules_of(request, group, version)
        if rules is None:
            return statuses.not_served()
        warnings = []
        if warning := deprecation_warning(rules.kind, version):
            warnings.append(warning)
        answer = statuses.refuse_size(request.raw) or self._review(request, rules, version)
        if request.field_validation == WARN:
            warnings += [problem.text for problem in answer.decoding]
        answer.warnings = warnings + answer.warnings
        return answer

    def _rules_of(self, request: Request, group: str, version: str) -> KindRules | None:
        """The rules of the kind in the URL; None if the server has no such URL."""
        rules = rules_of(group, request.kind)
        if rules is None or not rules.kind.served(version, self.profile.minor):
            return None
        # only kinds with a status have the subresource
        return rules if request.verb != STATUS or rules.has_status else None

    def _review(self, request: Request, rules: KindRules, version: str) -> Answer:
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
        answer = Review(self, request, rules, version, body.object).answer()
        answer.decoding = body.problems
        return answer
