"""The envelopes of webhooks: AdmissionReview (admission.k8s.io/v1) and ConversionReview (apiextensions.k8s.io/v1).

They are read strictly, since only an API server is supposed to send them: anything but the documented form is a
:class:`WebhookError` (an HTTP error, for which the failurePolicy decides).  A refused object is an :class:`AdmissionError`,
which becomes an answer.
Source: API reference of kube-apiserver, groups ``admission.k8s.io`` and ``apiextensions.k8s.io``.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from resourceapi.go_text import json_text
from resourceapi.objects import Object
from serving.routes import NAMESPACE_BYTES, HTTPError

ADMISSION = ("admission.k8s.io/v1", "AdmissionReview")
CONVERSION = ("apiextensions.k8s.io/v1", "ConversionReview")
CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
OPERATIONS = (CREATE, UPDATE, DELETE, CONNECT)
# API servers write uid, kind and resource, name, namespace (none for cluster-scoped objects), operation, userInfo, object, … In
# what comes before userInfo only the name may be long: on a creation it is not validated yet.
_HEAD_BYTES = 4096
_NAMESPACE_OR_USER = re.compile(
    rb'"(?:namespace"\s*:\s*"([^"\\]{0,63})"|userInfo"\s*:\s*\{\s*"username"\s*:\s*"([^"\\]{0,256})"'
    rb'|(?:namespace|userInfo|object|oldObject)"\s*:)'
)
_NAMESPACE_LENGTH = 63
UNKNOWN_NAMESPACE = "?"
# In a ConversionReview, metadata follows the apiVersion and kind of the first object, and has its namespace at the end.
_METADATA = b'"metadata":'
_READER = json.JSONDecoder()


class WebhookError(HTTPError):
    """A request that is no review: an HTTP error, for which the webhook's failurePolicy decides."""


class AdmissionError(Exception):
    """A refused object.

    :ivar status: the ``v1.Status`` that says why.
    """

    def __init__(self, status: Object) -> None:
        super().__init__(status.get("message", ""))
        self.status = status


@dataclass(slots=True, kw_only=True, eq=False)
class AdmissionRequest:
    """A request of which an API server wants to know whether to admit it.

    ``api_version`` and ``kind`` are those of the objects in it, which may be others than those of the URL
    (``matchPolicy: Equivalent``).  ``object`` is None for a deletion, ``old`` for a creation.
    """

    uid: str
    api_version: str
    kind: str
    operation: str
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    object: Object | None = None
    old: Object | None = None
    user: str = ""
    groups: tuple[str, ...] = ()
    dry_run: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class ConversionRequest:
    """Objects that an API server wants in ``desired``, an apiVersion."""

    uid: str
    desired: str
    objects: list[Object]


def namespace_in_head(body: bytes) -> str:
    """The namespace of the request in an AdmissionReview that is not decoded yet, for nothing but taking turns.

    Quotes within strings are escaped, so names and values are no keys. Bodies that are not as API servers write them may say
    anything.

    :returns: for cluster-scoped objects who asks for them, as ``user/jane``, which no namespace is called;
        :data:`UNKNOWN_NAMESPACE` if the beginning of the body does not tell.
    """
    found = _NAMESPACE_OR_USER.search(body, 0, _HEAD_BYTES)
    if found is None:
        return UNKNOWN_NAMESPACE
    namespace, user = found.groups()
    if user is not None:
        return "user/" + user.decode("utf-8", "replace")
    return UNKNOWN_NAMESPACE if namespace is None else namespace.decode("utf-8", "replace")


def namespace_of_first(body: bytes) -> str:
    """The namespace of the first object in a ConversionReview that is not decoded yet, for nothing but taking turns.

    Its metadata is decoded: annotations and labels may be called ``namespace``, too.

    :returns: empty for cluster-scoped objects, as it names no user; :data:`UNKNOWN_NAMESPACE` if the beginning of the body does
        not tell.
    """
    at = body.find(_METADATA, 0, _HEAD_BYTES)
    if at < 0:
        return UNKNOWN_NAMESPACE
    start = at + len(_METADATA)
    text = body[start : start + NAMESPACE_BYTES].decode("utf-8", "replace").lstrip()
    try:
        metadata, _ = _READER.raw_decode(text)
    except (ValueError, RecursionError):
        return UNKNOWN_NAMESPACE
    namespace = metadata.get("namespace", "") if isinstance(metadata, dict) else None
    return (
        namespace if isinstance(namespace, str) and len(namespace) <= _NAMESPACE_LENGTH else UNKNOWN_NAMESPACE
    )


