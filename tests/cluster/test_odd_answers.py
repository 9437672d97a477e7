"""Servers that answer with something else than an API server would: each answer is a failure, and ends nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from urllib3 import PoolManager

from claimcheck.answers.cluster_state import ClusterState
from cluster.access import Access
from cluster.client import Client
from cluster.live_objects import SCHEDULING, LiveObject, UnreadList, live_object, live_objects
from resourceapi.api_client import MOST_SHORT_PAGES, Listing, Unavailable, get_object
from resourceapi.measured import NEWEST
from resourceapi.model.versions import GROUP
from resourceapi.releases import Profile

PROFILE = Profile(f"1.{NEWEST}")
DISCOVERY: dict[str, Any] = {
    f"/apis/{GROUP}": {"versions": [{"version": "v1"}]},
    f"/apis/{GROUP}/v1": {"resources": [{"name": "resourceclaims"}, {"name": "resourceslices"}]},
}
KEYS = ("items", "metadata", "name", "namespace", "versions", "version", "resources", "spec", "kind")
ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just("v1"),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(KEYS), parts, max_size=3),
    max_leaves=8,
)


class Odd:
    """Answers every request with the same, but for what is given by path."""

    def __init__(self, answer: Any, known: Mapping[str, Any] | None = None) -> None:
        self.answer = answer
        self.known = known or {}

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        return 200, self.known.get(path, self.answer)


def listed(api: Odd) -> list[LiveObject | UnreadList]:
    """All that scheduling depends on, as commands read it."""
    found = list(live_objects(api, "test", PROFILE, kinds=SCHEDULING))
    objects = ClusterState(PROFILE, "default")
    objects.learn((each for each in found if isinstance(each, LiveObject)), live=True)
    return found


@pytest.mark.parametrize("item", [None, 5, "s", [], {}, {"metadata": "x"}, {"metadata": {"name": 5}}])
def test_items_that_are_no_objects(item: Any) -> None:
    """The whole list is a failure."""
    [first, *_] = listed(Odd({"items": [item]}, DISCOVERY))
    assert isinstance(first, UnreadList)
    assert "the answer is not a list of objects" in first.error.reason


@pytest.mark.parametrize(
    "answer", [None, [], {"versions": "v1"}, {"versions": [5]}, {"versions": [{"version": {}}]}]
)
def test_discovery_that_says_nothing(answer: Any) -> None:
    """It is not taken for a cluster that serves nothing."""
    with pytest.raises(Unavailable, match=f"GET /apis/{GROUP}: the answer"):
        listed(Odd(answer))


@given(ODD, st.sampled_from([{}, DISCOVERY]))
@settings(max_examples=200, deadline=None)
def test_any_answer(answer: Any, known: Mapping[str, Any]) -> None:
    """Whatever it is, there are objects or a failure."""
    for answers in (answer, {"items": [answer]}, {"items": [{"metadata": {"name": "a"}, "spec": answer}]}):
        api = Odd(answers, known)
        try:
            listed(api)
            live_object(api, "test", PROFILE, kind="ResourceClaim", namespace="n", name="a")
        except Unavailable:
            pass


@pytest.mark.parametrize(
    "found",
    [
        {"kind": "APIResourceList", "resources": []},
        {"metadata": {"name": "other"}},
        {"kind": "Other", "metadata": {"name": "a"}},
    ],
)
def test_another_object_than_was_asked_for(found: Any) -> None:
    """It is none."""
    with pytest.raises(Unavailable, match="the answer is not the Pod that was asked for"):
        get_object(Odd(found), "/x", "Pod", "a")


@pytest.mark.parametrize("items", [[], [{"metadata": {"name": "a"}}]])
def test_lists_that_do_not_end(items: list[Any]) -> None:
    """A page without objects, and one that leads to itself, are not followed for ever."""
    with pytest.raises(Unavailable, match="the list does not end"):
        list(Listing(Odd({"items": items, "metadata": {"continue": "more"}}), "/x"))


class Drops:
    """Serves endless pages of so many objects."""

    def __init__(self, size: int) -> None:
        self.size, self.pages = size, 0

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        self.pages += 1
        items = [{"metadata": {"name": f"{self.pages}-{number}"}} for number in range(self.size)]
        return 200, {"items": items, "metadata": {"continue": f"{self.pages}"}}


def test_pages_with_fewer_objects_than_were_asked_for() -> None:
    """A hundred are followed; kube-apiserver sends full ones as long as there are more."""
    api = Drops(1)
    with pytest.raises(Unavailable, match="GET /x: the list does not end"):
        list(Listing(api, "/x"))
    assert api.pages == MOST_SHORT_PAGES + 1


@pytest.mark.parametrize("path", ["/api/v1/namespaces/../pods", "/api/v1/namespaces/.", "/.."])
def test_dots_are_not_sent(path: str) -> None:
    """A path that the library would fold into another one is refused before a connection is opened."""
    client = Client(Access("http://127.0.0.1:9", PoolManager(), list))
    with pytest.raises(Unavailable, match=r"no name is \. or \.\."):
        client.request("GET", path)
