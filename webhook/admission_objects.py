"""The DRA object that an admission review is about, decoded once for all who look at it, and the specs that the rules have accepted."""

from __future__ import annotations

import marshal
from collections.abc import Mapping
from hashlib import blake2b

from conversion.crd_list_keys import without_empty_list_keys
from conversion.hub import with_defaults
from resourceapi.decoding import DecodingError
from resourceapi.field_errors import Path
from resourceapi.kinds import KINDS, kind_in
from resourceapi.manifests import mapping
from resourceapi.objects import EMPTY, Object
from resourceapi.releases import split_api_version
from resourceapi.request_body import BadRequest
from validation import requests
from validation.claims import CacheableKindRules
from validation.requests import Answer, Decode, DecodedRequest, Request
from validation.server import RULES, Server
from webhook.reviews import CREATE, UPDATE, AdmissionRequest, WebhookError

MOST_SPECS = 10_000
# Larger specs are rare, and digesting them is not free.
SPEC_BYTES = 64 * 1024
_DIGEST_BYTES = 20
_FORMAT = 2  # of marshal: without references, so that equal values have equal representations
# The rules of the kinds whose specs repeat.
CACHEABLE = {kind: rules for kind, rules in RULES.items() if isinstance(rules, CacheableKindRules)}
# Of each such kind: fields that rules judge together with the namespace, as marshal writes their names.
_NAMESPACE_FIELDS = {
    kind: tuple(rule.field.encode() for rule in rules.namespace_rules) for kind, rules in CACHEABLE.items()
}


class VerdictCache:
    """The latest specs that were accepted when an object was created, by their digests: they need not be judged again.

    Claims that are made from one template differ in nothing but their metadata.  A spec is judged by itself unless one of
    the kind's rules depends on the namespace as well (:class:`validation.kind_rules.NamespaceRule`).
    It is valid for one server with its release and gates.
    """

    def __init__(self) -> None:
        self._accepted: dict[bytes, None] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._accepted

    def add(self, key: bytes) -> None:
        """Remember a spec that the rules have accepted."""
        if len(self._accepted) >= MOST_SPECS:
            self._accepted.clear()
        self._accepted[key] = None

    def key(self, request: Request) -> bytes | None:
        """The same for equal specs of the same kind and version only.

        :returns: None if the spec is not judged by itself, or too large to be worth it.
        """
        body, fields = request.body, _NAMESPACE_FIELDS.get(request.kind)
        if request.verb != requests.CREATE or fields is None or type(body) is not dict or "spec" not in body:
            return None
        try:
            written = marshal.dumps((request.api_version, request.kind, body["spec"]), _FORMAT)
        except ValueError:  # numbers that are kept as they were written
            return None
        if len(written) > SPEC_BYTES:
            return None
        for field in fields:
            if field in written:
                return None
        return blake2b(written, digest_size=_DIGEST_BYTES).digest()


IGNORE = "Ignore"  # unknown fields are the API server's business: it has pruned or refused them before
_VERBS = {
    (CREATE, ""): requests.CREATE,
    (UPDATE, ""): requests.UPDATE,
    (UPDATE, "status"): requests.STATUS,
}


