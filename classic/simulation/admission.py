"""The objects of a scenario as kube-apiserver 1.30 would store them."""

from __future__ import annotations

from functools import cache

from cluster.objects import read_node
from resourceapi.decoding import DecodingError
from resourceapi.errors import ClaimcheckError
from resourceapi.manifests import mapping, name_of, text
from resourceapi.model.versions import CLASSIC_API_VERSION
from resourceapi.objects import Object
from resourceapi.releases import CLASSIC, Profile
from validation.requests import STATUS, create_request
from validation.server import Server

NODE, POD, CLASS, CLAIM, TEMPLATE = "Node", "Pod", "ResourceClass", "ResourceClaim", "ResourceClaimTemplate"
_KINDS = {"v1": (NODE, POD), CLASSIC_API_VERSION: (CLASS, CLAIM, TEMPLATE)}
_CLUSTER_WIDE = (NODE, CLASS)


class NotAdmitted(ClaimcheckError):
    """An object that the API server would not store."""


def is_stored(obj: Object) -> bool:
    """Whether an object takes part in a negotiation; others may hold parameters."""
    return text(obj, "kind") in _KINDS.get(text(obj, "apiVersion"), ())


def admitted(obj: Object, namespace: str) -> Object:
    """An object with defaults, in its namespace.

    :param namespace: of an object that does not name one.
    :raises NotAdmitted: with the API server's answer, if it does not store it.
    """
    kind = text(obj, "kind")
    if not is_stored(obj):
        return _placed(obj, namespace)
    if kind == NODE:
        node = read_node(obj)
        if node is None:
            raise NotAdmitted("a Node has no name")
        return {"apiVersion": "v1", "kind": kind, **node}
    try:
        stored = _created(obj, namespace)
        if kind == CLAIM and mapping(obj, "status"):
            stored = with_claim_status(stored, mapping(obj, "status"))
    except DecodingError as error:
        raise NotAdmitted(f"{kind} {name_of(obj)}: {error.text}") from None
    return stored if kind in _CLUSTER_WIDE else _placed(stored, namespace)


def _created(obj: Object, namespace: str) -> Object:
    answer = _server().handle(create_request(obj, namespace))
    if not answer.accepted or answer.object is None:
        raise NotAdmitted(answer.message)
    return {**answer.object, "apiVersion": obj["apiVersion"], "kind": obj["kind"]}


def with_claim_status(stored: Object, status: Object) -> Object:
    """A claim with a status that somebody has written.

    :raises NotAdmitted: with the API server's answer, if it refuses the status.
    """
    request = create_request(stored, "")._replace(verb=STATUS, old=stored, body={**stored, "status": status})
    answer = _server().handle(request)
    if not answer.accepted or answer.object is None:
        raise NotAdmitted(answer.message)
    return {**stored, "status": mapping(answer.object, "status")}


@cache
def _server() -> Server:
    return Server(Profile(CLASSIC))


def _placed(obj: Object, namespace: str) -> Object:
    metadata = mapping(obj, "metadata")
    return {**obj, "metadata": {**metadata, "namespace": text(metadata, "namespace") or namespace}}
