"""The sidecar beside API servers that have no compatibility groups, or do not serve what it needs."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.manifests.options import CRD_SERVED
from tests.e2e.control_plane import ApiServer, control_plane, free_port
from tests.e2e.custom_resources import CONTROLLERS_FLAG, FLAGS, crds_of
from tests.e2e.deployed_scheduler import add_accounts, authority, sidecar_configuration
from tests.e2e.scheduled_pods import Workloads
from tests.e2e.scheduling_cluster import SERVER_FLAGS, Sidecar, scheduling_cluster, until
from tests.scheduler.group_scenes import MIG, VGPU, slices, spec_asking

pytestmark = pytest.mark.e2e
GATE = "DRADeviceCompatibilityGroups"


@pytest.mark.parametrize(
    "flags", [[], ["--emulated-version=1.36"]], ids=["new-server-gate-off", "old-server"]
)
@pytest.mark.parametrize("is_on", [False, True], ids=["sidecar-gate-off", "sidecar-gate-on"])
def test_before_the_proposal(flags: Sequence[str], is_on: bool) -> None:
    """Where the API server drops groups, devices are given out as before KEP-5963, whatever the sidecar's gate is."""
    config = {"apiServer": {"featureGates": {GATE: is_on}}}
    with scheduling_cluster(
        replicas=1,
        server_flags=[*SERVER_FLAGS, *flags],
        config=config,
        controller_flags=flags,
        scheduler_flags=flags,
    ) as cluster:
        workloads = Workloads(cluster.client)
        workloads.add_class()
        workloads.add_node("n", slices((*MIG, *VGPU), "n"))
        for type in ("mig", "vgpu"):
            workloads.run(type, spec_asking(type), node="n")
            workloads.bound(type)
            assert "config" not in workloads.allocation(type)["devices"]


def test_server_loses_its_gate() -> None:
    """KEP-5963, upgrade and downgrade of the API server: what claims remember counts while that has groups."""
    on, off = f"--feature-gates={GATE}=true", f"--feature-gates={GATE}=false"
    config = {"apiServer": {"featureGates": {GATE: True}}}
    with scheduling_cluster(replicas=1, server_flags=[*SERVER_FLAGS, on], config=config) as cluster:
        [sidecar] = cluster.sidecars
        workloads = Workloads(cluster.client)
        workloads.add_class()
        workloads.add_node("n", slices((*MIG, *VGPU), "n"))
        workloads.run("mig", spec_asking("mig"), node="n")
        workloads.bound("mig")
        before = workloads.claim("mig")["status"]
        workloads.run("vgpu", spec_asking("vgpu"), node="n")
        workloads.refused("vgpu", "too few devices left after")
        cluster.server.restart(off)
        # as the driver does when it finds the gate off
        for each in slices(tuple(part._replace(groups=()) for part in (*MIG, *VGPU)), "n"):
            workloads.replace_slice(each)
        sidecar.restart()
        cluster.leader()
        workloads.bound("vgpu")
        cluster.server.restart()
        for each in slices((*MIG, *VGPU), "n"):
            workloads.replace_slice(each)
        sidecar.restart()
        cluster.leader()
        # One of them has a snapshot, the other has none: nothing goes with both.
        workloads.run("more", spec_asking("mig"), node="n")
        workloads.refused("more", "too few devices left after")
        assert workloads.claim("mig")["status"] == before


# --- what it refuses to begin with


@contextlib.contextmanager
def alone(server: ApiServer, **api_server: Any) -> Iterator[Sidecar]:
    """A sidecar beside an API server and nothing else."""
    with tempfile.TemporaryDirectory(prefix="claimcheck-e2e-") as run:
        directory, port = Path(run), free_port()
        config = sidecar_configuration(server, directory, port)
        config["apiServer"].update(api_server)
        file = directory / "sidecar.yaml"
        file.write_text(yaml.safe_dump(config))
        sidecar = Sidecar(file, directory / "sidecar.log", port, authority(directory))
        sidecar.start()
        try:
            yield sidecar
        finally:
            sidecar.stop()


def reasons(sidecar: Sidecar) -> list[str]:
    return [
        str(each["reason"]) for each in sidecar.logged() if each.get("message") == "API server not suitable"
    ]


def soon(sidecar: Sidecar, says: Callable[[list[str]], bool]) -> None:
    until(lambda: says(reasons(sidecar)), f"it says: {sidecar.last_words()}")


def test_no_v1() -> None:
    """A server without v1 is named with what it has; the sidecar waits, and is not ready."""
    flags = [
        "--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1beta1=true,resource.k8s.io/v1beta2=true"
    ]
    with control_plane("1.37", flags=flags) as server:
        add_accounts(server.client)
        with alone(server) as sidecar:
            expected = "the API server serves resource.k8s.io in v1beta2, v1beta1 only; the sidecar needs v1"
            soon(sidecar, lambda said: any(each.startswith(expected) for each in said))
            assert not sidecar.leads()


def test_crds_before_and_after() -> None:
    """A sidecar that is there before the CRDs begins when they are there; one for the built-in API refuses them."""
    with control_plane("1.37", flags=FLAGS) as server, tempfile.TemporaryDirectory() as directory:
        add_accounts(server.client, CRD_SERVED)
        with alone(server, serves="CustomResources") as early, alone(server) as mistaken:
            for each in (early, mistaken):
                soon(each, lambda said: any("does not serve resource.k8s.io" in reason for reason in said))
            with crds_of(server, Path(directory)):
                until(early.leads, f"it does not begin: {early.last_words()}")
                expected = "CRDs serve resource.k8s.io, so apiServer.serves must be CustomResources"
                soon(mistaken, lambda said: expected in said)
                assert not mistaken.leads()


def test_claims_that_nobody_creates() -> None:
    """With CRDs, kube-controller-manager as it runs by default creates no claims; the sidecar says what it needs."""
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="claimcheck-e2e-")))
        cluster = stack.enter_context(
            scheduling_cluster(
                replicas=1,
                server_flags=[*SERVER_FLAGS, *FLAGS],
                config={"apiServer": {"serves": "CustomResources"}},
                beside=lambda server: crds_of(server, directory),
            )
        )
        workloads = Workloads(cluster.client)
        workloads.add_template("one", spec_asking("mig"))
        workloads.add_pod("waiting", template="one")
        until(
            lambda: any(
                each.get("message") == "claims are not created"
                and CONTROLLERS_FLAG in str(each.get("advice"))
                for each in cluster.sidecars[0].logged()
            ),
            "the sidecar does not say what kube-controller-manager needs",
        )
