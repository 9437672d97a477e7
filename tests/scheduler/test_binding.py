"""What bind answers and writes: one pod after the other, nothing fails."""

from __future__ import annotations

from threading import Thread
from typing import Any
from unittest.mock import Mock

import pytest

from resourceapi.objects import Object
from scheduler.claim_writes import FINALIZER
from scheduler.extender_api import BindingRequest
from scheduler.routes import Verbs, make_routes
from tests.scheduler.small_cluster import (
    CLAIMS,
    PODS,
    Sidecar,
    claim,
    cluster,
    devices_of,
    node_of,
    pod,
    traces,
)
from tests.webhook.running import PATIENCE_SECONDS


def requests(sidecar: Sidecar) -> list[str]:
    return [f"{each.verb} {each.path.rpartition('/ns/')[2]}" for each in sidecar.api.requests]


def test_bind_writes_what_filter_found() -> None:
    """The finalizer, then devices, reservation and time in one write, then the Binding: as kube-scheduler does it."""
    sidecar = Sidecar(cluster(claim("c", metadata={"finalizers": ["other"]}), pod("p", "c")))
    assert sidecar.schedule("p") == ""
    assert requests(sidecar) == [
        "PATCH resourceclaims/c",
        "PUT resourceclaims/c/status",
        "POST pods/p/binding",
    ]
    found = sidecar.api.get(f"{CLAIMS}/c")
    assert found["metadata"]["finalizers"] == ["other", FINALIZER]
    assert found["status"] == {
        "allocation": {
            "allocationTimestamp": "2026-01-01T00:00:00Z",
            "devices": {
                "results": [{"request": "g", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]
            },
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
                ]
            },
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-p"}],
    }
    assert sidecar.api.requests[-1].body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"namespace": "ns", "name": "p", "uid": "uid-p"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"},
    }
    assert node_of(sidecar.api, "p") == "n1"
    assert sidecar.picture.claims.assumed == 0


def test_no_timestamp_without_the_gates() -> None:
    """allocationTimestamp is for releases with binding conditions and device status."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")), {"DRADeviceBindingConditions": False})
    assert sidecar.schedule("p") == ""
    assert "allocationTimestamp" not in sidecar.api.get(f"{CLAIMS}/c")["status"]["allocation"]


def test_fields_that_nobody_here_knows_survive() -> None:
    """What is written is the object of the API server with one part changed."""
    unknown: Object = {
        "spec": {"newInV2": {"a": 1.5}},
        "status": {"newer": [1]},
        "metadata": {"managedFields": [{"x": 1}]},
    }
    merged = claim("c", metadata=unknown["metadata"], status=unknown["status"])
    merged["spec"] |= unknown["spec"]
    sidecar = Sidecar(cluster(merged, pod("p", "c")))
    assert sidecar.schedule("p") == ""
    found = sidecar.api.get(f"{CLAIMS}/c")
    assert found["spec"]["newInV2"] == {"a": 1.5}
    assert found["status"]["newer"] == [1]
    assert found["metadata"]["managedFields"] == [{"x": 1}]


def test_nulls_in_configuration_survive() -> None:
    """The parameters of drivers are written as they are."""
    config = [
        {
            "opaque": {
                "driver": "gpu.example.com",
                "parameters": {"kind": "X", "apiVersion": "v1", "a": None, "b": 1e3},
            }
        }
    ]
    asked = claim("c")
    asked["spec"]["devices"]["config"] = config
    sidecar = Sidecar(cluster(asked, pod("p", "c")))
    assert sidecar.schedule("p") == ""
    written = sidecar.api.get(f"{CLAIMS}/c")["status"]["allocation"]["devices"]["config"]
    assert written == [{"source": "FromClaim", **config[0]}]


def test_all_claims_of_a_pod_are_protected_before_one_gets_devices() -> None:
    """So one look at the Lease is good for all of them."""
    sidecar = Sidecar(cluster(claim("a"), claim("b"), pod("p", "a", "b")))
    assert sidecar.schedule("p") == ""
    assert [each.partition(" ")[0] for each in requests(sidecar)] == ["PATCH", "PATCH", "PUT", "PUT", "POST"]
    assert devices_of(sidecar.api.get(f"{CLAIMS}/a")) + devices_of(sidecar.api.get(f"{CLAIMS}/b")) == [
        "n1/gpu-0",
        "n1/gpu-1",
    ]


def test_a_claim_with_devices_is_reserved() -> None:
    """A shared claim gets one more consumer, nothing else."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c"), pod("q", "c")))
    assert sidecar.schedule("p") == ""
    before = sidecar.api.get(f"{CLAIMS}/c")
    del sidecar.api.requests[:]
    assert sidecar.schedule("q") == ""
    after = sidecar.api.get(f"{CLAIMS}/c")
    assert requests(sidecar) == ["PATCH resourceclaims/c/status", "POST pods/q/binding"]
    assert [each["name"] for each in after["status"]["reservedFor"]] == ["p", "q"]
    assert after["status"]["allocation"] == before["status"]["allocation"]


