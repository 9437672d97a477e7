"""The validating webhook: the API server's rules where it does not apply them itself, policies, and lints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from advice.lints import lint
from conversion.hub import path_to_version
from deviceselectors.request_budget import BudgetSpentError, RequestBudget
from quota.counted_parts import counted_part_of_claim
from quota.enforcement import RESOURCE
from quota.reservations import Busy
from resourceapi.api_client import Unavailable
from resourceapi.field_errors import FieldError, forbidden, render
from resourceapi.manifests import name_of
from resourceapi.names import short_name
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from serving.routes import Caller
from validation import statuses
from validation.requests import in_headers
from webhook.admission_objects import AdmissionObject, admission_object
from webhook.context import ENFORCE, Context
from webhook.reviews import (
    AdmissionError,
    AdmissionRequest,
    WebhookError,
    allow,
    deny,
    parse_admission,
)

QUOTA = "quota"
# Of larger reviews there are no lints: they compile expressions once more, and look at each device.
LINTED_BYTES = 256 * 1024
NOT_LINTED = f"lints are skipped: the review has more than {LINTED_BYTES} bytes"
TRUSTED = Caller("", RequestBudget(float("inf"), 2**63))
"""A caller who may ask for everything and has no deadline."""


def validate(review: Any, context: Context, caller: Caller = TRUSTED) -> Object:
    """The answer to an AdmissionReview: all errors at once, warnings, and the policies that have found something.

    :raises WebhookError: if it is no AdmissionReview, or quota cannot be asked about.
    """
    found = begin(parse_admission(review), context, caller)
    return found if isinstance(found, dict) else found()


def begin(request: AdmissionRequest, context: Context, caller: Caller) -> Object | Callable[[], Object]:
    """The answer as :func:`validate` gives it; if the API server has to be asked for it, what does so and returns it.

    :raises WebhookError: if the stored object is none that an API server can have stored.
    """
    verdict = _Verdict(request, context, caller)
    try:
        verdict.reach()
        claim = verdict.claim_to_charge()
    except AdmissionError as error:
        return verdict.refusal(error)
    if claim is None:
        return verdict.admission()
    # While it waits for its turn, nothing is kept but what counts: how large objects are is up to tenants.
    counted = counted_part_of_claim(claim)
    verdict.forget_objects()
    return lambda: verdict.charged(counted)


class _Verdict:
    def __init__(self, request: AdmissionRequest, context: Context, caller: Caller) -> None:
        self.request = request
        self.context = context
        self.caller = caller
        self.warnings: list[str] = []
        self.lints: list[str] = []
        self.audit: dict[str, str] = {}
        self._object = admission_object(request, context.server)

    def reach(self) -> None:
        """Collect errors and warnings about the request; quota is checked later.

        :raises AdmissionError: if it is refused.
        """
        self._guard_labels()
        errors = [*self._rule_errors(), *self._policy_errors()] or list(self._feasibility_errors())
        if errors:
            name = self.request.name or name_of(self.request.object)
            group, _ = split_api_version(self.request.api_version)
            raise AdmissionError(statuses.invalid(self.request.kind, name, errors, group).status())
        self.lints.extend(self._lints())

    def forget_objects(self) -> None:
        """Keep neither the request's objects nor what was made of them."""
        self._object = self.request.object = self.request.old = None

    def refusal(self, error: AdmissionError) -> Object:
        return deny(self.request, error.status, warnings=in_headers(self.warnings), audit=self.audit)

    def admission(self) -> Object:
        return allow(self.request, warnings=in_headers([*self.warnings, *self.lints]), audit=self.audit)

    def _guard_labels(self) -> None:
        """Check the labels of a namespace.

        :raises AdmissionError: if the user may not change them so.
        """
        guard = self.context.labels
        problems = guard.problems(self.request) if guard is not None else []
        if guard is None or not problems:
            return
        self.audit[guard.name] = "refused" if guard.mode == ENFORCE else "warned"
        if guard.mode == ENFORCE:
            raise AdmissionError(guard.refusal(self.request, problems).status())
        self.warnings += problems

    def _feasibility_errors(self) -> Iterator[FieldError]:
        """Why the claim can never be satisfied, if feasibility is enforced; otherwise that becomes warnings.

        :raises AdmissionError: if feasibility is enforced and the caller is unknown: it must not learn about devices, so no
            claim of its can be admitted.
        """
        feasibility = self.context.feasibility
        obj = self._object_with_new_spec() if feasibility is not None else None
        if feasibility is None or obj is None or obj.kind.claim_spec is None:
            return
        if feasibility.is_for_known_clients and self.caller.doubt:
            if feasibility.mode == ENFORCE:
                self.audit[feasibility.name] = "unknown client"
                why = f"feasibility is checked only for an API server that shows its certificate: {self.caller.doubt}"
                refusal = statuses.forbidden(obj.kind.resource, name_of(self.request.object), why)
                raise AdmissionError(refusal.status())
            return
        at, spec = obj.claim_spec
        found = feasibility.problems(spec, at)
        if not found:
            return
        self.audit[feasibility.name] = "refused" if feasibility.mode == ENFORCE else "warned"
        for path, problem in found:
            if feasibility.mode == ENFORCE:
                yield forbidden(path, problem)
            else:
                self.warnings.append(f"{render(path)}: {problem}")

    def claim_to_charge(self) -> Object | None:
        """The claim if it is a new one, to which quotas may apply.

        :raises AdmissionError: if only known callers may ask about quotas, and this one is unknown.
        :raises WebhookError: if the request's namespace cannot be the name of one.
        """
        quota, obj = self.context.quota, self._object
        claim = obj.new_claim() if quota is not None and obj is not None else None
        if claim is None or quota is None:
            return None
        if short_name(self.request.namespace):
            raise WebhookError("request.namespace must be the name of a namespace")
        if quota.is_for_known_clients and self.caller.doubt:
            self.audit[QUOTA] = "unknown client"
            why = f"quota is checked only for an API server that shows its certificate: {self.caller.doubt}"
            raise AdmissionError(statuses.forbidden(RESOURCE, name_of(claim), why).status())
        return claim

    def charged(self, claim: Object) -> Object:
        """The answer, after a new claim has been charged to the quotas of its namespace; the charge is never given back.

        :raises WebhookError: if quota cannot be checked now.
        """
        quota, request = self.context.quota, self.request
        assert quota is not None
        try:
            refusal = quota.check(
                request.namespace, claim, dry_run=request.dry_run, is_wanted=self.caller.deadline.is_open
            )
        except (Busy, Unavailable) as error:
            raise WebhookError(f"quota cannot be checked now: {error}", 503) from None
        if refusal is None:
            return self.admission()
        self.audit[QUOTA] = "refused"
        return self.refusal(AdmissionError(refusal.status()))

    def _rule_errors(self) -> list[FieldError]:
        """The errors that the API server would report; its warnings are noted.

        :raises AdmissionError: for a refusal without errors of fields.
        """
        context, obj = self.context, self._object
        if obj is None or not context.judges(obj):
            return []
        answer = obj.verdict(context.verdict_cache, others_read_spec=context.reads_specs)
        # That a version is deprecated is said by the API server, about the version that was really asked for.
        self.warnings += [text for text in answer.warnings if " is deprecated in " not in text]
        if not answer.accepted and not answer.errors:
            raise AdmissionError(answer.status())
        return answer.errors

    def _policy_errors(self) -> Iterator[FieldError]:
        """The errors of enforced policies; those of others become warnings."""
        obj = self._object_with_new_spec() if self.context.policies else None
        if obj is None:
            return
        _, version = split_api_version(self.request.api_version)
        for policy in self.context.policies:
            found = policy.check(obj)
            for error in found:
                error.path = path_to_version(error.path, obj.kind.name, version)
            if not found:
                continue
            self.audit[policy.name] = "refused" if policy.mode == ENFORCE else "warned"
            if policy.mode == ENFORCE:
                yield from found
            else:
                self.warnings += map(str, found)

    def _object_with_new_spec(self) -> AdmissionObject | None:
        """The object if there is one whose spec is new or has changed: stored specs are not judged again."""
        obj = self._object
        return obj if obj is not None and obj.has_new_spec else None

    def _lints(self) -> Iterator[str]:
        """Lints are for objects that are new or have another spec; they are not repeated at every update.

        An object of another kind than its request's, which no API server sends, has none: where a review is answered, and
        how long that may take, depends on the request's kind.
        """
        obj, old = self.request.object, self.request.old
        if self.context.facts is None or obj is None or self.request.subresource:
            return
        if (obj.get("apiVersion"), obj.get("kind")) != (self.request.api_version, self.request.kind):
            return
        if old is not None and old.get("spec") == obj.get("spec"):
            return
        if self.caller.size > LINTED_BYTES:
            yield NOT_LINTED
            return
        try:
            found = list(lint(obj, self.context.facts))
        except BudgetSpentError as error:
            yield f"lints are skipped: {error}"
            return
        for warning in found:
            yield f"{warning.code}: {warning.message}"
