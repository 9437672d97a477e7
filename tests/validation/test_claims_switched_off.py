"""Where DynamicResourceAllocation is off (1.34 only), pods lose their claims before they are checked; measured."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.validation.pod_requests import CLAIM, container, texts
from validation.requests import CREATE, UPDATE, Answer, Request
from validation.server import Server

OFF = dict.fromkeys(
    (
        "DynamicResourceAllocation",
        "DRAAdminAccess",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
        "DRASchedulerFilterTimeout",
    ),
    False,
)
BAD = {
    "containers": [container(resources={"claims": [{"name": "nowhere"}, {"name": "nowhere"}]})],
    "initContainers": [container(name="first", resources={"claims": [{"name": "BAD_"}]})],
    "resourceClaims": [{"name": "g"}, {"name": "G_", "resourceClaimName": "x"}],
}
GOOD = {"containers": [container(resources={"claims": [{"name": "a"}]})], "resourceClaims": [CLAIM]}


def _ask(api_version: str, kind: str, obj: Object, verb: str = CREATE, old: Object | None = None) -> Answer:
    type_meta = {"apiVersion": api_version, "kind": kind}
    request = Request(
        verb=verb,
        api_version=api_version,
        kind=kind,
        namespace="default",
        name="" if old is None else obj["metadata"]["name"],
        body=type_meta | obj,
        old=old,
    )
    return Server(Profile("1.34", OFF)).handle(request)


def _pod(spec: Object) -> Object:
    return {"metadata": {"name": "pod"}, "spec": spec}


def _deployment(spec: Object) -> Object:
    labels = {"a": "b"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"metadata": {"name": "app"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def _without_claims(spec: Any) -> bool:
    return "resourceClaims" not in spec and not any(
        "claims" in each.get("resources", {})
        for each in (*spec["containers"], *spec.get("initContainers", ()))
    )


@pytest.mark.parametrize("spec", [BAD, GOOD], ids=["bad", "good"])
def test_pod(spec: Object) -> None:
    """Claims are dropped, good or bad, with what containers say of them."""
    answer = _ask("v1", "Pod", _pod(spec))
    assert answer.accepted, texts(answer)
    assert answer.object is not None
    assert _without_claims(answer.object["spec"])


def test_template() -> None:
    """So are those of pod templates."""
    answer = _ask("apps/v1", "Deployment", _deployment(BAD))
    assert answer.accepted, texts(answer)
    assert answer.object is not None
    assert _without_claims(answer.object["spec"]["template"]["spec"])


def test_claims_of_the_pod_itself() -> None:
    """Claims among the resources of the whole pod are an error in any case."""
    spec = {**GOOD, "resources": {"claims": [{"name": "a"}]}}
    assert texts(_ask("v1", "Pod", _pod(spec))) == [
        "spec.resources.claims: Forbidden: claims may not be set for Resources at pod-level",
        'spec.resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty',
    ]


@pytest.mark.parametrize("stored", [True, False])
def test_update(stored: bool) -> None:
    """An update keeps claims if the stored object has some."""
    before = _deployment(GOOD if stored else {"containers": [container()]})
    old = {"apiVersion": "apps/v1", "kind": "Deployment", **before}
    old["metadata"] = {"name": "app", "namespace": "default", "uid": "1", "resourceVersion": "1"}
    answer = _ask("apps/v1", "Deployment", _deployment(GOOD), UPDATE, old)
    assert answer.accepted, texts(answer)
    assert answer.object is not None
    assert _without_claims(answer.object["spec"]["template"]["spec"]) is not stored


def test_group_is_served() -> None:
    """The objects of the group are what they were: only pods do without them."""
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    claim = {"metadata": {"name": "claim"}, "spec": {"devices": {"requests": [request]}}}
    answer = _ask("resource.k8s.io/v1", "ResourceClaim", claim)
    assert answer.accepted
    assert answer.object is not None
    assert answer.object["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == "gpu"
