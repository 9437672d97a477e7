"""Who somebody is that shows a bearer token, and what they may do: the cluster is asked, and nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cluster.live_objects import Resource
from resourceapi.api_client import Api, Unavailable, expect
from resourceapi.manifests import mapping, text
from resourceapi.objects import Object

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SERVICE_ACCOUNTS = "system:serviceaccount:"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Person(NamedTuple):
    """Somebody whom the cluster knows, as it describes them."""

    name: str
    uid: str
    groups: Sequence[str]
    extra: Mapping[str, Any]

    @property
    def turn(self) -> str:
        """With whose turns theirs come: with those of all service accounts of a namespace, as who may do so there makes as many as they like."""
        kind, _, account = self.name.rpartition(":")
        return kind if account and kind.startswith(SERVICE_ACCOUNTS) else self.name


def person_with(api: Api, token: str, audiences: Sequence[str] = ()) -> Person | None:
    """Who has a token; None if the cluster does not take it.

    :param audiences: the token has to be for one of these; none: for the API server itself.
    :raises Unavailable: if there is no answer.
    """
    spec: Object = {"token": token} | ({"audiences": list(audiences)} if audiences else {})
    status = _reviewed(api, TOKEN_REVIEWS, "authentication.k8s.io/v1", "TokenReview", spec)
    if status.get("authenticated") is not True:
        return None
    # an authenticator that knows nothing of audiences has not looked at them
    if audiences and set(audiences).isdisjoint(_texts(status, "audiences")):
        return None
    user = mapping(status, "user")
    name = text(user, "username")
    return Person(name, text(user, "uid"), _texts(user, "groups"), mapping(user, "extra")) if name else None


def may_list(api: Api, person: Person, resource: Resource, namespace: str = "") -> bool:
    """Whether somebody may list what there is of a resource.

    :param namespace: the only one that is asked about; empty: all.
    :raises Unavailable: if there is no answer.
    """
    group, _, version = resource.api_version.rpartition("/")
    attributes = {"verb": "list", "group": group, "version": version, "resource": resource.name}
    spec: Object = {
        "user": person.name,
        "uid": person.uid,
        "groups": list(person.groups),
        "extra": dict(person.extra),
        "resourceAttributes": attributes | ({"namespace": namespace} if namespace else {}),
    }
    status = _reviewed(api, ACCESS_REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
    return status.get("allowed") is True and status.get("denied") is not True


def _reviewed(api: Api, path: str, api_version: str, kind: str, spec: Object) -> Object:
    review = {"apiVersion": api_version, "kind": kind, "spec": spec}
    answer = expect(api.request("POST", path, review), f"POST {path}", 200, 201)
    found = mapping(answer, "status")
    if not isinstance(found, dict):
        raise Unavailable(f"POST {path}: the answer has no status")
    return found


def _texts(value: Object, key: str) -> list[str]:
    found = value.get(key)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