def test_no_more_consumers_than_a_claim_can_have() -> None:
    """The 256th is reserved; for the 257th nothing is written."""
    others = [{"resource": "pods", "name": f"o{n}", "uid": f"uid-o{n}"} for n in range(254)]
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c"), pod("q", "c"), pod("r", "c")))
    assert sidecar.schedule("p") == ""
    found = sidecar.api.get(f"{CLAIMS}/c")["status"]["reservedFor"]
    sidecar.api.change(f"{CLAIMS}/c", {"status": {"reservedFor": found + others}})
    sidecar.sync()
    assert sidecar.decide("q") == ["n1"]
    assert sidecar.decide("r") == ["n1"]
    assert sidecar.bind("q") == ""
    assert sidecar.bind("r") == "ResourceClaim 'c' is in use by 256 consumers already"
    assert node_of(sidecar.api, "r") == ""


def test_a_bind_that_is_repeated_succeeds() -> None:
    """kube-scheduler repeats a bind whose answer it did not get (kubernetes#96579)."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c"), nodes=("n1", "n2")))
    assert sidecar.schedule("p") == ""
    before = sidecar.api.get(f"{CLAIMS}/c")
    assert sidecar.bind("p") == ""
    assert sidecar.bind("p", "n2") == "the pod is bound to n1 already"
    assert sidecar.api.get(f"{CLAIMS}/c") == before


def test_a_bind_that_is_repeated_meanwhile_gets_the_same_answer() -> None:
    """The second request writes nothing."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")))
    sidecar.decide("p")
    gate = sidecar.api.pause(2)
    answers: list[str] = []
    threads = [Thread(target=lambda: answers.append(sidecar.bind("p"))) for _ in range(2)]
    threads[0].start()
    assert gate.reached.wait(PATIENCE_SECONDS)
    threads[1].start()
    gate.resume.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert answers == ["", ""]
    assert len([each for each in sidecar.api.requests if each.verb != "GET"]) == 3


def test_a_pod_without_claims_is_bound() -> None:
    """kube-scheduler asks the extender for all of its pods."""
    sidecar = Sidecar(cluster(pod("p")))
    assert sidecar.schedule("p") == ""
    assert node_of(sidecar.api, "p") == "n1"


def test_a_pod_that_was_not_filtered_is_not_bound() -> None:
    """Bind never looks for devices itself."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")))
    assert sidecar.bind("p") == "its devices have to be found again"
    assert traces(sidecar.api) == []


def test_a_pod_is_bound_only_to_a_node_that_fits() -> None:
    """Whatever is asked for."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")))
    sidecar.decide("p")
    assert sidecar.bind("p", "n2") == "its claims do not fit on n2"


def test_a_pod_that_is_gone_gets_nothing() -> None:
    """Nor does another one of its name."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")))
    sidecar.decide("p")
    sidecar.api.remove(f"{PODS}/p")
    sidecar.api.add({**pod("p", "c"), "metadata": {"name": "p", "namespace": "ns", "uid": "new"}})
    assert sidecar.bind("p") == "the pod has been deleted"
    assert traces(sidecar.api) == []


def test_only_the_leader_binds() -> None:
    """Not even a pod without claims."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c"), pod("q")))
    sidecar.decide("p")
    sidecar.leader.leads = False
    assert sidecar.bind("p") == "another replica leads"
    assert sidecar.bind("q") == "another replica leads"
    assert traces(sidecar.api) == []