class AdmissionObject:
    """The DRA object of a review, for the API server's rules, policies, feasibility and quota.

    It is decoded when somebody needs it first, and nobody changes it.

    :param review: a review for which there is a ``request``.
    :param request: the request that the API server got.
    :param server: what decodes and judges as the API server does.
    """

    __slots__ = ("_decoded", "_has_new_spec", "_request", "_server", "kind", "review")

    def __init__(self, review: AdmissionRequest, request: Request, server: Server) -> None:
        self.review = review
        self.kind = KINDS[review.kind]
        self._request = request
        self._server = server
        self._decoded: DecodedRequest | None = None
        self._has_new_spec: bool | None = None

    @property
    def group(self) -> str:
        """The API group that has it."""
        return split_api_version(self.review.api_version)[0]

    @property
    def decoded(self) -> DecodedRequest:
        """The request with its objects in the shape of the hub.

        :raises BadRequest: if the API server would not read the object.
        :raises DecodingError: if the stored object is none that an API server can have stored.
        """
        if self._decoded is None:
            self._decoded = self._server.decode(self._request)
        return self._decoded

    def answer(self) -> Answer:
        """What the API server would answer to the request.

        :raises WebhookError: if the stored object is none that an API server can have stored.
        """
        return self._handle(self._request, lambda _: self.decoded)

    def verdict(self, cache: VerdictCache, *, others_read_spec: bool) -> Answer:
        """The answer without its object; a spec that the rules have accepted before is not judged again.

        :param others_read_spec: whether the spec has to be decoded all the same.
        :raises WebhookError: if the stored object is none that an API server can have stored.
        """
        key = cache.key(self._request)
        least = CACHEABLE[self.kind.name].least_spec if key in cache else None
        if least is None:
            answer = self.answer()
            if answer.accepted and key is not None:
                cache.add(key)
            return answer
        if others_read_spec:
            return self._handle(self._request, lambda _: self.decoded.with_spec(least))
        return self._handle(self._request.with_spec(least))

    @property
    def has_new_spec(self) -> bool:
        """Whether the request creates or changes a spec: not for updates of the status or of the metadata only.

        Objects that cannot be decoded have no spec: the API server refuses them, or its rules do.
        """
        if self._has_new_spec is None:
            self._has_new_spec = self._request.verb != requests.STATUS and self._changes_spec()
        return self._has_new_spec

    def _changes_spec(self) -> bool:
        try:
            decoded = self.decoded
        except (BadRequest, DecodingError):
            return False
        if decoded.old is None:
            return True
        old = with_defaults(self.kind.name, decoded.version, decoded.old, self._server.now())
        return bool(decoded.object.get("spec") != old.get("spec"))

    @property
    def hub(self) -> Object:
        """The object that was sent, with its defaults; for objects that can be decoded."""
        return self.decoded.object

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty for kinds without one."""
        return self.review.namespace

    @property
    def namespace_labels(self) -> Mapping[str, str]:
        """The labels of its namespace as far as they are known."""
        return self._server.namespace_labels(self.namespace)

    @property
    def claim_spec(self) -> tuple[Path, Object]:
        """The spec of a claim that the object is or holds, and where it is; an empty one for other kinds."""
        path = self.kind.claim_spec
        if path is None:
            return (), EMPTY
        return path, mapping(self.hub, *path)

    def new_claim(self) -> Object | None:
        """The claim that the request creates; None for any other request.

        :raises WebhookError: if it cannot be decoded.
        """
        if self.kind.name != "ResourceClaim" or self._request.verb != requests.CREATE:
            return None
        try:
            return {"metadata": {}, **self.hub}
        except (BadRequest, DecodingError) as error:
            raise WebhookError(f"request.object: {error}") from None

    def _handle(self, request: Request, decode: Decode | None = None) -> Answer:
        try:
            return self._server.handle(request, decode)
        except DecodingError as error:
            raise WebhookError(f"request.oldObject cannot be decoded: {error}") from None


def admission_object(review: AdmissionRequest, server: Server) -> AdmissionObject | None:
    """The object that a review is about; None unless the request writes a DRA object or its status."""
    group, version = split_api_version(review.api_version)
    verb = _VERBS.get((review.operation, review.subresource))
    kind = kind_in(group, review.kind)
    if kind is None or verb is None or version not in kind.versions:
        return None
    request = Request(
        verb=verb,
        api_version=review.api_version,
        kind=review.kind,
        namespace=review.namespace,
        body=without_empty_list_keys(review.kind, review.object),
        old=without_empty_list_keys(review.kind, review.old),
        name=review.name,
        field_validation=IGNORE,
        deleted="deletionTimestamp" in mapping(review.old, "metadata"),
        has_resource_version=False,  # it is in the object, or was not sent
    )
    return AdmissionObject(review, request, server)
