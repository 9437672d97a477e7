"""Who has a token, and what they may list: the words of the cluster, and no guesses about what it does not say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cluster.live_objects import Resource
from cluster.people import ACCESS_REVIEWS, TOKEN_REVIEWS, Person, may_list, person_with
from resourceapi.api_client import Unavailable

ANN = {"username": "ann", "uid": "1", "groups": ["team"], "extra": {"scopes": ["a"]}}
CLAIMS, PODS = (
    Resource("resource.k8s.io/v1", "ResourceClaim", "resourceclaims"),
    Resource("v1", "Pod", "pods"),
)


class Reviews:
    """An API server that answers each review with this status."""

    def __init__(self, status: Any, code: int = 201) -> None:
        self.status = status
        self.code = code
        self.asked: list[tuple[str, Any]] = []

    def request(
        self, verb: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        assert verb == "POST"
        self.asked.append((path, body["spec"]))
        return self.code, {"status": self.status}


@pytest.mark.parametrize(
    ("status", "audiences", "is_known"),
    [
        ({"authenticated": True, "user": ANN}, (), True),
        ({"authenticated": True, "user": ANN, "audiences": ["page", "b"]}, ("page",), True),
        ({"authenticated": True, "user": ANN, "audiences": ["b"]}, ("page",), False),
        ({"authenticated": True, "user": ANN}, ("page",), False),  # nobody has looked at audiences
        ({"authenticated": False, "user": ANN}, (), False),
        ({"authenticated": "true", "user": ANN}, (), False),
        ({"authenticated": True, "user": {}}, (), False),
        ({"authenticated": True, "user": ANN, "audiences": "page"}, ("page",), False),
        ({}, (), False),
        (None, (), False),
    ],
)
def test_who_has_a_token(status: Any, audiences: tuple[str, ...], is_known: bool) -> None:
    """Nobody whom the cluster does not name, or not for the audience that was asked for."""
    reviews = Reviews(status)
    person = person_with(reviews, "secret", audiences)
    assert (person is not None) == is_known
    assert reviews.asked == [
        (TOKEN_REVIEWS, {"token": "secret"} | ({"audiences": list(audiences)} if audiences else {}))
    ]


@pytest.mark.parametrize(
    ("status", "may"),
    [
        ({"allowed": True}, True),
        ({"allowed": True, "denied": True}, False),
        ({"allowed": "true"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_what_somebody_may_do(status: Any, may: bool) -> None:
    """Only what the cluster says is allowed; it is told all that it has said of the person."""
    person = person_with(Reviews({"authenticated": True, "user": ANN}), "secret")
    assert person == Person("ann", "1", ["team"], {"scopes": ["a"]})
    reviews = Reviews(status)
    assert may_list(reviews, person, CLAIMS, "team") is may
    assert may_list(reviews, person, PODS) is may
    who = {"user": "ann", "uid": "1", "groups": ["team"], "extra": {"scopes": ["a"]}}
    claims = {"verb": "list", "group": "resource.k8s.io", "version": "v1", "resource": "resourceclaims"}
    pods = {"verb": "list", "group": "", "version": "v1", "resource": "pods"}
    assert reviews.asked == [
        (ACCESS_REVIEWS, {**who, "resourceAttributes": {**claims, "namespace": "team"}}),
        (ACCESS_REVIEWS, {**who, "resourceAttributes": pods}),
    ]


@pytest.mark.parametrize("code", [200, 403, 500])
def test_no_answer(code: int) -> None:
    """A cluster that refuses to say it has not said no."""
    reviews = Reviews({"authenticated": True, "user": ANN}, code)
    if code == 200:
        assert person_with(reviews, "secret")
        return
    with pytest.raises(Unavailable):
        person_with(reviews, "secret")
    with pytest.raises(Unavailable):
        may_list(reviews, Person("ann", "", (), {}), PODS)


@pytest.mark.parametrize(
    ("name", "turn"),
    [
        ("ann", "ann"),
        ("system:serviceaccount:team:bot-1", "system:serviceaccount:team"),
        ("system:serviceaccount:team:bot-2", "system:serviceaccount:team"),
        ("system:serviceaccount:team", "system:serviceaccount:team"),
        ("oidc:ann", "oidc:ann"),
        ("", ""),
    ],
)
def test_service_accounts_of_a_namespace_take_turns_together(name: str, turn: str) -> None:
    assert Person(name, "", (), {}).turn == turn
