"""The mutating webhook: what the API server would make of an object of a kind that CRDs serve.

Defaults are filled in, fields of disabled features dropped, values written in their canonical form, what a request may
not change put back.  It comes from the same pipeline as the verdict.
"""

from __future__ import annotations

from typing import Any

from validation.lints.shapes import mapping
from webhook.context import Context
from webhook.jsonpatch import Operation, difference
from webhook.reviews import UPDATE, AdmissionRequest, allow, parse_admission
from webhook.subjects import ask

Object = dict[str, Any]
# Names, revisions and managers are filled in by the API server itself, whoever serves the kind.
_NOT_OURS = ("apiVersion", "kind", "metadata")


def mutate(review: Any, context: Context) -> Object:
    """The answer to an AdmissionReview: always admitted, with a patch where the object is not as it would be stored.

    An object that the rules refuse is left as it is: refusing is for the validating webhook, as another mutating one
    may mend the object before (then this one is asked again, with ``reinvocationPolicy: IfNeeded``).

    :raises WebhookError: if it is no AdmissionReview.
    """
    request = parse_admission(review)
    return allow(request, patch=_patch(request, context))


def _patch(request: AdmissionRequest, context: Context) -> list[Operation]:
    answer = ask(context.server, request) if context.rules else None
    stored = answer.object if answer is not None and answer.accepted else None
    if stored is None:
        return []
    sent = request.object or {}
    kept = {name: sent[name] for name in _NOT_OURS if name in sent}
    if request.operation == UPDATE:
        kept["metadata"] = _with_revision(sent, request.old)
    return difference(sent, {**{name: stored[name] for name in stored if name not in _NOT_OURS}, **kept})


def _with_revision(sent: Object, old: Object | None) -> Object:
    """The metadata, with the stored object's resourceVersion if none was sent.

    Without one an update of a built-in kind is one of whatever is stored; of a custom resource it would be refused.
    """
    metadata, stored = mapping(sent, "metadata"), mapping(old, "metadata")
    if metadata.get("resourceVersion") or "resourceVersion" not in stored:
        return metadata
    return {**metadata, "resourceVersion": stored["resourceVersion"]}
