"""The GPU driver with a real kube-scheduler of 1.30: from an article's YAML to pods that are bound, and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from classic.gpu.ledger import allocation_of
from manifests.kustomize import DIRECTORY, render
from resourceapi.objects import Object
from tests.e2e.classic_cluster import classic_cluster, node, until
from tests.e2e.classic_gpu import (
    DRIVER,
    EXAMPLES,
    GI,
    NAMESPACE,
    SECOND_DRIVER,
    GPUCluster,
    claim,
    gpu_driver,
    pod,
    requirements,
    template,
)
from tests.e2e.programs import Program

#: A pod that does not fit is tried again soon.
_CONFIG = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 2}
_NODES = (
    node("big", labels={f"{DRIVER}/count": "2", f"{DRIVER}/memory": "16Gi"}),
    node("small", labels={f"{DRIVER}/count": "1", f"{DRIVER}/memory": "4Gi", f"{SECOND_DRIVER}/count": "1"}),
    node("none", labels={f"{DRIVER}/count": "0"}),
)


@pytest.fixture(scope="module")
def gpus() -> Iterator[GPUCluster]:
    with classic_cluster(_NODES, scheduler_config=_CONFIG) as cluster:
        yield GPUCluster(cluster)


@pytest.fixture(scope="module")
def driver(gpus: GPUCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The driver with the rights that its manifests give it, as one of several replicas."""
    log = tmp_path_factory.mktemp("driver") / "driver.log"
    with gpu_driver(gpus, log, "--leader-elect", "--lease-namespace", NAMESPACE) as program:
        yield program
        program.stop()
        assert "forbidden" not in log.read_text()


@pytest.fixture(autouse=True)
def nothing_is_left(gpus: GPUCluster) -> Iterator[None]:
    """When pods are gone, so are their claims and contexts, with all finalizers."""
    yield
    for each in gpus.all("Pod"):
        gpus.delete("Pod", each["metadata"]["name"])
    until(lambda: not gpus.all("PodSchedulingContext"), "contexts are left")
    for kind in ("ResourceClaim", "ResourceClaimTemplate", "GPURequirements"):
        for each in gpus.all(kind):
            gpus.delete(kind, each["metadata"]["name"])
    until(lambda: not gpus.all("ResourceClaim"), f"left: {gpus.all('ResourceClaim')}")


def allocated(found: Object) -> tuple[str, dict[str, int]]:
    """The node and the memory of GPUs that a claim has."""
    allocation = allocation_of(found["status"]["driverName"], found["status"]["allocation"])
    assert allocation is not None
    return allocation.node, allocation.memory


def test_pods_of_the_manifests_are_admitted(gpus: GPUCluster) -> None:
    """In the namespaces that they bring, without an unknown field, and without a warning."""
    for each in render(DIRECTORY / "classic-gpu"):
        if each["kind"] in ("Deployment", "DaemonSet"):
            namespace = each["metadata"]["namespace"]
            collection = f"/apis/apps/v1/namespaces/{namespace}/{each['kind'].lower()}s"
            strictly = {"fieldValidation": "Strict", "dryRun": "All"}
            answer = gpus.client.ask("POST", collection, each, strictly)
            assert (answer.code, answer.warnings) == (201, []), answer.body
            pod = {"apiVersion": "v1", "kind": "Pod", **each["spec"]["template"]}
            pod["metadata"] = {**pod["metadata"], "name": "c"}
            answer = gpus.client.ask("POST", f"/api/v1/namespaces/{namespace}/pods", pod, strictly)
            assert (answer.code, answer.warnings) == (201, []), answer.body


def test_pod_of_the_article_is_bound(gpus: GPUCluster, driver: Program) -> None:
    """With its class, parameters, template and pod, fixed where the article has mistakes."""
    gpus.create_all(EXAMPLES / "class.yaml")
    gpus.create_all(EXAMPLES / "pod.yaml")
    where = gpus.bound("device-consumer", driver)
    (found,) = gpus.claims_of("device-consumer")
    (device,) = allocated(found)[1].items()
    assert (allocated(found)[0], device[1]) == (where, 2 * GI)
    assert found["metadata"]["finalizers"] == ["gpu.example.com/deletion-protection"]
    status = found["status"]
    assert status["driverName"] == DRIVER
    assert [each["name"] for each in status["reservedFor"]] == ["device-consumer"]
    assert (
        '"initCommand": ["/usr/local/bin/acme-gpu-init", '
        in status["allocation"]["resourceHandles"][0]["data"]
    )


