"""The cluster that schedules pods, and the plugin for pytest that brings it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import claimcheck
from claimcheck import FakeCluster, Unschedulable
from tests.claimcheck.objects import CLUSTER, Json, claim, pod, template
from tests.claimcheck.plugin_runs import pytest_with_plugin


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster.from_files(CLUSTER)


def test_pods_get_different_devices_until_none_is_left(cluster: FakeCluster) -> None:
    """One of four halves is broken by the notebook that the example has; the pod that finds none is refused as by kube-scheduler."""
    found = [cluster.schedule([pod(name), template()]) for name in ("a", "b", "c")]
    assert {each.node for each in found} == {"gpu-node"}
    assert len({device.device for each in found for device in each.devices}) == 3
    with pytest.raises(
        Unschedulable, match="Pod default/d: 0/1 nodes are available: 1 cannot allocate all claims"
    ):
        cluster.schedule([pod("d"), template()])


def test_the_status_of_claims(cluster: FakeCluster) -> None:
    """It is what kube-scheduler writes: the allocation, and who has reserved the claim."""
    scheduled = cluster.schedule([pod("a"), template()])
    ((name, status),) = scheduled.claims.items()
    assert name == "default/a-gpu"
    (result,) = status["allocation"]["devices"]["results"]
    assert (result["request"], result["driver"], result["pool"]) == ("gpu", "gpu.example.com", "gpu-node")
    assert [(user["resource"], user["name"]) for user in status["reservedFor"]] == [("pods", "a")]


def test_a_shared_claim(cluster: FakeCluster) -> None:
    """The second pod uses the devices of the first, and both have reserved the claim."""
    first = cluster.schedule([pod("a", resourceClaimName="gpu"), claim()])
    second = cluster.schedule(pod("b", resourceClaimName="gpu"))
    assert first.devices == second.devices
    assert [user["name"] for user in second.claims["default/gpu"]["reservedFor"]] == ["a", "b"]


def test_other_questions_see_what_has_been_scheduled(cluster: FakeCluster) -> None:
    """`explain` and `simulate` answer for the cluster as it is then."""
    assert len(claimcheck.simulate([claim("x"), claim("y"), claim("z")], cluster).placed) == 3
    cluster.schedule([pod("a"), template()])
    assert len(claimcheck.simulate([claim("x"), claim("y"), claim("z")], cluster).placed) == 2
    assert "pod default/a ended" in " ".join(
        each.text for each in claimcheck.explain(claim(count=3), cluster).remedies
    )


REFUSED: dict[str, tuple[list[Json], type[Exception], str]] = {
    "missing template": (
        [pod()],
        Unschedulable,
        "Pod default/train: waits for template default/gpu, which does not exist",
    ),
    "refused pod": (
        [{**pod("A"), "spec": {}}],
        claimcheck.ClaimcheckError,
        'Pod default/A: Pod "A" is invalid',
    ),
    "claim alone": (
        [claim()],
        claimcheck.ClaimcheckError,
        "expected one pod, found ResourceClaim default/gpu",
    ),
    "two pods": ([pod("a"), pod("b"), template()], claimcheck.ClaimcheckError, "expected one pod, found Pod"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_scheduled(case: str, cluster: FakeCluster) -> None:
    given, error, message = REFUSED[case]
    with pytest.raises(error) as raised:
        cluster.schedule(given)
    assert str(raised.value).startswith(message)


def test_a_pod_is_scheduled_once(cluster: FakeCluster) -> None:
    cluster.schedule([pod(), template()])
    with pytest.raises(claimcheck.ClaimcheckError, match="is on a node already"):
        cluster.schedule(pod())


TESTS = """
import pytest
from claimcheck import Unschedulable
from claimcheck.pytest_plugin import assert_valid
from tests.claimcheck.objects import claim, pod, template


def test_valid():
    assert_valid([claim(), pod(), template()], kube_version="1.36")


def test_invalid():
    wrong = claim("GPU")
    wrong["specs"] = 1
    assert_valid(wrong)


def test_update():
    assert_valid(claim(), old=claim(), namespace="team")
    with pytest.raises(pytest.fail.Exception, match="immutable"):
        assert_valid(claim(count=2), old=claim(), namespace="team")


def test_warnings(dra_cluster):
    wanted = claim()
    wanted["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = "gpu.example.org"
    assert_valid(wanted, cluster=dra_cluster)
    with pytest.raises(pytest.fail.Exception, match="gpu.example.org"):
        assert_valid(wanted, cluster=dra_cluster, warnings=True)


test_warnings = pytest.mark.dra_cluster("cluster.yaml")(test_warnings)


@pytest.mark.dra_cluster("cluster.yaml", kube_version="1.36")
@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_each_test_has_its_own(dra_cluster, name):
    assert dra_cluster.kube_version == "1.36"
    assert dra_cluster.schedule([pod(name, resourceClaimTemplateName="gpu"), template(profile="full")]).node == "gpu-node"


def test_without_files(dra_cluster):
    pass
"""


def test_the_plugin(tmp_path: Path) -> None:
    """A project's tests with it: what the server would say is in the report, and each test has a cluster of its own."""
    (tmp_path / "test_driver.py").write_text(TESTS)
    shutil.copy(CLUSTER, tmp_path / "cluster.yaml")
    printed = pytest_with_plugin(tmp_path)
    assert "1 failed, 7 passed, 1 error" in printed
    assert "object: error: ResourceClaim default/GPU: specs: unknown field" in printed
    assert "hint: remove it: `spec` is there as well" in printed
    assert "name the files of the cluster with @pytest.mark.dra_cluster(FILE, …)" in printed
