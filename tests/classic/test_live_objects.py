"""Reads and writes of a driver's controller at an API server."""

from __future__ import annotations

import asyncio

import pytest

from classic.live_objects import LiveObjects
from resourceapi.api_client import Unavailable
from resourceapi.errors import WriteConflict
from resourceapi.objects import Object
from tests.classic.scenes import claim, context, pod
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CLASSIC

PATH = f"{CLASSIC}/namespaces/default/resourceclaims/claim"


class Live:
    def __init__(self) -> None:
        self.api = FakeApi()
        self.stored = self.api.add(claim())
        self.objects = LiveObjects(self.api.client(), writers=1)
        self.objects.claims.put(self.stored)

    def write(self, claim: Object) -> Object:
        return asyncio.run(self.objects.update_claim(claim))

    def held(self) -> Object | None:
        return asyncio.run(self.objects.claim("default", "claim"))


@pytest.fixture
def live() -> Live:
    return Live()


def labelled(claim: Object, **labels: str) -> Object:
    return {**claim, "metadata": {**claim["metadata"], "labels": labels}}


def test_what_is_written_is_held_at_once(live: Live) -> None:
    written = live.write(labelled(live.stored, a="b"))
    assert live.held() == written == live.api.get(PATH)


def test_items_of_lists_have_no_kind_but_requests_do(live: Live) -> None:
    live.write({key: value for key, value in live.stored.items() if key not in ("kind", "apiVersion")})
    body = live.api.requests[-1].body
    assert live.api.requests[-1].query == {"fieldValidation": "Strict"}
    assert (body["apiVersion"], body["kind"]) == ("resource.k8s.io/v1alpha2", "ResourceClaim")


def test_status_of_a_context(live: Live) -> None:
    stored = live.api.add(context())
    status = {"resourceClaims": [{"name": "gpu"}]}
    written = asyncio.run(live.objects.update_context_status({**stored, "status": status}))
    assert written["status"] == status


def test_conflict(live: Live) -> None:
    live.api.change(PATH, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(WriteConflict):
        live.write(labelled(live.stored, c="d"))


def test_object_that_is_gone(live: Live) -> None:
    live.api.remove(PATH)
    with pytest.raises(WriteConflict):
        live.write(labelled(live.stored, c="d"))


def test_refusal(live: Live) -> None:
    live.api.fail(1, 422)
    with pytest.raises(Unavailable, match="422 injected"):
        live.write(live.stored)


def test_claim_that_goes_with_its_finalizer_is_not_held(live: Live) -> None:
    """The answer shows what was deleted; the event about that may have come before it."""
    live.api.change(PATH, {"metadata": {"finalizers": ["example.com/a"]}})
    live.api.request("DELETE", PATH)
    leaving = live.api.get(PATH)
    live.objects.claims.put(leaving)
    live.write({**leaving, "metadata": {**leaving["metadata"], "finalizers": []}})
    assert live.held() is None


def test_answer_about_an_object_that_has_gone_meanwhile_is_not_held(live: Live) -> None:
    live.objects.claims.remove(live.stored)
    live.write(labelled(live.stored, a="b"))
    assert live.held() is None


@pytest.mark.parametrize("there", [True, False])
def test_pod(live: Live, there: bool) -> None:
    expected = live.api.add(pod()) if there else None
    assert asyncio.run(live.objects.pod("default", "pod")) == expected
