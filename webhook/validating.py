"""The validating webhook: the API server's rules where it does not apply them itself, policies, and lints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conversion.paths import to_version
from quota.api import Unavailable
from quota.reservations import Busy
from resourceapi.fielderrors import FieldError, forbidden
from resourceapi.fieldpath import render
from resourceapi.releases import split_api_version
from validation import statuses
from validation.headers import in_headers
from validation.lints import lint
from validation.lints.shapes import name_of
from webhook.context import ENFORCE, Context
from webhook.reviews import AdmissionError, AdmissionRequest, WebhookError, allow, deny, parse_admission
from webhook.subjects import Subject, ask, claim_spec, new_claim, subject_of

Object = dict[str, Any]
QUOTA = "quota"


def validate(review: Any, context: Context) -> Object:
    """The answer to an AdmissionReview: all causes at once, warnings, which policies have found something.

    :raises WebhookError: if it is no AdmissionReview.
    """
    request = parse_admission(review)
    verdict = _Verdict(request, context)
    try:
        verdict.reach()
    except AdmissionError as error:
        return deny(request, error.status, warnings=in_headers(verdict.warnings), audit=verdict.audit)
    return allow(request, warnings=in_headers(verdict.warnings), audit=verdict.audit)


class _Verdict:
    def __init__(self, request: AdmissionRequest, context: Context) -> None:
        self.request = request
        self.context = context
        self.warnings: list[str] = []
        self.audit: dict[str, str] = {}
        self._made: Subject | None = None
        self._has_subject = False

    def reach(self) -> None:
        """Collect what is to be said about the request.

        :raises AdmissionError: if it is refused.
        """
        self._guard_labels()
        errors = [*self._broken_rules(), *self._violated_policies()] or list(self._impossible_demands())
        if errors:
            name = self.request.name or name_of(self.request.object)
            raise AdmissionError(statuses.invalid(self.request.kind, name, errors).status())
        self._fit_into_quota()
        self.warnings.extend(self._lints())

    def _guard_labels(self) -> None:
        """
        :raises AdmissionError: if the user may not change the labels of a namespace so.
        """
        guard = self.context.labels
        problems = guard.problems(self.request) if guard is not None else []
        if guard is None or not problems:
            return
        self.audit[guard.name] = "refused" if guard.mode == ENFORCE else "warned"
        if guard.mode == ENFORCE:
            raise AdmissionError(guard.refusal(self.request, problems).status())
        self.warnings += problems

    def _impossible_demands(self) -> Iterator[FieldError]:
        """What no device can ever be, if that is enforced; otherwise it becomes warnings."""
        outlook = self.context.outlook
        subject = self._subject() if outlook is not None else None
        at, spec = claim_spec(subject) if subject is not None else ((), {})
        found = outlook.problems(spec, at) if outlook is not None and at else []
        if outlook is None or not found:
            return
        self.audit[outlook.name] = "refused" if outlook.mode == ENFORCE else "warned"
        for path, problem in found:
            if outlook.mode == ENFORCE:
                yield forbidden(path, problem)
            else:
                self.warnings.append(f"{render(path)}: {problem}")

    def _fit_into_quota(self) -> None:
        """Charge a new claim to the quotas of its namespace; last, because it is not given back.

        :raises AdmissionError: if it does not fit.
        :raises WebhookError: if that cannot be told now.
        """
        claim = new_claim(self.request, self.context.server) if self.context.quota is not None else None
        if claim is None or self.context.quota is None:
            return
        try:
            refusal = self.context.quota.check(self.request.namespace, claim, dry_run=self.request.dry_run)
        except (Busy, Unavailable) as error:
            raise WebhookError(f"quota cannot be checked now: {error}", 503) from None
        if refusal is not None:
            self.audit[QUOTA] = "refused"
            raise AdmissionError(refusal.status())

    def _broken_rules(self) -> list[FieldError]:
        """Causes that the API server would give; warnings that it would give are noted.

        :raises AdmissionError: for a refusal that has no causes.
        """
        context = self.context
        answer = ask(context.server, self.request, context.known) if context.rules else None
        if answer is None:
            return []
        # That a version is deprecated is said by the API server, about the version that was really asked for.
        self.warnings += [text for text in answer.warnings if " is deprecated in " not in text]
        if not answer.accepted and not answer.errors:
            raise AdmissionError(answer.status())
        return answer.errors

    def _violated_policies(self) -> Iterator[FieldError]:
        """What enforced policies have against the object; what others have becomes warnings."""
        subject = self._subject() if self.context.policies else None
        if subject is None:
            return
        _, version = split_api_version(self.request.api_version)
        for policy in self.context.policies:
            found = policy.check(subject)
            for error in found:
                error.path = to_version(error.path, subject.kind, version)
            if not found:
                continue
            self.audit[policy.name] = "refused" if policy.mode == ENFORCE else "warned"
            if policy.mode == ENFORCE:
                yield from found
            else:
                self.warnings += map(str, found)

    def _subject(self) -> Subject | None:
        """What policies see, made once."""
        if not self._has_subject:
            self._made = subject_of(self.request, self.context.server)
            self._has_subject = True
        return self._made

    def _lints(self) -> Iterator[str]:
        """Lints are for objects that are new or have another spec; they are not repeated at every update."""
        obj, old = self.request.object, self.request.old
        if self.context.facts is None or obj is None or self.request.subresource:
            return
        if old is not None and old.get("spec") == obj.get("spec"):
            return
        for warning in lint(obj, self.context.facts):
            yield f"{warning.code}: {warning.message}"
