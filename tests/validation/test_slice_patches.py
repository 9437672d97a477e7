"""What is special about ResourceSlicePatch beside its rules, which are in cases/slice_patches.yaml: two groups, and a generation."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.kinds import RESOURCE_SLICE_PATCH, kind_of
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.releases import MODERN_RELEASES, Profile, parse_runtime_config
from tests.validation.rule_cases import fixture
from validation.requests import CREATE, UPDATE, Answer, Request
from validation.server import Server


def ask(obj: Any, old: Any = None, profile: Profile | None = None) -> Answer:
    request = Request(
        api_version=obj["apiVersion"],
        kind=obj["kind"],
        verb=CREATE if old is None else UPDATE,
        body=obj,
        old=old,
    )
    return Server(profile or Profile()).handle(request)


def patch(group: str = OWN_GROUP, generation: int = 0, **devices: Any) -> dict[str, Any]:
    metadata = {"name": "a", **({"generation": generation, "resourceVersion": "1"} if generation else {})}
    return {
        "apiVersion": f"{group}/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": metadata,
        "spec": {"devices": devices},
    }


@pytest.mark.parametrize("release", MODERN_RELEASES)
def test_own_group_is_served_by_all(release: str) -> None:
    """It is that of a CRD, about which no release and no setting of a server says anything."""
    for profile in (Profile(release), Profile(release, apis=parse_runtime_config("api/all=false"))):
        answer = ask(patch(), profile=profile)
        assert answer.accepted
        assert answer.object is not None
        assert answer.object["apiVersion"] == f"{OWN_GROUP}/v1alpha3"


@pytest.mark.parametrize("release", MODERN_RELEASES)
def test_group_of_kubernetes_has_it_only_as_a_custom_resource(release: str) -> None:
    """No release serves it; the profile of proposals does, and a server of any release that has the CRDs."""
    obj = patch(GROUP)
    assert ask(obj, profile=Profile(release)).code == (201 if release == "kep" else 404)
    assert ask(obj, profile=Profile(release, apis=parse_runtime_config("api/all=true"))).code == (
        201 if release == "kep" else 404
    )
    assert ask(obj, profile=Profile(release, proposed_kinds=True)).code == 201
    switched_off = parse_runtime_config(f"{GROUP}/v1alpha3=false")
    assert ask(obj, profile=Profile("kep", apis=switched_off)).code == 404


@pytest.mark.parametrize("group", [GROUP, OWN_GROUP])
def test_refusals_name_the_group(group: str) -> None:
    """In their message and in their details."""
    profile = Profile("kep")
    for answer in (
        ask(patch(group, filter={"pool": ""}), profile=profile),
        ask(
            {**patch(group), "metadata": {"name": "a", "resourceVersion": "2"}},
            patch(group, generation=1),
            profile,
        ),
    ):
        status = answer.status()
        assert f".{group} " in status["message"]
        assert status["details"]["group"] == group


def test_no_other_group_has_it() -> None:
    """Nor do ours and Kubernetes' have each other's kinds."""
    assert kind_of(f"{OWN_GROUP}/v1alpha3", "ResourceSlicePatch") is RESOURCE_SLICE_PATCH
    assert kind_of(f"{GROUP}/v1alpha3", "ResourceSlicePatch") is RESOURCE_SLICE_PATCH
    assert kind_of(f"{GROUP}/v9", "ResourceSlicePatch") is RESOURCE_SLICE_PATCH
    for api_version, kind in (
        (f"{OWN_GROUP}/v1", "ResourceClaim"),
        ("example.com/v1alpha3", "ResourceSlicePatch"),
        ("v1alpha3", "ResourceSlicePatch"),
        (None, "ResourceSlicePatch"),
        (f"{OWN_GROUP}/v1alpha3", ["ResourceSlicePatch"]),
    ):
        assert kind_of(api_version, kind) is None


def test_generation_counts_specs() -> None:
    """It begins with 1, whatever the client says, and grows with each other spec, not with labels."""
    assert generation(ask(patch(generation=7))) == 1
    assert generation(ask(patch(generation=9, priority=1), patch(generation=4))) == 5
    assert generation(ask(patch(generation=9), patch(generation=4))) == 4
    labelled = patch(generation=4)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert generation(ask(labelled, patch(generation=4))) == 4


def test_generation_counts_what_is_kept() -> None:
    """A change that is dropped at once, as its gate is off, is none."""
    off = Profile(settings={"DRAAdminControlledDeviceAttributes": False})
    changed = patch(generation=4, attributes={"a.b/c": {"int": 1}})
    assert generation(ask(changed, patch(generation=4), off)) == 4


def generation(answer: Answer) -> int:
    assert answer.object is not None, answer.message
    value: int = answer.object["metadata"]["generation"]
    return value


def test_both_groups_have_the_same_rules() -> None:
    """One fixture differs from the other in nothing but its group."""
    own, other = fixture("slicepatch.v1alpha3"), fixture("slicepatch-group.v1alpha3")
    assert {**own, "apiVersion": other["apiVersion"]} == other
