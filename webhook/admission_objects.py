"""What an admission review is about, in the terms of :mod:`validation`."""

from __future__ import annotations

from collections.abc import Mapping

from conversion.crd_list_keys import without_empty_list_keys
from conversion.hub import to_hub
from resourceapi.decoding import DecodingError, decode
from resourceapi.defaults import apply_defaults
from resourceapi.field_path import Path
from resourceapi.kinds import KINDS, claim_spec_of
from resourceapi.manifests import mapping
from resourceapi.model.versions import GROUP
from resourceapi.objects import EMPTY, Object
from resourceapi.releases import split_api_version
from validation import requests
from validation.requests import Answer, Request
from validation.server import Server
from webhook.reviews import CREATE, UPDATE, AdmissionRequest, WebhookError
from webhook.verdict_cache import KnownSpecs

IGNORE = "Ignore"  # unknown fields are the API server's business: it has pruned or refused them before
_VERBS = {
    (CREATE, ""): requests.CREATE,
    (UPDATE, ""): requests.UPDATE,
    (UPDATE, "status"): requests.STATUS,
}


def server_request(review: AdmissionRequest) -> Request | None:
    """The review as the request that the API server got, None if it is not about the content of a DRA object."""
    group, version = split_api_version(review.api_version)
    verb = _VERBS.get((review.operation, review.subresource))
    if group != GROUP or review.kind not in KINDS or verb is None:
        return None
    if version not in KINDS[review.kind].versions:
        return None
    deleted = "deletionTimestamp" in mapping(review.old, "metadata")
    return Request(
        verb=verb,
        api_version=review.api_version,
        kind=review.kind,
        namespace=review.namespace,
        body=without_empty_list_keys(review.kind, review.object),
        old=without_empty_list_keys(review.kind, review.old),
        name=review.name,
        field_validation=IGNORE,
        deleted=deleted,
        has_resource_version=False,  # it is in the object, or was not sent
    )


def ask(server: Server, review: AdmissionRequest, known: KnownSpecs | None = None) -> Answer | None:
    """What the API server would answer to the request under review; None as for :func:`server_request`.

    :param known: for those who want the verdict only: specs that need not be looked at again.
    :raises WebhookError: if the stored object is none that an API server can have stored.
    """
    request = server_request(review)
    if request is None:
        return None
    try:
        return server.handle(request) if known is None else known.handle(server, request)
    except DecodingError as error:
        raise WebhookError(f"request.oldObject cannot be decoded: {error}") from None


class Subject:
    """A DRA object whose spec is new or has changed, as policies see it.

    ``hub`` is the object in the shape of the hub (v1), in normal form; ``namespace_labels`` are those of its
    namespace as far as they are known.
    """

    __slots__ = ("api_version", "groups", "hub", "kind", "namespace", "namespace_labels", "user")

    def __init__(
        self,
        *,
        api_version: str,
        kind: str,
        hub: Object,
        namespace: str = "",
        namespace_labels: Mapping[str, str] | None = None,
        user: str = "",
        groups: tuple[str, ...] = (),
    ) -> None:
        self.api_version = api_version
        self.kind = kind
        self.hub = hub
        self.namespace = namespace
        self.namespace_labels = namespace_labels or {}
        self.user = user
        self.groups = groups


def subject_of(review: AdmissionRequest, server: Server) -> Subject | None:
    """The subject of a review, None if it is not about a spec: a status, a deletion, an update of metadata only.

    Objects that cannot be decoded have no subject either: the API server refuses them, or its rules do.
    """
    request = server_request(review)
    if request is None or request.verb == requests.STATUS:
        return None
    try:
        hub = _hub(review.kind, review.api_version, review.object, server)
        if review.old is not None and hub.get("spec") == _hub(
            review.kind, review.api_version, review.old, server
        ).get("spec"):
            return None
    except DecodingError:
        return None
    return Subject(
        api_version=review.api_version,
        kind=review.kind,
        hub=hub,
        namespace=review.namespace,
        namespace_labels=server.namespace_labels(review.namespace),
        user=review.user,
        groups=review.groups,
    )


def claim_spec(subject: Subject) -> tuple[Path, Object]:
    """The spec of a claim, or that in a template, and where it is; an empty one for other kinds."""
    path = claim_spec_of(subject.kind)
    return ((), EMPTY) if path is None else (path, mapping(subject.hub, *path))


def _hub(kind: str, api_version: str, obj: Object | None, server: Server) -> Object:
    _, version = split_api_version(api_version)
    return to_hub(kind, version, decode(server.profile.schemas[version], kind, obj).object)


def new_claim(review: AdmissionRequest, server: Server) -> Object | None:
    """The claim that a request creates, as a hub object with its defaults; None for any other request.

    :raises WebhookError: if it cannot be decoded.
    """
    group, _ = split_api_version(review.api_version)
    if (group, review.kind, review.operation, review.subresource) != (GROUP, "ResourceClaim", CREATE, ""):
        return None
    request = server_request(review)
    if request is None or review.object is None:
        return None
    try:
        claim = server.read(
            {**review.object, "apiVersion": review.api_version, "kind": review.kind}, f"{GROUP}/v1"
        )
    except DecodingError as error:
        raise WebhookError(f"request.object cannot be decoded: {error}") from None
    apply_defaults(review.kind, "v1", claim, "")
    claim.setdefault("metadata", {})
    return claim
