"""Pods with resource claims that name their node: what becomes of them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from cluster.store import Collection
from resourceapi.records.nodes import read_node
from tests.webhook.examples import admission, apply, context, patch_of
from webhook.mutating import mutate
from webhook.object_cache import host_name_of
from webhook.prescheduled import PreScheduledPods

HOSTNAME = "kubernetes.io/hostname"
CLAIMS = [{"name": "gpu", "resourceClaimName": "gpu"}]
CONTAINERS = [{"name": "c", "image": "i"}]


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "team"},
        "spec": {"containers": CONTAINERS, "resourceClaims": CLAIMS, "nodeName": "worker-1", **spec},
    }


def answer(review: dict[str, Any], mode: str = "Enforce", *, rules: bool = False) -> dict[str, Any]:
    nodes = Collection(read_node)
    nodes.put({"metadata": {"name": "worker-1", "labels": {HOSTNAME: "host-1", "other": "x"}}})
    nodes.put({"metadata": {"name": "unlabelled"}})
    policy = PreScheduledPods(mode, partial(host_name_of, nodes))
    whole = mutate(review, context(rules=rules, pods=policy))
    assert whole["response"]["allowed"]
    return whole


@pytest.mark.parametrize(
    ("node", "selector", "wanted"),
    [
        pytest.param("worker-1", None, {HOSTNAME: "host-1"}, id="by-the-label-of-the-node"),
        pytest.param("unlabelled", None, {HOSTNAME: "unlabelled"}, id="node-without-label"),
        pytest.param("unknown", None, {HOSTNAME: "unknown"}, id="unknown-node"),
        pytest.param("worker-1", {"disk": "ssd"}, {"disk": "ssd", HOSTNAME: "host-1"}, id="in-addition"),
        pytest.param("worker-1", {HOSTNAME: "host-1"}, {HOSTNAME: "host-1"}, id="the-same-node"),
        pytest.param("worker-1", {}, {HOSTNAME: "host-1"}, id="empty-selector"),
    ],
)
@pytest.mark.parametrize("rules", [False, True], ids=["built-in", "custom-resources"])
def test_node_selector_in_the_place_of_the_name(
    node: str, selector: dict[str, str] | None, wanted: dict[str, str], rules: bool
) -> None:
    """Enforce: the pod comes before the scheduler, which has the choice of that node; a warning says so."""
    sent = pod(nodeName=node) if selector is None else pod(nodeName=node, nodeSelector=selector)
    review = answer(admission(sent), rules=rules)
    changed = apply(patch_of(review), sent)
    expected = {name: value for name, value in sent["spec"].items() if name != "nodeName"}
    assert changed == {**sent, "spec": {**expected, "nodeSelector": wanted}}
    host = wanted[HOSTNAME]
    (warning,) = review["response"]["warnings"]
    assert warning == (
        f"spec.nodeName: replaced by spec.nodeSelector with kubernetes.io/hostname: {host}, so that the scheduler "
        "allocates the pod's resource claims"
    )
    assert review["response"]["auditAnnotations"] == {"pre-scheduled-pods": "replaced"}


def test_warn_mode_changes_nothing() -> None:
    """Warn: what will happen, and what to write instead."""
    review = answer(admission(pod()), "Warn")
    assert patch_of(review) == []
    (warning,) = review["response"]["warnings"]
    assert "nobody allocates its resource claims" in warning
    assert warning.endswith("use spec.nodeSelector with kubernetes.io/hostname: host-1 instead")


def test_warn_mode_says_nothing_of_pods_of_the_sidecar() -> None:
    """It gives them devices on their nodes."""
    review = answer(admission(pod(schedulerName="claimcheck")), "Warn")
    assert patch_of(review) == []
    assert "warnings" not in review["response"]


def test_contradiction_is_left_alone() -> None:
    """A pod that names one node and selects another gets neither of them."""
    review = answer(admission(pod(nodeSelector={HOSTNAME: "host-2"})))
    assert patch_of(review) == []
    (warning,) = review["response"]["warnings"]
    assert (
        "worker-1 is not the node that spec.nodeSelector asks for (kubernetes.io/hostname: host-2)" in warning
    )


MIRROR = pod()
MIRROR["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
OTHERS = {
    "no-claims": admission(pod(resourceClaims=[])),
    "no-node": admission(pod(nodeName="")),
    "update": admission(pod(), pod()),
    "binding": admission(pod(), subresource="binding"),
    "static-pod": admission(MIRROR),
    "claims-of-the-wrong-type": admission(pod(resourceClaims="gpu")),
    "node-of-the-wrong-type": admission(pod(nodeName=["worker-1"])),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_left_alone(name: str) -> None:
    """Nothing is said about pods that the scheduler sees, that need no claims, or that run already."""
    assert answer(OTHERS[name])["response"] == {"uid": OTHERS[name]["request"]["uid"], "allowed": True}