def test_immediate_claim_is_allocated_before_there_is_a_pod(gpus: GPUCluster, driver: Program) -> None:
    gpus.create(
        requirements("most", memory="10Gi"), claim("now", "most", mode="Immediate"), claim("later", "most")
    )
    until(
        lambda: "allocation" in (gpus.get("ResourceClaim", "now") or {}).get("status", {}),
        driver.last_words(30),
    )
    found = gpus.get("ResourceClaim", "now")
    assert found is not None
    assert allocated(found) == ("big", {"gpu-0": 10 * GI})
    assert "reservedFor" not in found["status"]
    later = gpus.get("ResourceClaim", "later")
    assert later is not None
    assert "finalizers" not in later["metadata"]  # nobody wants it yet
    gpus.create(pod("user", "claim/now", "claim/later"))
    assert gpus.bound("user", driver) == "big"
    assert [allocated(each) for each in gpus.claims_of("user")] == [
        ("big", {"gpu-0": 10 * GI}),
        ("big", {"gpu-1": 10 * GI}),
    ]


def test_large_objects_are_negotiated(gpus: GPUCluster, driver: Program) -> None:
    """Of which the driver holds outlines: it writes into what is stored, and leaves what others have written there."""
    labels = {f"label-{number}": "x" * 60 for number in range(5_000)}
    large = claim("large", "some")
    large["metadata"] |= {"labels": labels, "finalizers": ["example.com/another"]}
    gpus.create(requirements("some", memory="1Gi"), requirements("huge", memory="20Gi"), large)
    gpus.create(claim("waiting", "huge"), pod("user", "claim/large"), pod("waiting", "claim/waiting"))
    gpus.bound("user", driver)
    (found,) = gpus.claims_of("user")
    assert found["metadata"]["labels"] == labels
    assert found["metadata"]["finalizers"] == ["example.com/another", f"{DRIVER}/deletion-protection"]
    context = gpus.path("PodSchedulingContext", "waiting")
    merge = "application/merge-patch+json"
    until(lambda: gpus.get("PodSchedulingContext", "waiting") is not None, driver.last_words(30))
    annotated = {"metadata": {"annotations": {"note": "x" * 200_000}}}
    assert gpus.client.ask("PATCH", context, annotated, content_type=merge).code == 200
    nothing = {"status": {"resourceClaims": None}}
    assert gpus.client.ask("PATCH", f"{context}/status", nothing, content_type=merge).code == 200
    until(lambda: gpus.client.ask("GET", context).body.get("status"), driver.last_words(30))
    assert gpus.client.ask("GET", context).body["metadata"]["annotations"]["note"] == "x" * 200_000
    gpus.delete("Pod", "user")
    gpus.delete("ResourceClaim", "large")
    another = ["example.com/another"]
    until(
        lambda: (
            gpus.client.ask("GET", gpus.path("ResourceClaim", "large")).body["metadata"]["finalizers"]
            == another
        ),
        driver.last_words(30),
    )
    left = {"metadata": {"finalizers": None}}
    assert gpus.client.ask("PATCH", gpus.path("ResourceClaim", "large"), left, content_type=merge).code == 200


def test_unsuitable_nodes_are_passed_over(gpus: GPUCluster, driver: Program) -> None:
    """A node without GPUs, and one whose GPU is too small, or too small for both claims together."""
    gpus.create(requirements("half", memory="3Gi"), template("half", "half"))
    gpus.create(pod("one", "template/half", "template/half"), pod("two", "template/half", "template/half"))
    assert [gpus.bound(name, driver) for name in ("one", "two")] == ["big", "big"]
    said = [
        set(entry.get("unsuitableNodes", ()))
        for event in gpus.cluster.writes()
        if event["objectRef"]["resource"] == "podschedulingcontexts"
        and event["objectRef"].get("subresource") == "status"
        and event["objectRef"]["name"] == "one"
        for entry in event["requestObject"]["status"]["resourceClaims"]
    ]
    assert {"none", "small"} in said


def test_pod_waits_until_there_is_room(gpus: GPUCluster, driver: Program) -> None:
    """GPUs of a pod that is deleted are for the next one."""
    gpus.create(template("whole", ""))
    gpus.create(*(pod(f"user-{number}", "template/whole") for number in range(3)))
    assert {gpus.bound(f"user-{number}", driver) for number in range(3)} == {"big", "small"}
    gpus.create(pod("waiting", "template/whole"))
    until(lambda: _is_unsuitable_everywhere(gpus, "waiting"), driver.last_words(30))
    assert not gpus.node_of("waiting")
    gone = gpus.node_of("user-1")
    gpus.delete("Pod", "user-1")
    assert gpus.bound("waiting", driver) == gone


