"""What a process follows of a cluster, and who gets to know of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from resourceapi.records.nodes import Node
from resourceapi.releases import Profile
from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import Terms
from serving.config_file import ConfigError
from tests.webhook.test_config import FOR_ALL, TLS, load
from webhook.assembly import make_cluster, make_context
from webhook.cluster import Cluster
from webhook.devices import DeviceIndex
from webhook.object_cache import host_name_of

WATCHING = """
apiServer:
  address: https://127.0.0.1:1
  tokenFile: token
  caFile: {ca}
  namespaces: Watch
  {more}
"""
EVERYTHING = "nodes: Watch\n  devices: Watch\n  claims: Watch"


def authority(directory: Path) -> str:
    """A file with a certificate."""
    terms = Terms(("127.0.0.1",), timedelta(9), timedelta(9), timedelta(1))
    maintain(DirectoryStore(directory), terms, datetime.now(UTC))
    return "current/ca.crt"


@pytest.mark.parametrize(
    ("more", "paths"),
    [
        ("claims: 'Off'", {"/api/v1/namespaces"}),
        (
            EVERYTHING,
            {
                "/api/v1/namespaces",
                "/api/v1/nodes",
                "/apis/resource.k8s.io/v1/resourceslices",
                "/apis/resource.k8s.io/v1/deviceclasses",
                "/apis/resource.k8s.io/v1/resourceclaims",
                "/apis/claimcheck.example.com/v1alpha3/resourceslicepatches",
            },
        ),
    ],
)
def test_what_is_configured_is_followed(tmp_path: Path, more: str, paths: set[str]) -> None:
    """One list and watch for each collection; nothing is known before the first list."""
    cluster = make_cluster(load(tmp_path, TLS + WATCHING.format(ca=authority(tmp_path), more=more)))
    assert {reflector.path for reflector in cluster.reflectors} == paths
    assert not cluster.is_synced()
    for reflector in cluster.reflectors:
        reflector.synced.set()
    assert cluster.is_synced()


def test_nothing_is_followed_by_default(tmp_path: Path) -> None:
    """Without a cluster all is known that will be."""
    assert make_cluster(load(tmp_path, TLS)).is_synced()


def test_unreadable_authorities(tmp_path: Path) -> None:
    """They are reported where they are named."""
    config = load(tmp_path, TLS + WATCHING.format(ca="none.crt", more=""))
    with pytest.raises(ConfigError, match=r"apiServer\.caFile: cannot use \S+/none\.crt: no such file"):
        make_cluster(config)


def test_contexts_share_what_is_followed(tmp_path: Path) -> None:
    """Another configuration changes what is done with it, not what is known."""
    config = load(tmp_path, TLS + WATCHING.format(ca=authority(tmp_path), more=EVERYTHING) + FOR_ALL)
    cluster = make_cluster(config)
    for _ in range(2):
        context = make_context(config, cluster)
        assert context.feasibility is not None
        cluster.namespaces.put({"metadata": {"name": "team", "labels": {"a": "b"}}})
        assert context.server.namespace_labels("team") == {"a": "b"}


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def test_nodes() -> None:
    """The allocator gets to know of nodes and their labels, but not of every heartbeat."""
    cluster = Cluster(Profile("1.37", {}))
    told: list[Any] = []
    cluster.nodes.listen(told.extend)
    labelled = {"kubernetes.io/hostname": "h", "zone": "z"}
    cluster.nodes.replace([node("a", **labelled), node("b")])
    cluster.nodes.put({**node("a", **labelled), "status": {"conditions": []}})
    cluster.nodes.put(node("b", zone="y"))
    cluster.nodes.put(node("c"))
    cluster.nodes.remove(node("c"))
    assert told == [
        ("a", None, Node("a", labelled)),
        ("b", None, Node("b")),
        ("b", Node("b"), Node("b", {"zone": "y"})),
        ("c", None, Node("c")),
        ("c", Node("c"), None),
    ]
    assert [host_name_of(cluster.nodes, name) for name in ("a", "b", "c")] == ["h", "b", "c"]
    assert cluster.devices.fitting.has_nodes
    cluster.nodes.lose()
    assert host_name_of(cluster.nodes, "a") == "a"
    assert not cluster.devices.fitting.has_nodes


def test_devices_are_known_with_slices_classes_and_patches() -> None:
    """Where slices or classes are not served, nothing is known; a cluster without the kind of patches has none."""
    devices = DeviceIndex(Profile("1.37", {}))
    changes: list[Callable[[], None]] = [
        lambda: devices.slices.replace([]),
        lambda: devices.device_classes.replace([]),
        devices.patches.lose,
        lambda: devices.patches.replace([]),
        devices.slices.lose,
    ]
    known = []
    for change in changes:
        change()
        known.append(devices.is_known)
    assert known == [False, False, True, True, False]


def test_patches_that_have_no_effect_need_not_be_known() -> None:
    """With the gate off, they are not even watched."""
    devices = DeviceIndex(Profile("1.37", {"DRAAdminControlledDeviceAttributes": False}))
    devices.slices.replace([])
    devices.device_classes.replace([])
    assert devices.is_known
