"""What people see who sign in: all of it if they may list all of what it is made of, and else nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from claimcheck.answers.cluster_state import ClusterState
from cluster.live_objects import Resource
from commandline.page.cluster_pages import ClusterPages
from commandline.page.rights import Welcome
from resourceapi.releases import Profile

RESOURCES = [
    Resource("v1", "Pod", "pods"),
    Resource("v1", "Node", "nodes"),
    Resource("resource.k8s.io/v1", "ResourceClaim", "resourceclaims"),
    Resource("resource.k8s.io/v1", "ResourceSlice", "resourceslices"),
]
ALL = frozenset(each.name for each in RESOURCES)


class Cluster:
    """Knows one person, and in which namespaces of which resources they may list what there is; no namespace is all of them."""

    def __init__(self, allowed: Collection[str]) -> None:
        self.allowed = allowed

    def request(
        self, verb: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        assert verb == "POST"
        if body["kind"] == "TokenReview":
            known = body["spec"]["token"] == "mine"
            return 201, {"status": {"authenticated": known, "user": {"username": "ann"}}}
        asked = body["spec"]["resourceAttributes"]
        key = "/".join(filter(None, (asked.get("namespace"), asked["resource"])))
        return 201, {"status": {"allowed": key in self.allowed}}


def welcome(cluster: Cluster) -> Welcome:
    state = ClusterState(Profile(), "default")
    pages = ClusterPages("cluster", lambda: (state, []), is_live=True, seconds=60)
    return Welcome(cluster, (), RESOURCES, pages)


def test_who_may_list_all_sees_all() -> None:
    visitor = welcome(Cluster(ALL))("mine")
    assert visitor is not None
    assert visitor.name == "ann"
    assert "/api/v1/doctor" in visitor.answers
    assert visitor.version is not None


@pytest.mark.parametrize("missing", sorted(ALL))
def test_who_may_not_list_one_of_them_sees_nothing(missing: str) -> None:
    """Neither answers, nor that something has changed."""
    visitor = welcome(Cluster(ALL - {missing} | {f"team/{missing}"}))("mine")
    assert visitor is not None
    assert not visitor.answers
    assert visitor.version is None


def test_nobody_is_nobody() -> None:
    assert welcome(Cluster(ALL))("of somebody else") is None