def _is_unsuitable_everywhere(gpus: GPUCluster, name: str) -> bool:
    context = gpus.get("PodSchedulingContext", name) or {}
    return any(
        set(each.get("unsuitableNodes", ())) == {"big", "none", "small"}
        for each in context.get("status", {}).get("resourceClaims", ())
    )


def test_wrong_quantity_is_told_in_events_until_it_is_right(gpus: GPUCluster, driver: Program) -> None:
    """Of the pod and of the claim; a text that is no quantity is refused by the API server."""
    wrong = gpus.client.ask(
        "POST",
        "/apis/gpu.example.com/v1/namespaces/default/gpurequirements",
        requirements("x", memory="2 gigs"),
    )
    assert wrong.code == 422
    gpus.create(requirements("few", memory="0"), claim("few", "few"), pod("user", "claim/few"))
    problem = 'memory: "0": must be a whole number of bytes above 0, such as 2Gi'
    until(lambda: _tells(gpus, "few", problem) and _tells(gpus, "user", problem), driver.last_words(30))
    change = {"memory": "1Gi"}
    gpus.client.ask(
        "PATCH", gpus.path("GPURequirements", "few"), change, content_type="application/merge-patch+json"
    )
    assert gpus.bound("user", driver)


def _tells(gpus: GPUCluster, name: str, problem: str) -> bool:
    """Whether an event about an object says so."""
    return any(problem in note for note in gpus.events_about(name))


def test_parameters_that_are_missing_are_told_until_they_are_there(gpus: GPUCluster, driver: Program) -> None:
    gpus.create(claim("early", "late", mode="Immediate"))
    problem = "there is no GPURequirements.gpu.example.com late in namespace default"
    until(lambda: _tells(gpus, "early", problem), driver.last_words(30))
    gpus.create(requirements("late", memory="1Gi"))
    until(
        lambda: "allocation" in (gpus.get("ResourceClaim", "early") or {}).get("status", {}),
        driver.last_words(30),
    )


def test_two_drivers_agree_on_a_node_for_a_pod(gpus: GPUCluster, driver: Program, tmp_path: Path) -> None:
    """Only the small node has GPUs of both."""
    second = {"kind": "ResourceClass", "metadata": {"name": SECOND_DRIVER}, "driverName": SECOND_DRIVER}
    gpus.create(second, requirements("little", memory="1Gi"))
    gpus.create(template("first", "little"), template("second", "little", of=SECOND_DRIVER))
    with gpu_driver(gpus, tmp_path / "second.log", "--gpus-per-node", "0", name=SECOND_DRIVER) as other:
        gpus.create(*(pod(f"user-{number}", "template/first", "template/second") for number in range(4)))
        assert {gpus.bound(f"user-{number}", other) for number in range(4)} == {"small"}
        first, of_second = gpus.claims_of("user-0")
        assert (first["status"]["driverName"], of_second["status"]["driverName"]) == (DRIVER, SECOND_DRIVER)
        for number in range(4):
            gpus.delete("Pod", f"user-{number}")
        until(lambda: not gpus.all("ResourceClaim"), other.last_words(30))


def test_driver_that_is_killed_knows_what_it_has_allocated(gpus: GPUCluster, driver: Program) -> None:
    gpus.create(template("whole", ""))
    gpus.create(pod("before", "template/whole"), pod("before-2", "template/whole"))
    taken = [gpus.bound(name, driver) for name in ("before", "before-2")]
    driver.kill()
    gpus.create(pod("after", "template/whole"), pod("too-many", "template/whole"))
    driver.start()
    until(lambda: bool(gpus.node_of("after") or gpus.node_of("too-many")), driver.last_words(30))
    third = gpus.node_of("after") or gpus.node_of("too-many")
    assert sorted([*taken, third]) == ["big", "big", "small"]
    waiting = "too-many" if gpus.node_of("after") else "after"
    until(lambda: _is_unsuitable_everywhere(gpus, waiting), driver.last_words(30))


def test_replica_that_waits_takes_over(gpus: GPUCluster, driver: Program, tmp_path: Path) -> None:
    """When the one that leads is killed; what that one has allocated stays so."""
    flags = ("--leader-elect", "--lease-namespace", NAMESPACE)
    gpus.create(template("whole", ""), pod("before", "template/whole"), pod("before-2", "template/whole"))
    taken = [gpus.bound(name, driver) for name in ("before", "before-2")]
    with gpu_driver(gpus, tmp_path / "second.log", *flags) as second:
        driver.kill()
        gpus.create(pod("after", "template/whole"))
        assert sorted([*taken, gpus.bound("after", second)]) == ["big", "big", "small"]
        driver.start()
        for name in ("before", "before-2", "after"):
            gpus.delete("Pod", name)
        until(lambda: not gpus.all("ResourceClaim"), second.last_words(30))
