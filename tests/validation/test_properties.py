"""What holds for all objects: of random ones, made to be valid with every gate on, in every version."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conversion.hub import from_hub, hub_object
from resourceapi.decoding import decode
from resourceapi.encoding import encode
from resourceapi.gates import GATES, UNRELEASED_GATES
from resourceapi.gating import without_disabled
from resourceapi.kinds import KINDS
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.conformance.replay import NODES
from tests.corpus.cases import valid_object
from tests.corpus.parts import Parts
from tests.fuzz.objects import make_object
from validation.requests import CREATE, STATUS, UPDATE, Answer, Request
from validation.server import Server

NOW = "2026-01-02T03:04:05Z"
NAMESPACE = "team-a"
GROUP = "resource.k8s.io"
PROFILES: dict[str, tuple[str, dict[str, bool]]] = {
    "newest-all": ("1.37", {"AllAlpha": True, "AllBeta": True}),
    "newest": ("1.37", {}),
    "middle": ("1.36", {}),
    "oldest": ("1.34", {}),
    "proposals": ("kep", {}),
}
VERSIONS = [(kind.name, version) for kind in KINDS.values() for version in kind.versions]
SEEDS = st.integers(min_value=0, max_value=2**32)
SOME = settings(max_examples=60)


def served(profile: str) -> list[tuple[str, str]]:
    """The kinds and versions that a profile serves."""
    minor = Profile(PROFILES[profile][0]).minor
    return [
        (kind, version)
        for kind, version in VERSIONS
        if KINDS[kind].served(version, minor) or KINDS[kind].further_group
    ]


@cache
def server(profile: str) -> Server:
    release, gates = PROFILES[profile]
    return Server(
        Profile(release, gates),
        namespaces={NAMESPACE: {}},
        nodes=NODES,
        now=lambda: NOW,
    )


def some_object(seed: int, kind: str, version: str) -> Object:
    """A valid object, with a status if its kind has one."""
    return valid_object(Parts(random.Random(seed)), kind, version, with_status=True, name="it")


def any_object(seed: int, kind: str, version: str) -> Object:
    """An object that decodes, and may break every rule."""
    return make_object(random.Random(seed), kind, version, "it")


def ask(profile: str, verb: str, obj: Object, old: Object | None = None) -> Answer:
    kind = KINDS[obj["kind"]]
    return server(profile).handle(
        Request(
            verb=verb,
            api_version=obj["apiVersion"],
            kind=kind.name,
            namespace=NAMESPACE if kind.namespaced else "",
            raw=json.dumps(obj),
            old=old,
        )
    )


def as_stored(obj: Object) -> Object:
    """The object with what storage gives it."""
    return {**obj, "metadata": {**obj["metadata"], "uid": "a1b2", "resourceVersion": "7"}}


def returned(answer: Answer) -> Object:
    assert answer.accepted, answer.message
    assert answer.object is not None
    return answer.object


@pytest.mark.parametrize("profile", PROFILES)
@SOME
@given(data=st.data(), seed=SEEDS)
def test_what_is_returned_is_taken_again(profile: str, data: st.DataObject, seed: int) -> None:
    """An accepted object is accepted again as it came back, and comes back the same."""
    kind, version = data.draw(st.sampled_from(served(profile)))
    first = ask(profile, CREATE, some_object(seed, kind, version))
    assume(first.accepted)
    assert returned(ask(profile, CREATE, returned(first))) == returned(first)


@pytest.mark.parametrize("profile", PROFILES)
@SOME
@given(data=st.data(), seed=SEEDS)
def test_an_update_without_a_change_is_taken(profile: str, data: st.DataObject, seed: int) -> None:
    """Whatever was stored can be sent back: nothing is dropped, changed or refused."""
    kind, version = data.draw(st.sampled_from(served(profile)))
    first = ask(profile, CREATE, some_object(seed, kind, version))
    assume(first.accepted)
    stored = as_stored(returned(first))
    assert returned(ask(profile, UPDATE, stored, stored)) == stored


@pytest.mark.parametrize("profile", PROFILES)
@SOME
@given(seed=SEEDS)
def test_a_status_update_without_a_change_is_taken(profile: str, seed: int) -> None:
    """The same for a status: once written it can be sent back."""
    claim = some_object(seed, "ResourceClaim", "v1")
    first = ask(profile, CREATE, claim)
    assume(first.accepted)
    stored = as_stored(returned(first))
    written = ask(profile, STATUS, {**stored, "status": claim["status"]}, stored)
    assume(written.accepted)
    assert returned(ask(profile, STATUS, returned(written), returned(written))) == returned(written)


@pytest.mark.parametrize("profile", PROFILES)
@SOME
@given(data=st.data(), seed=SEEDS)
def test_every_version_of_an_accepted_object_is_accepted(
    profile: str, data: st.DataObject, seed: int
) -> None:
    """An accepted object, read in any other version, is accepted there and means the same."""
    kind, version = data.draw(st.sampled_from(served(profile)))
    first = ask(profile, CREATE, some_object(seed, kind, version))
    assume(first.accepted)
    asked = server(profile)
    for other in KINDS[kind].versions:
        if KINDS[kind].served(other, asked.profile.minor):
            read = asked.read(returned(first), f"{GROUP}/{other}")
            again = returned(ask(profile, CREATE, read))
            assert again == read
            assert asked.read(again, f"{GROUP}/{version}") == returned(first)


@pytest.mark.parametrize("make", [some_object, any_object], ids=["valid", "any"])
@settings(max_examples=200)
@given(of=st.sampled_from(VERSIONS), seed=SEEDS)
def test_defaults_are_filled_in_once(
    make: Callable[[int, str, str], Object], of: tuple[str, str], seed: int
) -> None:
    """What has its defaults, written and read again, gets no others."""
    kind, version = of
    schema, later = SCHEMAS[version], "2027-01-01T00:00:00Z"
    hub = hub_object(make(seed, kind, version), SCHEMAS, kind=kind, version=version, defaults=NOW)
    written = encode(schema, kind, from_hub(kind, version, json_copy(hub)))
    read = hub_object(written, SCHEMAS, kind=kind, version=version, defaults=later)
    assert encode(schema, kind, from_hub(kind, version, read)) == written


def json_copy(value: Any) -> Any:
    """A copy of the objects and lists; other values are never changed."""
    if isinstance(value, dict):
        return {key: json_copy(item) for key, item in value.items()}
    return [json_copy(item) for item in value] if isinstance(value, list) else value


SPECS = {
    "ResourceClaim": "ResourceClaimSpec",
    "ResourceClaimTemplate": "ResourceClaimTemplateSpec",
    "DeviceClass": "DeviceClassSpec",
    "ResourceSlice": "ResourceSliceSpec",
    "DeviceTaintRule": "DeviceTaintRuleSpec",
    "ResourcePoolStatusRequest": "ResourcePoolStatusRequestSpec",
}


@pytest.mark.parametrize("kind", SPECS)
@SOME
@given(seed=SEEDS, on=st.sets(st.sampled_from(sorted((*GATES, *UNRELEASED_GATES)))), stored=st.booleans())
def test_dropping_is_done_once(kind: str, seed: int, on: set[str], stored: bool) -> None:
    """What is dropped is dropped at once, and nothing that the stored object has itself."""
    schema = SCHEMAS["v1"]
    hub = decode(schema, kind, any_object(seed, kind, "v1")).object.get("spec", {})
    once = without_disabled(schema, SPECS[kind], hub, None, frozenset(on))
    twice = without_disabled(schema, SPECS[kind], once, hub if stored else None, frozenset(on))
    assert twice == once
    kept = without_disabled(schema, SPECS[kind], hub, json_copy(hub), frozenset(on))
    assert without_empty_lists(kept) == without_empty_lists(hub)


def without_empty_lists(value: Any) -> Any:
    """An empty list is no use of a feature, so it may go."""
    if isinstance(value, dict):
        return {key: without_empty_lists(item) for key, item in value.items() if item != []}
    return [without_empty_lists(item) for item in value] if isinstance(value, list) else value


def test_random_objects_are_mostly_valid() -> None:
    """The properties would say nothing if hardly any object were accepted."""
    objects = [
        some_object(seed, kind.name, next(iter(kind.versions)))
        for seed in range(40)
        for kind in KINDS.values()
    ]
    accepted = sum(ask("newest-all", CREATE, obj).accepted for obj in objects)
    assert accepted >= 0.8 * len(objects)
