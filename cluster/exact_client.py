"""A client for objects of which JSON requests change too much.

An API server compares what must not change byte by byte, also where an object has JSON inside: parameters of drivers in
ResourceClaims. A client that sends those with spaces, or with ``<``, ``>`` and ``&`` as they are, makes an object that no JSON
request can change: what it does not mention comes out encoded anew, and counts as changed. Kubernetes' own components do not
notice, as they send protocol buffers; so this client changes such an object in that format, and only in the fields that are
to be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from cluster.client import JSON, Client
from resourceapi import deep_json
from resourceapi.api_client import CONFLICT, INVALID, NOT_FOUND, OK, Unavailable
from resourceapi.json_values import JSONError
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object

# Messages of protocol buffers, taken apart and put together without knowing more of them than the numbers
# of a few fields.
# Source: Protocol Buffers documentation, "Encoding".

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10


class WireError(ValueError):
    """Bytes are no message."""


class Field(NamedTuple):
    """A field of a message.

    :param value: the bytes of a text, a message or bytes; empty for numbers.
    :param encoded: all of it as it was, key and length included.
    """

    number: int
    value: bytes
    encoded: bytes


def fields(message: bytes) -> Iterator[Field]:
    """The fields of a message in order.

    :raises WireError: if it is none.
    """
    start = 0
    while start < len(message):
        key, place = _varint(message, start)
        number, kind = key >> 3, key & 7
        value = b""
        if kind == VARINT:
            _, end = _varint(message, place)
        elif kind == BYTES:
            size, place = _varint(message, place)
            end = place + size
            value = message[place:end]
        elif kind in (FIXED64, FIXED32):
            end = place + (8 if kind == FIXED64 else 4)
        else:
            raise WireError(f"there is no wire type {kind}")
        if end > len(message):
            raise WireError("the message ends too early")
        yield Field(number, value, message[start:end])
        start = end


def field(number: int, value: bytes | str) -> bytes:
    """A field with a text, a message or bytes."""
    content = value.encode() if isinstance(value, str) else value
    return _as_varint(number << 3 | BYTES) + _as_varint(len(content)) + content


def replaced(message: bytes, number: int, values: Iterable[bytes | str]) -> bytes:
    """A message with these values of one field in place of those that it has; all else stays as it is."""
    others = [each.encoded for each in fields(message) if each.number != number]
    return b"".join(others) + b"".join(field(number, value) for value in values)


def values_of(message: bytes, number: int) -> list[bytes]:
    """All values of a field."""
    return [each.value for each in fields(message) if each.number == number]


def _varint(data: bytes, start: int) -> tuple[int, int]:
    """A number, and where it ends."""
    result = 0
    for count, byte in enumerate(data[start : start + _MOST_VARINT_BYTES]):
        result |= (byte & 0x7F) << 7 * count
        if not byte & 0x80:
            return result, start + count + 1
    raise WireError("a number does not end")


def _as_varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


PROTOBUF = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
#: The fields that are compared in this way.
COMPARED = frozenset({"spec", "status.allocation"})
# Numbers of fields. Sources: generated.proto of k8s.io/apimachinery (runtime, meta/v1) and of k8s.io/api/resource/v1.
RAW = 2  # of Unknown, which every object comes in
METADATA, STATUS = 1, 3
UID, RESOURCE_VERSION, ANNOTATIONS, FINALIZERS = 5, 6, 12, 14
RESERVED_FOR = 2
REFERENCE = {"apiGroup": 1, "resource": 3, "name": 4, "uid": 5}

Edit = Callable[[bytes], bytes]


class ExactClient:
    """Implements :class:`resourceapi.api_client.Api`; for any number of threads."""

    def __init__(self, client: Client) -> None:
        """Make it ready.

        :param client: sends the requests.
        """
        self._client = client

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Send a request and return its HTTP status and JSON body.

        A patch that is refused for a change that it does not make is carried out in another way, if it is about finalizers,
        annotations or ``status.reservedFor`` of a claim, and names a resourceVersion.

        :raises Unavailable: as :meth:`cluster.client.Client.request`.
        """
        answer = self._client.request(verb, path, body, query)
        if verb != "PATCH" or query or not _is_about_bytes(answer) or not isinstance(body, dict):
            return answer
        edit = _edit_of(body)
        if edit is None:
            return answer
        return self._changed(path, mapping(body, "metadata"), edit) or answer

    def _changed(self, path: str, expected: Object, edit: Edit) -> tuple[int, Any] | None:
        """Change an object; None if it cannot be had in the format."""
        code, found = self._client.exchange("GET", path, None, media_type=PROTOBUF, accept=PROTOBUF)
        if code == NOT_FOUND:
            return NOT_FOUND, {"message": "the object has been deleted"}
        if code != OK:
            return None
        try:
            if not _is_current(found, expected):
                return CONFLICT, {"message": "the object has been modified"}
            changed = _edited(found, edit)
        except WireError as error:
            raise Unavailable(f"GET {path}: the answer cannot be read: {error}") from None
        code, answer = self._client.exchange("PUT", path, changed, media_type=PROTOBUF, accept=JSON)
        try:
            return code, deep_json.loads(answer)
        except JSONError as error:
            raise Unavailable(f"PUT {path}: {error}", reason=str(error)) from None