def parse_admission(review: Any) -> AdmissionRequest:
    """The request in an AdmissionReview.

    API servers send no ``oldObject`` with CREATE.  One that comes all the same is ignored: features that it uses would count as
    in use already, and what is allowed then must not be what the verdict cache remembers.

    :raises WebhookError: for anything else.
    """
    request = _request_of(review, ADMISSION)
    kind = _read(request, "kind", dict, {}, "request")
    group = _read(kind, "group", str, "", "request.kind")
    version = _required(kind, "version", "request.kind")
    user = _read(request, "userInfo", dict, {}, "request")
    operation = _required(request, "operation", "request")
    if operation not in OPERATIONS:
        raise WebhookError(f"request.operation: {operation!r} must be one of {', '.join(OPERATIONS)}")
    parsed = AdmissionRequest(
        uid=_required(request, "uid", "request"),
        api_version=f"{group}/{version}" if group else version,
        kind=_required(kind, "kind", "request.kind"),
        operation=operation,
        subresource=_read(request, "subResource", str, "", "request"),
        name=_read(request, "name", str, "", "request"),
        namespace=_read(request, "namespace", str, "", "request"),
        object=_read(request, "object", dict, None, "request"),
        old=None if operation == CREATE else _read(request, "oldObject", dict, None, "request"),
        user=_read(user, "username", str, "", "request.userInfo"),
        groups=tuple(_texts(user, "groups", "request.userInfo")),
        dry_run=_read(request, "dryRun", bool, False, "request"),
    )
    if operation in (CREATE, UPDATE) and parsed.object is None:
        raise WebhookError(f"request.object is missing, which {operation} must have")
    if operation == UPDATE and parsed.old is None:
        raise WebhookError("request.oldObject is missing, which UPDATE must have")
    return parsed


def parse_conversion(review: Any) -> ConversionRequest:
    """The request in a ConversionReview.

    :raises WebhookError: for anything else.
    """
    request = _request_of(review, CONVERSION)
    objects = _read(request, "objects", list, [], "request")
    for index, item in enumerate(objects):
        if not isinstance(item, dict):
            raise WebhookError(f"request.objects[{index}] must be an object")
    return ConversionRequest(
        uid=_required(request, "uid", "request"),
        desired=_required(request, "desiredAPIVersion", "request"),
        objects=objects,
    )


def allow(
    request: AdmissionRequest,
    *,
    patch: Sequence[Object] = (),
    warnings: Iterable[str] = (),
    audit: Mapping[str, str] | None = None,
) -> Object:
    """The review that admits a request; ``patch`` are JSONPatch operations (RFC 6902)."""
    response: Object = {"uid": request.uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = b64encode(json_text(patch).encode("utf-8", "replace")).decode("ascii")
    return _review(ADMISSION, _remarked(response, warnings, audit))


def deny(
    request: AdmissionRequest,
    status: Object,
    *,
    warnings: Iterable[str] = (),
    audit: Mapping[str, str] | None = None,
) -> Object:
    """The review that refuses a request with a ``v1.Status``."""
    response: Object = {"uid": request.uid, "allowed": False, "status": status}
    return _review(ADMISSION, _remarked(response, warnings, audit))


def converted(request: ConversionRequest, objects: list[Object]) -> Object:
    """The review with the converted objects, in the order of the request's."""
    result = {"status": "Success"}
    return _review(CONVERSION, {"uid": request.uid, "convertedObjects": objects, "result": result})


def not_converted(request: ConversionRequest, message: str) -> Object:
    """The review that says why the objects cannot be converted; the API knows only all of them or none."""
    result = {"status": "Failure", "message": message}
    return _review(CONVERSION, {"uid": request.uid, "convertedObjects": [], "result": result})


def _review(envelope: tuple[str, str], response: Object) -> Object:
    return {"apiVersion": envelope[0], "kind": envelope[1], "response": response}


def _remarked(response: Object, warnings: Iterable[str], audit: Mapping[str, str] | None) -> Object:
    texts = list(warnings)
    if texts:
        response["warnings"] = texts
    if audit:
        response["auditAnnotations"] = dict(audit)
    return response


def _request_of(review: Any, envelope: tuple[str, str]) -> Object:
    if not isinstance(review, dict):
        raise WebhookError(f"the body must be an object of {envelope[0]}, kind {envelope[1]}")
    found = (review.get("apiVersion"), review.get("kind"))
    if found != envelope:
        raise WebhookError(
            f"expected {envelope[0]}, kind {envelope[1]}; found {found[0]!s:.100}, kind {found[1]!s:.100}"
        )
    request: Object | None = _read(review, "request", dict, None, "")
    if request is None:
        raise WebhookError("request is missing")
    return request


_TYPES = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}


def _read(owner: Object, name: str, expected: type, default: Any, at: str) -> Any:
    """A member of the expected type; ``default`` if it is absent or null."""
    value = owner.get(name)
    if type(value) is expected:
        return value
    if value is None:
        return default
    # a number that is no plain integer is read as a kind of str
    if not isinstance(value, expected) or (expected is str and type(value) is not str):
        raise WebhookError(f"{_at(at, name)} must be {_TYPES[expected]}")
    return value


def _required(owner: Object, name: str, at: str) -> str:
    text: str = _read(owner, name, str, "", at)
    if not text:
        raise WebhookError(f"{_at(at, name)} is missing")
    return text


def _texts(owner: Object, name: str, at: str) -> list[str]:
    texts: list[str] = _read(owner, name, list, [], at)
    if not all(type(text) is str for text in texts):
        raise WebhookError(f"{_at(at, name)} must be a list of strings")
    return texts


def _at(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner else name
