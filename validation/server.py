"""kube-apiserver, as far as it answers requests for DRA objects: decode, convert, default, drop, validate, return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resourceapi.kinds import KINDS, deprecation_warning, kind_in
from resourceapi.measured import measured
from resourceapi.objects import EMPTY, Object
from resourceapi.releases import Profile, split_api_version
from resourceapi.request_body import BadRequest
from validation import statuses
from validation.checks import ServerPanic
from validation.claims import ClaimRules, ClaimTemplateRules, DeviceClassRules
from validation.kind_rules import DeviceKindRules, KindRules
from validation.pool_status_requests import PoolStatusRequestRules
from validation.requests import CREATE, STATUS, WARN, Answer, Decode, DecodedRequest, Request, in_headers
from validation.setting import Setting
from validation.slice_patches import SlicePatchRules
from validation.slices import ResourceSliceRules
from validation.taint_rules import DeviceTaintRuleRules

RULES: dict[str, DeviceKindRules] = {
    rules.kind.name: rules
    for rules in (
        ClaimRules(),
        ClaimTemplateRules(),
        DeviceClassRules(),
        ResourceSliceRules(),
        DeviceTaintRuleRules(),
        PoolStatusRequestRules(),
        SlicePatchRules(),
    )
}


def rules_of(group: str, kind: str, version: str, profile: Profile) -> KindRules | None:
    """The rules that a release has for a kind, or None if there are none.

    :param version: tells a kind of classic DRA from its namesake of today, as for :func:`resourceapi.kinds.kind_in`.
    """
    row = kind_in(group, kind, version)
    if row is not None:
        return RULES[kind] if row is KINDS.get(kind) else _classic_rules(kind)
    from validation import workloads  # only those who ask for pods need their rules

    return workloads.RULES.get((group, kind))


def _classic_rules(kind: str) -> KindRules | None:
    from validation.classic.kinds import RULES as CLASSIC_RULES

    return CLASSIC_RULES.get(kind)


REPEATED_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject"
    " such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
)


def without_repeated_owners(obj: Object, review: Callable[[], Answer]) -> Answer:
    """The answer of a review of the object in which each owner stands once, with a warning about those that did not."""
    warnings = _drop_repeated(obj)
    answer = review()
    if answer.code != statuses.BAD_REQUEST:  # that is told before the owners are looked at
        answer.warnings = warnings + answer.warnings
    return answer


def _drop_repeated(obj: Object) -> list[str]:
    """An owner that is listed twice stays once; returns what the server warns about that."""
    meta = obj.get("metadata", EMPTY)
    owners = meta.get("ownerReferences")
    if not owners or len(owners) < 2:
        return []
    kept: dict[frozenset[tuple[str, Any]], Object] = {}  # by all of its fields, which are scalars
    repeated = []
    for owner in owners:
        if kept.setdefault(frozenset(owner.items()), owner) is not owner:
            repeated.append(owner.get("uid", ""))
    meta["ownerReferences"] = list(kept.values())
    return [REPEATED_OWNERS + ", ".join(repeated)] if repeated else []


class Review:
    """What a server does with one request: the steps that are the same for every kind."""

    def __init__(self, setting: Setting, rules: KindRules, decoded: DecodedRequest) -> None:
        self.setting = setting
        self.rules = rules
        self.request = decoded.request
        self.version = decoded.version
        self.obj = _with_own_metadata(decoded.object)
        self.old = None if decoded.old is None else _with_own_metadata(decoded.old)

    def answer(self) -> Answer:
        """What the server answers; an owner that is listed twice stays once."""
        try:
            return without_repeated_owners(self.obj, self._answer)
        except ServerPanic as panic:
            return statuses.panicked(measured(self.setting.profile.minor), panic.path)

    def _answer(self) -> Answer:
        refusal = self._identify()
        if refusal is not None:
            return refusal
        rules, verb = self.rules, self.request.verb
        rules.prepare(verb, self.obj, self.old, self.setting)
        errors = rules.errors(self.request, self.version, self.obj, self.old, self.setting)
        if errors:
            name = self.obj.get("metadata", EMPTY).get("name", "")
            return statuses.invalid(
                rules.kind.name, name, errors, split_api_version(self.request.api_version)[0]
            )
        refusal = rules.admit(self.obj, self.setting)
        if refusal is not None:
            return refusal
        return Answer(
            201 if verb == CREATE else 200,
            build=lambda: rules.present(self.obj, self.request.api_version, self.setting),
            warnings=rules.warnings(verb, self.obj, self.setting.profile),
        )

    def _identify(self) -> Answer | None:
        """Name, namespace and the stored object that the request is about."""
        rules = self.rules
        if self.request.verb == CREATE:
            return statuses.identify_new(
                self.obj,
                self.request,
                namespaced=rules.kind.namespaced,
                keeps_generation=rules.keeps_generation,
            )
        assert self.old is not None
        unconditional = rules.unconditional is None or self.version in rules.unconditional
        return statuses.identify_stored(
            self.obj, self.old, self.request, rules.kind, unconditional=unconditional
        )


def _with_own_metadata(obj: Object) -> Object:
    """A copy of an object whose members and whose metadata's members can be replaced."""
    own = dict(obj)
    if "metadata" in own:
        own["metadata"] = dict(own["metadata"])
    return own


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
