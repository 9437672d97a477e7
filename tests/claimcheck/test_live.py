"""Clusters that are read from an API server: by a kubeconfig, and by a client of the package ``kubernetes``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import claimcheck
from claimcheck import Cluster
from tests.claimcheck.objects import CLUSTER, claim, pod
from tests.commandline.test_kubeconfig import GROUP, TOKEN, FakeCluster, _address, _kubeconfig, cluster

__all__ = ["cluster"]


def _by_kubeconfig(server: str, directory: Path) -> Cluster:
    return Cluster.from_kubeconfig(_kubeconfig(directory, server), context="test")


def _by_client(server: str, directory: Path) -> Cluster:
    from kubernetes import client  # hundreds of modules, which not every process needs

    configuration = client.Configuration(host=server + "/")
    configuration.api_key["authorization"] = f"Bearer {TOKEN}"
    with client.ApiClient(configuration) as api_client:
        api_client.set_default_header("Impersonate-User", "jane")
        return Cluster.from_api_client(api_client)


WAYS = {"kubeconfig": _by_kubeconfig, "client": _by_client}
Way = Callable[[str, Path], Cluster]


@pytest.fixture
def filled(cluster: FakeCluster) -> FakeCluster:
    """A server with the objects of the placement example."""
    cluster.version = {"major": "1", "minor": "36"}
    versions = ("resourceclaims", "deviceclasses", "resourceslices")
    cluster.versions = {"v1": versions}
    cluster.lists = {
        f"{GROUP}/v1/resourceclaims": [],
        "/api/v1/namespaces": [{"metadata": {"name": "team-b"}}],
    }
    for each in Cluster.from_files(CLUSTER).manifests:
        value = each.value
        plural = {"DeviceClass": "deviceclasses", "Node": "nodes"}.get(
            value["kind"], f"{value['kind'].lower()}s"
        )
        path = f"/api/v1/{plural}" if value["apiVersion"] == "v1" else f"{GROUP}/v1/{plural}"
        cluster.lists.setdefault(path, []).append(value)
    return cluster


@pytest.mark.parametrize("way", WAYS)
def test_the_objects_of_a_live_cluster(way: str, filled: FakeCluster, tmp_path: Path) -> None:
    """Answers are those about the same objects in files, as of the release that the cluster runs."""
    found = WAYS[way](_address(filled), tmp_path)
    assert (found.kube_version, found.problems) == ("1.36", [])
    files = Cluster.from_files(CLUSTER)
    assert found.devices() == files.devices()
    assert (
        claimcheck.explain(claim(count=4), found).remedies
        == claimcheck.explain(claim(count=4), files).remedies
    )
    assert claimcheck.validate(claim(), cluster=found) == []
    (warning,) = claimcheck.validate(pod(resourceClaimName="none"), cluster=found, namespace="team-b")
    assert 'ResourceClaim "none" is not in namespace team-b of the cluster' in warning.message
    assert bool(filled.impersonated[-1]) is (way == "client")


@pytest.mark.parametrize("way", WAYS)
def test_what_may_not_be_read(way: str, filled: FakeCluster, tmp_path: Path) -> None:
    """It is named; where nothing can be said without it, the question has no answer."""
    filled.forbidden = {f"{GROUP}/v1/resourceslices"}
    found = WAYS[way](_address(filled), tmp_path)
    assert len(found.problems) == 1
    assert "resourceslices: " in found.problems[0]
    with pytest.raises(claimcheck.ClaimcheckError, match="ResourceSlices could not be read"):
        claimcheck.explain(claim(), found)


def test_a_cluster_that_does_not_answer(tmp_path: Path) -> None:
    with pytest.raises(claimcheck.ClaimcheckError, match="no answer from"):
        Cluster.from_kubeconfig(_kubeconfig(tmp_path, "http://127.0.0.1:1"))
    with pytest.raises(claimcheck.ClaimcheckError, match="no such file"):
        Cluster.from_kubeconfig(tmp_path / "none")


def test_what_is_no_client() -> None:
    with pytest.raises(claimcheck.ClaimcheckError, match=r"expected a kubernetes\.client\.ApiClient"):
        Cluster.from_api_client(object())
