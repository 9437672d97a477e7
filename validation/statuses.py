"""Refusals, and what is checked about an object before its rules: which object it is."""

from __future__ import annotations

from typing import Any

from deviceselectors.request_budget import insist
from resourceapi.field_errors import MOST_SHOWN, FieldError, Path, causes
from resourceapi.field_errors import invalid as invalid_value
from resourceapi.go_text import listed, quote
from resourceapi.kind import Kind
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.phrases import shortened
from resourceapi.releases import split_api_version
from validation.requests import Answer, Request

BAD_REQUEST = 400
GENERATED_NAME_BYTES = 58  # room for a random suffix of five characters
SUFFIX = "xxxxx"  # stands for it
BODY_BYTES = 3 * 1024 * 1024
UINT64_MAX = 2**64 - 1
UINT64_DIGITS = 20


def bad_request(message: str, **more: Any) -> Answer:
    """A request that the server cannot read, or that is about another object than its URL."""
    return Answer(BAD_REQUEST, reason="BadRequest", message=message, **more)


def not_served() -> Answer:
    """The URL of the version or kind does not exist."""
    message = "the server could not find the requested resource"
    return Answer(404, reason="NotFound", message=message, details={})


def panicked(release: str, path: Path) -> Answer:
    """No answer of the server: it divides by zero, and cuts the connection. The text is our own."""
    message = (
        f"kube-apiserver {release} divides by zero here: it gives no answer, and cuts the connection for all other "
        "requests on it as well (1.37 says: must be greater than zero)"
    )
    return Answer(500, message=message, path=path)


def refuse_size(raw: str | bytes | None) -> Answer | None:
    """Refuses the text of a body that is too long to be read at all."""
    if raw is None or len(raw) * 4 <= BODY_BYTES:
        return None
    size = len(raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogateescape"))
    if size <= BODY_BYTES:
        return None
    message = f"Request entity too large: limit is {BODY_BYTES}"
    return Answer(413, reason="RequestEntityTooLarge", message=message)


def invalid(kind: str, name: str, errors: list[FieldError], group: str = GROUP) -> Answer:
    """An object with field errors; the message lists each text once, up to a limit for all of them.

    :raises BudgetSpentError: if nobody waits for the answer any more.
    """
    insist()
    name = shortened(name, MOST_SHOWN)
    told = causes(errors)
    texts = list(dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in told))
    if len(told) < len(errors):
        texts.append(f"and {len(errors) - len(told)} more")
    message = f"{_qualified(kind, group)} {quote(name)} is invalid: {listed(texts)}"
    details = {**_details(kind, name, group), "causes": told}
    return Answer(422, reason="Invalid", message=message, errors=errors, details=details)


def conflict(resource: str, name: str, why: str, group: str = GROUP) -> Answer:
    """An update that was not made from the newest state of the object."""
    message = f'Operation cannot be fulfilled on {_qualified(resource, group)} "{name}": {why}'
    return Answer(409, reason="Conflict", message=message, details=_details(resource, name, group))


def forbidden(resource: str, name: str, why: str, group: str = GROUP) -> Answer:
    """A request that admission refuses."""
    message = f'{_qualified(resource, group)} "{name}" is forbidden: {why}'
    return Answer(403, reason="Forbidden", message=message, details=_details(resource, name, group))


def already_exists(resource: str, name: str, group: str = GROUP) -> Answer:
    """A create under a name that an object has."""
    message = f'{_qualified(resource, group)} "{name}" already exists'
    return Answer(409, reason="AlreadyExists", message=message, details=_details(resource, name, group))


def _qualified(name: str, group: str) -> str:
    """A kind or resource with its group, as messages name it."""
    return f"{name}.{group}" if group else name


def _details(kind: str, name: str, group: str) -> Object:
    return {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}


def identify_new(
    obj: Object, request: Request, *, namespaced: bool, keeps_generation: bool = False
) -> Answer | None:
    """Give a new object its name and namespace; a refusal if it claims another namespace.

    :param keeps_generation: whether a generation is taken as it comes.
    """
    meta = obj.setdefault("metadata", {})
    refusal = _match_namespace(meta, request, namespaced)
    if refusal is not None:
        return refusal
    for name in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        meta.pop(name, None)
    if not keeps_generation:
        meta.pop("generation", None)
    if meta.get("generateName") and not meta.get("name"):
        meta["name"] = generated_name(meta["generateName"])
    return None


