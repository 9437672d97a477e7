"""The mutating webhook: what the API server would make of an object of a kind that CRDs serve.

It fills in defaults, drops fields of disabled features, writes values in their canonical form, and puts back what a request may
not change: the object is the one in the API server's own answer.  Pods get a node selector instead of a node's name if the
policy for pre-scheduled pods asks for it, whoever serves the kinds.
"""

from __future__ import annotations

from typing import Any

from conversion.crd_list_keys import without_empty_list_keys
from resourceapi.field_errors import DUPLICATE, FieldError
from resourceapi.manifests import mapping
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from validation.requests import Answer, in_headers
from validation.server import RULES
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

    The webhook refuses what the API server would refuse before it calls a validating webhook: objects that cannot be decoded,
    and those with errors that it finds in any custom resource; the answer then has the causes of all errors.  Any other
    object that breaks a rule stays as it is, but for its resourceVersion.  The validating webhook refuses it, unless
    another mutating webhook has fixed it by then (this one is called again, with ``reinvocationPolicy: IfNeeded``).

    :raises WebhookError: if it is no AdmissionReview.
    """
    return answer(parse_admission(review), context)


def answer(request: AdmissionRequest, context: Context) -> Object:
    """The answer to the request in an AdmissionReview, as :func:`mutate` gives it."""
    decision = context.pods.decide(request) if context.pods is not None else None
    if decision is not None and context.pods is not None:
        audit = {context.pods.name: decision.audit}
        return allow(request, patch=decision.patch, warnings=in_headers([decision.warning]), audit=audit)
    obj = admission_object(request, context.server)
    if obj is None or not context.judges(obj):
        return allow(request)
    found = obj.answer()
    if found.code == BAD_REQUEST or any(map(_is_checked_in_every_custom_resource, found.errors)):
        return deny(request, found.status())
    return allow(request, patch=_patch(request, found))


def _is_checked_in_every_custom_resource(error: FieldError) -> bool:
    """Whether the API server itself finds the error in any custom resource.

    It checks names and labels, and that no two entries of a list have the same key where several clients write the list:
    in sets and in the status.
    """
    if error.kind == DUPLICATE and (error.path[:1] == ("status",) or error.path[-2:-1] in _SETS):
        return True
    return error.path[:1] == ("metadata",)


def _patch(request: AdmissionRequest, answer: Answer) -> list[Operation]:
    # keys that the API server has filled in stay: it would fill them in again
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
