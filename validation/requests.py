"""What is asked of the server and what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from resourceapi.decoding import StrictError
from resourceapi.field_errors import FieldError, Path
from resourceapi.kinds import KINDS
from resourceapi.manifests import namespace_of
from resourceapi.objects import Object

CREATE, UPDATE, STATUS = "create", "update", "status"
STRICT, WARN = "Strict", "Warn"


class Request(NamedTuple):
    """One request for one object.

    :ivar api_version: that of the URL, as are ``kind`` and ``namespace`` (empty for cluster-scoped kinds).
    :ivar body: the decoded body, unless there is ``raw``.
    :ivar raw: the body as JSON.
    :ivar old: the object as stored, for ``update`` and ``status``.
    :ivar field_validation: ``Strict`` refuses unknown and duplicate fields, ``Warn`` prunes and warns.
    :ivar deleted: whether the stored object waits for its finalizers (it has a deletionTimestamp).
    :ivar is_patch: whether ``body`` is what a patch has made of the stored object; another uid is no precondition then.
    :ivar has_resource_version: whether the body carries the stored object's resourceVersion.
    """

    api_version: str
    kind: str
    namespace: str = ""
    verb: str = CREATE
    body: Any = None
    raw: str | bytes | None = None
    old: dict[str, Any] | None = None
    field_validation: str = STRICT
    name: str = ""
    deleted: bool = False
    has_resource_version: bool = True
    is_patch: bool = False

    def with_spec(self, spec: Object) -> Request:
        """The request as if another spec had been sent in its ``body``."""
        return self._replace(body={**self.body, "spec": spec})


# Set by the server; a request to create an object has none of them.
_SERVER_FIELDS = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")


def create_request(manifest: Object, default_namespace: str) -> Request:
    """The request to create an object, also one that was read from a cluster.

    :param manifest: an object with ``apiVersion`` and ``kind``.
    """
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        kept = {key: value for key, value in metadata.items() if key not in _SERVER_FIELDS}
        manifest = {**manifest, "metadata": kept}
    kind = KINDS.get(manifest["kind"])
    return Request(
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        namespace=namespace_of(manifest, default_namespace) if kind is None or kind.namespaced else "",
        body=manifest,
    )


class DecodedRequest(NamedTuple):
    """A request with its objects decoded: once, for all who look at them, and nobody changes them.

    ``object`` is what was sent with defaults filled in, ``old`` the stored object (None on create), both in the shape of
    the hub and in normal form.  ``version`` is that of the URL.  ``problems`` are unknown and repeated fields of the body.
    """

    request: Request
    version: str
    object: Object
    old: Object | None
    problems: list[StrictError]

    def with_spec(self, spec: Object) -> DecodedRequest:
        """The request as if another spec had been sent."""
        return self._replace(object={**self.object, "spec": spec})


Decode = Callable[[Request], DecodedRequest]


class Answer:
    """What the server answers: the object as it would return it, or a ``Status`` with causes.

    ``errors`` are the causes in the server's order; their paths are the server's (in v1beta1 some are internal ones;
    :mod:`conversion.hub` translates).  ``decoding`` are the unknown and duplicate fields of the body, ``path`` is
    the field that a refusal without causes is about.  ``details`` is None where the server has none.  The object is
    made when it is asked for.
    """

    __slots__ = (
        "_build",
        "_object",
        "code",
        "decoding",
        "details",
        "errors",
        "message",
        "path",
        "reason",
        "warnings",
    )

    def __init__(
        self,
        code: int,
        *,
        reason: str = "",
        message: str = "",
        errors: list[FieldError] | None = None,
        decoding: list[StrictError] | None = None,
        path: Path = (),
        details: Mapping[str, Any] | None = None,
        build: Callable[[], dict[str, Any]] | None = None,
        warnings: list[str] | None = None,
    ) -> None:
        self.code = code
        self.reason = reason
        self.message = message
        self.errors = errors or []
        self.decoding = decoding or []
        self.details = None if details is None else dict(details)
        self.path = path
        self._build = build
        self._object: dict[str, Any] | None = None
        self.warnings = warnings or []

    @property
    def object(self) -> dict[str, Any] | None:
        """The object as the server returns it, or None after a refusal."""
        if self._object is None and self._build is not None:
            self._object = self._build()
        return self._object

    @property
    def accepted(self) -> bool:
        """Whether the server does what it was asked to."""
        return self.code < 400

    def status(self) -> dict[str, Any]:
        """The answer as a ``v1.Status`` (for a refusal); like the server it leaves out what there is not."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success" if self.accepted else "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = dict(self.details)
        status["code"] = self.code
        return status


TOTAL_CHARACTERS = 4096
EACH_CHARACTERS = 256  # once the total is exceeded
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def in_headers(texts: list[str]) -> list[str]:
    """The warnings that the server sends, in order: each once, none with control characters.

    Once they would exceed 4,096 characters together, each is cut to 256 and the rest is left out.
    """
    texts = [text for text in dict.fromkeys(texts) if text and not _CONTROL_CHARACTER.search(text)]
    if sum(map(len, texts)) <= TOTAL_CHARACTERS:
        return texts
    sent: list[str] = []
    whole = written = 0
    for text in texts:
        # What came until the limit was exceeded is sent, cut, whatever it comes to; then the cut texts count.
        if whole > TOTAL_CHARACTERS and written >= TOTAL_CHARACTERS:
            break
        whole += len(text)
        sent.append(text[:EACH_CHARACTERS])
        written += len(sent[-1])
    return sent


# Names of what can be wrong with an object besides the causes, which keep the server's own reasons. They are stable: reports carry
# them, and people filter by them.
MALFORMED = "MalformedDocument"  # no YAML or JSON that kubectl can read
UNKNOWN_FIELD = "UnknownField"
DUPLICATE_FIELD = "DuplicateField"
WRONG_TYPE = "WrongType"
NOT_SERVED = "NotServed"  # the release does not serve the version or kind
REFUSED = "Refused"  # any other answer without causes
SERVER_WARNING = "ServerWarning"
NAMESPACE_MISMATCH = "NamespaceMismatch"  # the object names another namespace than the command
NAMESPACE_NOT_FOUND = "NamespaceNotFound"  # the live cluster has no such namespace
FIELD_CONFLICT = "FieldManagerConflict"  # server-side apply of fields that others manage
PATCH_REFUSED = "PatchRefused"  # a patch that does not fit the object
OBJECT_NOT_FOUND = "ObjectNotFound"  # there is nothing to patch
GENERATED_NAME = "GeneratedName"  # `kubectl apply` takes no generateName
UPDATE_REFUSED = "UpdateRefused"  # a stored object that would be accepted as a new one cannot be updated
SKIPPED_FILE = "SkippedFile"  # a file that looks like a manifest is not read