def generated_name(prefix: str) -> str:
    """A name that the server could make from a prefix."""
    return prefix.encode()[:GENERATED_NAME_BYTES].decode(errors="ignore") + SUFFIX


def _match_namespace(meta: Object, request: Request, namespaced: bool) -> Answer | None:
    expected = request.namespace if namespaced else ""
    if expected and meta.get("namespace", expected) != expected:
        return bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
            path=("metadata", "namespace"),
        )
    if expected:
        meta["namespace"] = expected
    else:
        meta.pop("namespace", None)
    return None


def identify_stored(
    obj: Object, old: Object, request: Request, kind: Kind, *, unconditional: bool
) -> Answer | None:
    """Whether an update is for the stored object, and made from its newest state.

    Fills in what an update need not repeat.  ``unconditional``: whether it may leave out the resourceVersion.
    """
    meta, before = obj.setdefault("metadata", {}), old.setdefault("metadata", {})
    url_name = request.name or before.get("name", "")
    refusal = _match_namespace(meta, request, kind.namespaced)
    if refusal is not None:
        return refusal
    if not meta.get("name"):
        return bad_request(
            f"the name of the object ({url_name} based on URL) was undeterminable: name must be provided",
            path=("metadata",),
        )
    if meta["name"] != url_name:
        return bad_request(
            f"the name of the object ({meta['name']}) does not match the name on the URL ({url_name})",
            path=("metadata", "name"),
        )
    refusal = _match_stored(meta, before, request, kind, url_name, unconditional)
    if refusal is not None:
        return refusal
    for name in ("generation", "creationTimestamp"):  # of these the request's never count
        meta.pop(name, None)
    for name in ("generation", "creationTimestamp", "deletionTimestamp"):
        if name in before:
            meta[name] = before[name]
    for name in ("uid", "deletionGracePeriodSeconds"):
        if name in before:
            meta.setdefault(name, before[name])
    return None


#: Resources that etcd has under another name.
_STORED_AS = {"replicationcontrollers": "controllers"}


def _match_stored(
    meta: Object, before: Object, request: Request, kind: Kind, name: str, unconditional: bool
) -> Answer | None:
    """Preconditions: the uid and the resourceVersion that the update was made for."""
    stored_uid, group = before.get("uid", ""), split_api_version(request.api_version)[0]
    if meta.get("uid") and meta["uid"] != stored_uid and not request.is_patch:
        key = (
            f"/{_STORED_AS.get(kind.resource, kind.resource)}/"
            + (f"{request.namespace}/" if kind.namespaced else "")
            + name
        )
        return conflict(
            kind.resource,
            name,
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {stored_uid}",
            group,
        )
    stored, sent = before.get("resourceVersion") or "1", meta.get("resourceVersion", "")
    if not sent and request.has_resource_version:
        sent = stored
    number = _revision(sent)
    if isinstance(number, Answer):
        return number
    if number == 0 and not unconditional:
        error = invalid_value(("metadata", "resourceVersion"), 0, "must be specified for an update")
        return invalid(kind.resource, name, [error], group)
    if number != 0 and number != _revision(stored):
        why = "the object has been modified; please apply your changes to the latest version and try again"
        return conflict(kind.resource, name, why, group)
    before["resourceVersion"] = meta["resourceVersion"] = stored
    return None


def _revision(resource_version: str) -> int | Answer:
    """The number in a resourceVersion, 0 for none; the server does not expect anything else."""
    if not resource_version:
        return 0
    why = ""
    digits = resource_version.lstrip("0") or "0"
    if not (digits.isascii() and digits.isdecimal()):
        why = "invalid syntax"
    elif len(digits) > UINT64_DIGITS or int(digits) > UINT64_MAX:
        why = "value out of range"
    if why:
        return Answer(500, message=f"strconv.ParseUint: parsing {quote(resource_version)}: {why}")
    return int(digits)
