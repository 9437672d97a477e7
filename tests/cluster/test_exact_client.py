"""Objects in protocol buffers are changed in the fields that a patch is about, and in no other byte."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from cluster.client import Client
from cluster.exact_client import MAGIC, PROTOBUF, ExactClient, WireError, field, fields, values_of
from resourceapi.api_client import Unavailable

PATH = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c"
# A number, a fixed64, a fixed32 and a long text, none of which is of interest.
OTHERS = b"\x08\x96\x01" + b"\x11\1\2\3\4\5\6\7\x08" + b"\x1d\1\2\3\4" + field(400, "x" * 300)
REFUSED = {"message": "no", "details": {"causes": [{"field": "spec", "reason": "FieldValueInvalid"}]}}
PRECONDITION = {"uid": "u", "resourceVersion": "7"}


def claim(*finalizers: str, reserved: bytes = b"", annotations: bytes = b"") -> bytes:
    """A claim as the API server sends it."""
    metadata = field(5, "u") + field(6, "7") + annotations + OTHERS
    metadata += b"".join(field(14, each) for each in finalizers)
    obj = field(1, metadata) + field(2, OTHERS)
    if reserved:
        obj += field(3, field(1, OTHERS) + reserved)
    return MAGIC + field(1, b"type") + field(2, obj) + field(4, "")


class Server:
    """A client that refuses JSON patches for a change that they do not make."""

    def __init__(self, stored: bytes, refusal: tuple[int, Any] = (422, REFUSED)) -> None:
        self.stored = stored
        self.refusal = refusal
        self.sent: bytes | None = None
        self.code = 200

    def request(self, verb: str, path: str, body: object = None, query: object = None) -> tuple[int, Any]:
        assert path == PATH
        assert verb == "PATCH"
        return self.refusal

    def exchange(
        self, verb: str, path: str, content: bytes | None, *, media_type: str, accept: str
    ) -> tuple[int, bytes]:
        assert (path, media_type) == (PATH, PROTOBUF)
        if verb == "GET":
            return self.code, self.stored
        assert (verb, accept) == ("PUT", "application/json")
        self.sent = content
        return 200, json.dumps({"done": True}).encode()

    def patch(self, body: Any) -> tuple[int, Any]:
        return ExactClient(cast(Client, self)).request("PATCH", PATH, body)


def annotation(name: str, value: str) -> bytes:
    return field(12, field(1, name) + field(2, value))


def reference(**members: str) -> bytes:
    numbers = {"apiGroup": 1, "resource": 3, "name": 4, "uid": 5}
    return field(2, b"".join(field(number, members.get(name, "")) for name, number in numbers.items()))


def test_finalizers_are_replaced() -> None:
    """Nothing else changes."""
    server = Server(claim("a", "b"))
    assert server.patch({"metadata": {**PRECONDITION, "finalizers": ["b", "c"]}}) == (200, {"done": True})
    assert server.sent == claim("b", "c")
    assert server.patch({"metadata": {**PRECONDITION, "finalizers": None}})[0] == 200
    assert server.sent == claim()


def test_annotations_are_merged() -> None:
    """Those that are not mentioned stay; null removes one."""
    server = Server(
        claim(annotations=annotation("keep", "1") + annotation("old", "2") + annotation("gone", "3"))
    )
    server.patch({"metadata": {**PRECONDITION, "annotations": {"old": "4", "gone": None, "new": "5"}}})
    assert server.sent is not None
    (obj,) = values_of(server.sent.removeprefix(MAGIC), 2)
    (metadata,) = values_of(obj, 1)
    assert values_of(metadata, 12) == [
        field(1, name) + field(2, value) for name, value in (("keep", "1"), ("old", "4"), ("new", "5"))
    ]


def test_reservations_are_replaced() -> None:
    """With a status and without."""
    user = {"resource": "pods", "name": "p", "uid": "1"}
    written = reference(resource="pods", name="p", uid="1")
    server = Server(claim(reserved=reference(resource="pods", name="o", uid="0")))
    server.patch({"metadata": PRECONDITION, "status": {"reservedFor": [user]}})
    assert server.sent == claim(reserved=written)
    server = Server(claim())
    server.patch({"metadata": PRECONDITION, "status": {"reservedFor": [user]}})
    (before,) = values_of(claim().removeprefix(MAGIC), 2)
    assert server.sent is not None
    assert values_of(server.sent.removeprefix(MAGIC), 2) == [before + field(3, written)]


@pytest.mark.parametrize("metadata", [{**PRECONDITION, "resourceVersion": "6"}, {**PRECONDITION, "uid": "v"}])
def test_a_changed_object_is_a_conflict(metadata: dict[str, Any]) -> None:
    """As it is for a patch."""
    server = Server(claim("a"))
    assert server.patch({"metadata": {**metadata, "finalizers": None}})[0] == 409
    assert server.sent is None


@pytest.mark.parametrize(
    ("refusal", "body"),
    [
        ((200, {"fine": 1}), {"metadata": {**PRECONDITION, "finalizers": []}}),
        ((409, {}), {"metadata": {**PRECONDITION, "finalizers": []}}),
        (
            (422, {"details": {"causes": [{"field": "metadata.finalizers"}]}}),
            {"metadata": {**PRECONDITION, "finalizers": []}},
        ),
        ((422, {}), {"metadata": {**PRECONDITION, "finalizers": []}}),
        ((422, REFUSED), {"metadata": {**PRECONDITION, "labels": {}}}),
        ((422, REFUSED), {"metadata": {"finalizers": []}}),
        ((422, REFUSED), {"metadata": PRECONDITION, "spec": {}}),
        ((422, REFUSED), {"metadata": PRECONDITION, "status": {"allocation": None}}),
    ],
)
def test_other_answers_and_patches_are_left_alone(refusal: tuple[int, Any], body: Any) -> None:
    """Only a refusal for what the patch does not do is answered by another request."""
    server = Server(claim(), refusal)
    assert server.patch(body) == refusal
    assert server.sent is None


def test_an_object_that_is_gone() -> None:
    """As if the patch had not found it."""
    server = Server(claim())
    server.code = 404
    assert server.patch({"metadata": {**PRECONDITION, "finalizers": []}})[0] == 404


def test_a_server_without_the_format() -> None:
    """The refusal stands: what CRDs define is not sent as protocol buffers."""
    server = Server(claim())
    server.code = 406
    assert server.patch({"metadata": {**PRECONDITION, "finalizers": []}}) == (422, REFUSED)


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"k8s",
        b"{}",
        MAGIC + b"\x12\x05ab",
        MAGIC + b"\x80" * 20,
        MAGIC + b"\x13",
        MAGIC + field(2, field(1, field(5, "u") + field(6, "7")) + b"\x12\xff"),
        MAGIC + b"\x11\x01",
    ],
)
def test_an_answer_that_cannot_be_read(stored: bytes) -> None:
    """It is an error of the server; nothing is sent."""
    server = Server(stored)
    with pytest.raises(Unavailable, match="cannot be read"):
        server.patch({"metadata": {**PRECONDITION, "finalizers": []}})
    assert server.sent is None


def test_an_object_without_metadata() -> None:
    """It is not the one that the patch is about."""
    server = Server(MAGIC + field(2, b""))
    assert server.patch({"metadata": {**PRECONDITION, "finalizers": []}})[0] == 409


def test_fields_of_a_message() -> None:
    """All that there is, as it was."""
    assert b"".join(each.encoded for each in fields(OTHERS)) == OTHERS
    assert [each.number for each in fields(OTHERS)] == [1, 2, 3, 400]
    with pytest.raises(WireError):
        list(fields(OTHERS[:-1]))
