"""How the API server has `resource.k8s.io` where sidecars schedule: built in, or served by the project's CRDs."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.control_plane import ApiServer
from tests.e2e.custom_resources import CONTROLLERS_FLAG, FLAGS, crds_of
from tests.e2e.scheduling_cluster import SERVER_FLAGS, SchedulingCluster, scheduling_cluster

BUILT_IN, CRDS = "built-in", "crds"


@contextlib.contextmanager
def cluster_with_crds() -> Iterator[SchedulingCluster]:
    """A cluster with one sidecar, whose API server has the kinds of all proposals by CRDs."""
    with scheduling_cluster(
        replicas=1,
        server_flags=[*SERVER_FLAGS, *FLAGS],
        config={"apiServer": {"serves": "CustomResources", "release": "kep"}},
        beside=_with_crds,
        controller_flags=[CONTROLLERS_FLAG],
    ) as cluster:
        yield cluster


@contextlib.contextmanager
def _with_crds(server: ApiServer) -> Iterator[None]:
    with (
        tempfile.TemporaryDirectory(prefix="claimcheck-e2e-") as directory,
        crds_of(server, Path(directory), release="kep"),
    ):
        yield
