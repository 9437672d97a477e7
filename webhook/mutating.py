"""The mutating webhook: what the API server would make of an object of a kind that CRDs serve.

Defaults are filled in, fields of disabled features dropped, values written in their canonical form, what a request may
not change put back.  It comes from the same pipeline as the verdict.  Pods are brought before the scheduler, whoever
serves the kinds.
"""

from __future__ import annotations

from typing import Any

from conversion.crd_list_keys import without_empty_list_keys
from resourceapi.field_errors import DUPLICATE, FieldError
from resourceapi.manifests import mapping
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from validation.headers import in_headers
from validation.kinds import RULES
from validation.requests import Answer
from webhook.admission_objects import admission_object
from webhook.context import Context
from webhook.json_patch import Operation, difference
from webhook.reviews import UPDATE, AdmissionRequest, allow, deny, parse_admission

BAD_REQUEST = 400
# Names, revisions and managers are filled in by the API server itself, whoever serves the kind.
_NOT_OURS = ("apiVersion", "kind", "metadata")
_SETS = {
    (field.name,)
    for schema in SCHEMAS.values()
    for struct in schema
    for field in struct.fields
    if field.is_set
}


def mutate(review: Any, context: Context) -> Object:
    """The answer to an AdmissionReview: a patch where the object is not as it would be stored.

    Refused is what the API server would refuse before it asks a validating webhook: what cannot be decoded, and objects
    with mistakes that it looks for in every custom resource, which then get all their causes.  Any other object that the
    rules refuse is left as it is, but for its revision: refusing it is for the validating webhook, as another mutating
    one may fix it before (then this one is asked again, with ``reinvocationPolicy: IfNeeded``).

    :raises WebhookError: if it is no AdmissionReview.
    """
    return answer(parse_admission(review), context)


def answer(request: AdmissionRequest, context: Context) -> Object:
    """The answer to the request in an AdmissionReview, as :func:`mutate` gives it."""
    treatment = context.pods.treat(request) if context.pods is not None else None
    if treatment is not None and context.pods is not None:
        audit = {context.pods.name: treatment.audit}
        return allow(request, patch=treatment.patch, warnings=in_headers([treatment.warning]), audit=audit)
    obj = admission_object(request, context.server) if context.rules else None
    if obj is None:
        return allow(request)
    found = obj.answer()
    if found.code == BAD_REQUEST or any(map(_is_every_resources, found.errors)):
        return deny(request, found.status())
    return allow(request, patch=_patch(request, found))


def _is_every_resources(error: FieldError) -> bool:
    """Whether the API server looks for a mistake in every custom resource: bad names and labels, and entries with the
    same key in lists that several write to, which are sets or parts of a status."""
    if error.kind == DUPLICATE and (error.path[:1] == ("status",) or error.path[-2:-1] in _SETS):
        return True
    return error.path[:1] == ("metadata",)


def _patch(request: AdmissionRequest, answer: Answer) -> list[Operation]:
    # what the API server fills in need not be taken out: it would be filled in again
    sent = without_empty_list_keys(request.kind, request.object or {})
    wanted = dict(sent)
    if answer.accepted and answer.object is not None:
        kept = {name: sent[name] for name in _NOT_OURS if name in sent}
        wanted = {**{name: answer.object[name] for name in answer.object if name not in _NOT_OURS}, **kept}
    if request.operation == UPDATE and _needs_no_revision(request):
        wanted["metadata"] = _with_revision(sent, request.old)
    return difference(sent, wanted)


def _needs_no_revision(request: AdmissionRequest) -> bool:
    """Whether an update of the built-in kind may leave out the resourceVersion."""
    versions = RULES[request.kind].unconditional
    return versions is None or split_api_version(request.api_version)[1] in versions


def _with_revision(sent: Object, old: Object | None) -> Object:
    """The metadata, with the stored object's resourceVersion if none was sent.

    Without one an update of a built-in kind is one of whatever is stored; of a custom resource it would be refused,
    before the validating webhook could say what else is wrong.
    """
    metadata, stored = mapping(sent, "metadata"), mapping(old, "metadata")
    if metadata.get("resourceVersion") not in (None, "", "0") or "resourceVersion" not in stored:
        return metadata
    return {**metadata, "resourceVersion": stored["resourceVersion"]}
