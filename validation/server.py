"""kube-apiserver, as far as it answers requests for DRA objects: decode, convert, default, drop, validate, return."""

from __future__ import annotations

from resourceapi.kinds import deprecation_warning
from resourceapi.releases import split_api_version
from resourceapi.request_body import BadRequest
from validation import statuses
from validation.kind_rules import KindRules
from validation.kinds import rules_of
from validation.requests import STATUS, WARN, Answer, Decode, DecodedRequest, Request, in_headers
from validation.review import Review
from validation.setting import Setting


class Server(Setting):
    """A server of one profile; it stores nothing, so it may be shared between threads."""

    def handle(self, request: Request, decode: Decode | None = None) -> Answer:
        """What the server answers to a request.

        :param decode: what decodes the request, for those who need it decoded themselves; :meth:`decode` by default.
        :raises DecodingError: if the stored object is none that a server can have stored.
        """
        answer = self._handle(request, decode or self.decode)
        if answer.warnings:
            answer.warnings = in_headers(answer.warnings)
        return answer

    def decode(self, request: Request) -> DecodedRequest:
        """A request for a kind that has rules, decoded, whether the kind is served or not.

        :raises BadRequest: if the server refuses the body before it looks at the object.
        :raises DecodingError: if the stored object is none that a server can have stored.
        """
        group, version = split_api_version(request.api_version)
        rules = rules_of(group, request.kind, version, self.profile)
        assert rules is not None
        body = self.read_body(request)
        obj = rules.read(body.object, version, self)
        old = None if request.old is None else rules.read_stored(request.old, version, self)
        return DecodedRequest(request, version, obj, old, body.problems)

    def _handle(self, request: Request, decode: Decode) -> Answer:
        rules = self._rules_of(request)
        if rules is None:
            return statuses.not_served()
        warnings: list[str] = []
        version = split_api_version(request.api_version)[1]
        if warning := deprecation_warning(rules.kind, version, self.profile.minor):
            warnings.append(warning)
        try:
            answer = statuses.refuse_size(request.raw) or self._review(rules, decode(request))
        except BadRequest as error:
            answer = statuses.bad_request(str(error), path=error.path, decoding=error.problems)
        if request.field_validation == WARN:
            warnings += [problem.text for problem in answer.decoding]
        answer.warnings = warnings + answer.warnings
        return answer

    def _review(self, rules: KindRules, decoded: DecodedRequest) -> Answer:
        answer = Review(self, rules, decoded).answer()
        answer.decoding = decoded.problems
        return answer

    def _rules_of(self, request: Request) -> KindRules | None:
        """The rules of the kind in the URL; None if the server has no such URL."""
        group, version = split_api_version(request.api_version)
        rules = rules_of(group, request.kind, version, self.profile)
        if rules is None or not rules.kind.served_by(version, self.profile, group):
            return None
        # only kinds with a status have the subresource
        return rules if request.verb != STATUS or rules.has_status(self.profile) else None