def _is_about_bytes(answer: tuple[int, Any]) -> bool:
    """Whether a patch is refused because of fields that it does not mention."""
    code, status = answer
    causes = entries(mapping(status, "details"), "causes")
    return code == INVALID and bool(causes) and all(text(each, "field") in COMPARED for each in causes)


def _is_current(obj: bytes, expected: Object) -> bool:
    metadata = b"".join(values_of(_raw(obj), METADATA))
    return all(
        values_of(metadata, number) == [text(expected, name).encode()]
        for name, number in (("uid", UID), ("resourceVersion", RESOURCE_VERSION))
        if name in expected
    )


def _edited(obj: bytes, edit: Edit) -> bytes:
    return MAGIC + _within(obj.removeprefix(MAGIC), RAW, edit)


def _raw(obj: bytes) -> bytes:
    if not obj.startswith(MAGIC):
        raise WireError("it does not begin as objects do")
    return b"".join(values_of(obj.removeprefix(MAGIC), RAW))


def _edit_of(patch: Object) -> Edit | None:
    """What changes an object as a merge patch does; None for a patch of other fields."""
    metadata, status = mapping(patch, "metadata"), mapping(patch, "status")
    known = {"uid", "resourceVersion", "finalizers", "annotations"}
    if "resourceVersion" not in metadata or metadata.keys() - known or patch.keys() - {"metadata", "status"}:
        return None
    if status.keys() - {"reservedFor"}:
        return None

    def edit(obj: bytes) -> bytes:
        obj = _within(obj, METADATA, lambda message: _with_metadata(message, metadata))
        if "reservedFor" in status:
            references = [_reference(each) for each in status["reservedFor"] or ()]
            obj = _within(obj, STATUS, lambda message: replaced(message, RESERVED_FOR, references))
        return obj

    return edit


def _within(obj: bytes, number: int, edit: Edit) -> bytes:
    """An object with one of its messages changed; it stays where it is."""
    found = values_of(obj, number)
    if not found:
        return obj + field(number, edit(b""))
    return b"".join(
        field(number, edit(each.value)) if each.number == number else each.encoded for each in fields(obj)
    )


def _with_metadata(message: bytes, changes: Object) -> bytes:
    """Metadata with other finalizers, and with annotations more or less."""
    if "finalizers" in changes:
        message = replaced(message, FINALIZERS, changes["finalizers"] or ())
    for name, value in mapping(changes, "annotations").items():
        others = [each for each in values_of(message, ANNOTATIONS) if values_of(each, 1) != [name.encode()]]
        added = [] if value is None else [field(1, name) + field(2, value)]
        message = replaced(message, ANNOTATIONS, [*others, *added])
    return message


def _reference(consumer: Object) -> bytes:
    """A ResourceClaimConsumerReference."""
    return b"".join(field(number, text(consumer, name)) for name, number in REFERENCE.items())
