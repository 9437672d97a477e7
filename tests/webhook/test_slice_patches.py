"""ResourceSlicePatches in the webhooks: their rules are applied whoever serves ``resource.k8s.io``."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.releases import Profile
from tests.webhook.examples import admission, apply, claim, patch_of
from validation.server import Server
from webhook.context import Context
from webhook.mutating import mutate
from webhook.validating import validate

OFF = {"DRAAdminControlledDeviceAttributes": False}


def context(*, custom_resources: bool, gates: dict[str, bool] | None = None) -> Context:
    profile = Profile(settings=gates or {}, proposed_kinds=custom_resources)
    return Context(server=Server(profile, verbatim=True), rules=custom_resources)


def patch(group: str, **devices: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": "a", "resourceVersion": "1"},
        "spec": {"devices": devices},
    }


def mutated(obj: dict[str, Any], old: dict[str, Any] | None, where: Context) -> dict[str, Any]:
    answer = mutate(admission(obj, old), where)
    result: dict[str, Any] = apply(patch_of(answer), obj)
    return result


BOTH = pytest.mark.parametrize(
    ("group", "custom_resources"), [(OWN_GROUP, False), (GROUP, True)], ids=["built-in-guard", "crd-served"]
)


@BOTH
def test_rules_are_applied(group: str, custom_resources: bool) -> None:
    """All causes at once, in a status of the group that was asked for."""
    bad = patch(group, filter={"pool": "a//b"}, attributes={"model": {}})
    response = validate(admission(bad), context(custom_resources=custom_resources))["response"]
    assert not response["allowed"]
    assert response["status"]["message"].startswith(f'ResourceSlicePatch.{group} "a" is invalid: [')
    assert response["status"]["details"]["group"] == group
    fields = [cause["field"] for cause in response["status"]["details"]["causes"]]
    assert sorted(fields) == [
        "spec.devices.attributes",
        "spec.devices.attributes[model]",
        "spec.devices.filter.pool",
    ]


@BOTH
def test_what_is_switched_off_is_dropped(group: str, custom_resources: bool) -> None:
    """On create, and on update where the stored patch has nothing of it; elsewhere it stays."""
    where = context(custom_resources=custom_resources, gates=OFF)
    plain, full = patch(group, priority=1), patch(group, priority=1, attributes={"a.b/c": {"null": {}}})
    assert mutated(full, None, where)["spec"] == plain["spec"]
    assert mutated(full, plain, where)["spec"] == plain["spec"]
    assert mutated(full, full, where)["spec"] == full["spec"]
    assert mutated(full, None, context(custom_resources=custom_resources))["spec"] == full["spec"]


@BOTH
def test_a_good_patch_is_admitted(group: str, custom_resources: bool) -> None:
    """Without remark, as often as it comes."""
    where = context(custom_resources=custom_resources)
    good = patch(group, filter={"selectors": [{"cel": {"expression": "true"}}]}, priority=-1)
    for _ in range(2):
        assert validate(admission(good), where)["response"] == {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "allowed": True,
        }


def test_built_in_kinds_are_left_to_the_api_server() -> None:
    """Where it serves them, it has applied its rules itself."""
    where = context(custom_resources=False)
    assert validate(admission(claim(count=-1)), where)["response"]["allowed"]
    assert patch_of(mutate(admission(claim()), where)) == []
