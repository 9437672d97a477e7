"""The node plugin with kubelet's own code: from an article's YAML to the devices of a container, and back."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.classic_cluster import classic_cluster, node, until
from tests.e2e.classic_gpu import DRIVER, EXAMPLES, GPUCluster, gpu_driver
from tests.e2e.kubelet_claims import KubeletClaims, running_kubelet_claims
from tests.e2e.programs import Program, running

NODE, POD = "worker-1", "device-consumer"
INIT = "/usr/local/bin/acme-gpu-init"


@pytest.fixture(scope="module")
def uid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[GPUCluster, str]]:
    """A cluster where the article's pod is bound, and the UID of its claim."""
    log = tmp_path_factory.mktemp("driver") / "driver.log"
    with classic_cluster([node(NODE)]) as cluster:
        gpus = GPUCluster(cluster)
        with gpu_driver(gpus, log) as driver:
            gpus.create_all(EXAMPLES / "class.yaml")
            gpus.create_all(EXAMPLES / "pod.yaml")
            assert gpus.bound(POD, driver) == NODE
            (claim,) = gpus.claims_of(POD)
            yield gpus, claim["metadata"]["uid"]


@pytest.fixture
def kubelet_directory() -> Iterator[Path]:
    # pytest's own directories are too deep for the paths of sockets.
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


@contextlib.contextmanager
def node_plugin(kubelet_directory: Path, *flags: str) -> Iterator[Program]:
    command = [
        str(Path(sys.executable).with_name("claimcheck")),
        *("classic-driver", "--example", "gpu", "--node-plugin"),
        *("--kubelet-directory", str(kubelet_directory), "--cdi-directory", str(kubelet_directory / "cdi")),
        *flags,
    ]
    with running(command, kubelet_directory / "node-plugin.log") as program:
        yield program


def spec(kubelet_directory: Path) -> Any:
    (file,) = (kubelet_directory / "cdi").iterdir()
    return json.loads(file.read_text())


def registered(kubelet: KubeletClaims, plugin: Program, times: int = 1) -> None:
    """Wait until kubelet knows the plugin; of one that was killed it would go on believing so."""
    told = "kubelet has registered the plugin"
    until(lambda: plugin.log.read_text().count(told) >= times, f"not registered: {plugin.last_words()}")
    assert kubelet.ask("registered", DRIVER) == {}


def test_kubelet_has_the_claims_of_a_pod_prepared(
    uid: tuple[GPUCluster, str], kubelet_directory: Path
) -> None:
    """The device, its variable and the class's hook; the same again after kubelet and the plugin are started again."""
    gpus, claim = uid
    device = f"{DRIVER}/gpu=gpu-0.{claim}"
    expected = {"devices": [device], "annotations": {f"cdi.k8s.io/{DRIVER}_{claim}": device}}
    with running_kubelet_claims(gpus.cluster.kubeconfig, kubelet_directory, NODE) as kubelet:
        with node_plugin(kubelet_directory, "--allow-init-command", INIT) as plugin:
            registered(kubelet, plugin)
            assert kubelet.ask("prepare", POD) == expected
            prepared = spec(kubelet_directory)
            edits = prepared["devices"][0]["containerEdits"]
            assert edits["env"] == ["GPU_0_MEMORY=2Gi"]
            assert edits["hooks"][0]["args"] == [INIT, "--cluster", "my-cluster"]
            assert kubelet.ask("restart") == {}
            assert kubelet.ask("prepare", POD) == expected
            plugin.kill()
        with node_plugin(kubelet_directory, "--allow-init-command", INIT) as plugin:
            registered(kubelet, plugin, times=2)
            assert kubelet.ask("restart") == {}
            assert kubelet.ask("prepare", POD) == expected
            assert spec(kubelet_directory) == prepared
            assert kubelet.ask("unprepare", POD) == {}
            assert list((kubelet_directory / "cdi").iterdir()) == []
            plugin.stop()
            assert kubelet.ask("forgotten", DRIVER) == {}


def test_an_init_command_that_the_node_does_not_allow(
    uid: tuple[GPUCluster, str], kubelet_directory: Path
) -> None:
    """kubelet's error says what to do about it; nothing is left on the node."""
    gpus, _ = uid
    with (
        running_kubelet_claims(gpus.cluster.kubeconfig, kubelet_directory, NODE) as kubelet,
        node_plugin(kubelet_directory) as plugin,
    ):
        registered(kubelet, plugin)
        error = kubelet.ask("prepare", POD)["error"]
        assert error.startswith(f"NodePrepareResources failed for claim default/{POD}-gpu-")
        assert error.endswith(
            f"the node plugin may not run {INIT}, with which the class initializes GPUs: "
            "it needs --allow-init-command with that path"
        )
        assert not (kubelet_directory / "cdi").exists()
