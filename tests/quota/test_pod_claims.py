"""Claims that stand for what a pod has been charged already."""

from __future__ import annotations

from typing import Any

import pytest

from quota.amounts import written
from quota.names import ExtendedResources
from quota.namespace import Namespace
from resourceapi.model.versions import GROUP
from resourceapi.records.claims import FOR_EXTENDED_RESOURCES
from resourceapi.records.classes import DeviceClass
from resourceapi.releases import Profile
from tests.quota.objects import claim, container, exactly, pod
from validation.server import Server

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
RESOURCE = "requests.example.com/gpu"


def made_for_pod(name: str = "c", made: str = "2026-01-01T00:00:00Z", **changes: Any) -> dict[str, Any]:
    metadata = {
        "annotations": {FOR_EXTENDED_RESOURCES: "true"},
        "ownerReferences": [{**OWNER, **changes}],
        "creationTimestamp": made,
    }
    return claim(exactly("r", "ext", 3), name=name, **metadata)


@pytest.mark.parametrize(
    ("obj", "status", "others", "charged"),
    [
        pytest.param(made_for_pod(), {}, [], "1", id="only-what-is-beyond-the-pods-request"),
        pytest.param(claim(exactly("r", "ext", 3)), {}, [], "3", id="no-claim-of-a-pod"),
        pytest.param(made_for_pod(uid="other"), {}, [], "3", id="another-pod-of-that-name"),
        pytest.param(made_for_pod(name="x", controller=False), {}, [], "3", id="owner-is-no-controller"),
        pytest.param(made_for_pod(kind="Job"), {}, [], "3", id="owner-is-no-pod"),
        pytest.param(
            made_for_pod(),
            {"extendedResourceClaimStatus": {"resourceClaimName": "c"}},
            [],
            "1",
            id="named-by-the-pod",
        ),
        pytest.param(
            made_for_pod(),
            {"extendedResourceClaimStatus": {"resourceClaimName": "other"}},
            [],
            "3",
            id="pod-names-another",
        ),
        pytest.param(
            made_for_pod(), {}, [made_for_pod("z", "2025-01-01T00:00:00Z")], "3", id="older-claim-of-the-pod"
        ),
        pytest.param(
            made_for_pod(),
            {},
            [made_for_pod("z", "2027-01-01T00:00:00Z")],
            "1",
            id="younger-claim-of-the-pod",
        ),
        pytest.param(made_for_pod(), {}, [made_for_pod("a")], "3", id="same-age-lower-name"),
        pytest.param(made_for_pod(), {}, [made_for_pod("d")], "1", id="same-age-higher-name"),
    ],
)
def test_charge(
    obj: dict[str, Any], status: dict[str, Any], others: list[dict[str, Any]], charged: str
) -> None:
    """The claim that the scheduler makes for a pod's extended resources counts only what the pod did not."""
    namespace = Namespace(
        Server(Profile()), ExtendedResources([DeviceClass("ext", extended_resource="example.com/gpu")])
    )
    owner = pod(container({"example.com/gpu": "2"}, {"example.com/gpu": "2"}))
    owner["metadata"]["uid"] = "u"
    owner["status"] = status
    namespace.store("", "Pod", owner)
    for other in others:
        namespace.store(GROUP, "ResourceClaim", other)
    evaluator = namespace.evaluator(GROUP, "ResourceClaim")
    assert evaluator is not None
    assert written(evaluator.usage(obj))[RESOURCE] == charged
