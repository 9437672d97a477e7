"""Reads and writes of a driver's controller at an API server."""

from __future__ import annotations

import asyncio
import json

import pytest

from classic.claims import is_controlled_by
from classic.live_objects import LiveObjects
from classic.writes import ClaimWrites
from resourceapi.api_client import Unavailable
from resourceapi.errors import WriteConflict
from resourceapi.objects import Object
from tests.classic.scenes import DRIVER, FINALIZER, claim, context, pod
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CLASSIC

PATH = f"{CLASSIC}/namespaces/default/resourceclaims/claim"


class Live:
    def __init__(self) -> None:
        self.api = FakeApi()
        self.stored = self.api.add(claim())
        self.objects = LiveObjects(self.api.client(), writers=1, finalizer=FINALIZER)
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


def large(obj: Object) -> Object:
    """The object with a megabyte of what tenants may write, beside what is somebody else's."""
    labels = {f"label-{number}": "x" * 63 for number in range(12_000)}
    owners = [{"kind": "Pod", "name": "other", "uid": "other"}] * 100
    metadata = {**obj["metadata"], "labels": labels, "finalizers": ["of/another"], "ownerReferences": owners}
    if controller := obj["metadata"].get("ownerReferences"):
        metadata["ownerReferences"] = [*owners, *controller]
    return {**obj, "metadata": metadata}


def test_little_is_held_of_large_objects(live: Live) -> None:
    """The attack: 150 claims of 1.4 MB took all memory of a driver, whatever quota there was of claims."""
    live.objects.claims.put({**large(claim()), "status": {"allocation": {"a": "b"}}})
    held = live.held()
    assert held is not None
    assert len(json.dumps(held)) < 1_000
    assert (held["spec"], held["status"]) == (claim()["spec"], {"allocation": {"a": "b"}})
    live.objects.contexts.put(large(context(selected="node")))
    about = asyncio.run(live.objects.context("default", "pod"))
    assert about is not None
    assert is_controlled_by(about, pod())
    assert (about["spec"], len(json.dumps(about)) < 1_000) == ({"selectedNode": "node"}, True)


def test_names_that_nothing_can_have_are_not_held(live: Live) -> None:
    asking = claim()
    asking["spec"]["parametersRef"] = {"kind": "Parameters", "name": "x" * 1_000_000}
    live.objects.claims.put(asking)
    held = live.held()
    assert held is not None
    assert len(json.dumps(held)) < 2_000


def test_what_is_written_of_large_objects_leaves_the_rest_as_it_is(live: Live) -> None:
    """The finalizer, the allocation, and what is told of nodes: as for any other object."""
    stored = live.api.add(large(claim("large")))
    live.objects.claims.put(stored)
    writes = ClaimWrites(live.objects, DRIVER, lambda: None)
    path = f"{CLASSIC}/namespaces/default/resourceclaims/large"

    async def write() -> None:
        outline = await live.objects.claim("default", "large")
        assert outline is not None
        outline = await writes.add_finalizer(outline)
        outline = await writes.store_allocation(outline, {"a": "b"}, None)
        written = live.api.get(path)
        assert written["metadata"]["finalizers"] == ["of/another", FINALIZER]
        assert written["status"]["allocation"] == {"a": "b"}
        latest = await writes.remove_finalizer(await writes.remove_allocation(outline))
        with pytest.raises(WriteConflict):
            await writes.add_finalizer(outline)
        assert await live.objects.claim("default", "large") == latest

    asyncio.run(write())
    after = live.api.get(path)
    assert after["metadata"]["finalizers"] == ["of/another"]
    assert after["metadata"]["labels"] == stored["metadata"]["labels"]
    assert (after["spec"], after.get("status", {})) == (stored["spec"], {})
    told = live.api.add(large(context(selected="node")))
    live.objects.contexts.put(told)
    status = {"resourceClaims": [{"name": "gpu", "unsuitableNodes": ["node"]}]}

    async def tell() -> None:
        outline = await live.objects.context("default", "pod")
        await writes.store_context_status({**(outline or {}), "status": status})

    asyncio.run(tell())
    found = live.api.get(f"{CLASSIC}/namespaces/default/podschedulingcontexts/pod")
    assert (found["status"], found["metadata"]["labels"]) == (status, told["metadata"]["labels"])