def test_a_decision_of_an_earlier_term_is_void() -> None:
    """Another replica may have led in between."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")))
    sidecar.decide("p")
    sidecar.leader.current = 2
    assert sidecar.bind("p") == "another replica leads"
    sidecar.leader.leads = True
    assert sidecar.schedule("p") == ""


def test_devices_that_another_pod_took_are_not_given_again() -> None:
    """Two pods were filtered before the first was bound; the second one is filtered again."""
    sidecar = Sidecar(cluster(claim("a"), claim("b"), pod("p", "a"), pod("q", "b")))
    assert (sidecar.decide("p"), sidecar.decide("q")) == (["n1"], ["n1"])
    assert sidecar.bind("p") == ""
    assert sidecar.bind("q") == "devices that were found for it are in use by now, or no longer match"
    assert sidecar.schedule("q") == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]}},
            "ResourceClaim 'c' is being deleted",
        ),
        (None, "ResourceClaim 'c' has been deleted"),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_claim_that_goes_meanwhile(change: Any, message: str, is_known: bool) -> None:
    """Whether memory knows of it or only the API server, nothing is left behind."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")))
    sidecar.decide("p")
    if change is None:
        sidecar.api.remove(f"{CLAIMS}/c")
        sidecar.api.add(claim("c"))
    else:
        sidecar.api.change(f"{CLAIMS}/c", change)
    if is_known:
        sidecar.sync()
    assert sidecar.bind("p").replace("ns/", "") == message
    assert [each for each in traces(sidecar.api) if each != "c: x"] == []
    assert sidecar.picture.claims.assumed == 0


def test_a_claim_that_others_change_meanwhile() -> None:
    """A conflict is looked into: labels do not matter, devices do."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")))
    sidecar.decide("p")
    sidecar.api.change(f"{CLAIMS}/c", {"metadata": {"labels": {"a": "b"}}})
    gate: list[Object] = []

    def label_between(request: Any) -> None:
        if request.verb == "PUT" and not gate:
            gate.append(sidecar.api.change(f"{CLAIMS}/c", {"metadata": {"labels": {"a": "c"}}}))

    sidecar.api.hooks.append(label_between)
    assert sidecar.bind("p") == ""
    assert sidecar.api.get(f"{CLAIMS}/c")["metadata"]["labels"] == {"a": "c"}


def test_a_claim_that_another_scheduler_allocates_meanwhile() -> None:
    """Its devices stay as they are."""
    sidecar = Sidecar(cluster(claim("c"), pod("p", "c")))
    sidecar.decide("p")
    device = {"request": "g", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-1"}
    others = {
        "allocation": {"devices": {"results": [device]}},
        "reservedFor": [{"resource": "pods", "name": "o", "uid": "o"}],
    }
    sidecar.api.change(f"{CLAIMS}/c", {"metadata": {"finalizers": [FINALIZER]}, "status": others})
    before = sidecar.api.get(f"{CLAIMS}/c")
    assert sidecar.bind("p") == "ResourceClaim 'c' has got devices meanwhile"
    assert sidecar.api.get(f"{CLAIMS}/c") == before
    assert sidecar.picture.claims.assumed == 0


def test_a_namespace_leaves_threads_to_others() -> None:
    """Pods that share a claim wait for each other, so a namespace has as many threads as it leaves free."""
    verbs = Verbs(Mock(), Mock(), Sidecar(cluster()).binder, Mock())
    (handler,) = [each.handler for each in make_routes(verbs, Mock(), 1) if each.path == "/bind"]
    waiting = handler(BindingRequest("noisy", "p", "uid-p", "n1"), Mock())
    assert (waiting.namespace, waiting.shares) == ("noisy", True)
