"""`claimcheck classic-driver`: what is said about options that do not fit; e2e tests run it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.leading import NotLeading
from commandline.main import main

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: c, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: c}}]
current-context: c
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG)
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the cluster with --kubeconfig FILE, --context NAME or --live"),
        (["--driver-name", "GPU driver"], "--driver-name GPU driver: "),
        (["--gpus-per-node", "many"], "--gpus-per-node: must be a whole number from 0 to 64"),
        (["--gpus-per-node", "65"], "--gpus-per-node: must be a whole number from 0 to 64"),
        (["--gpu-memory", "16GB"], '--gpu-memory: "16GB": must be a quantity such as 2Gi: '),
        (["--gpu-memory", "0"], '--gpu-memory: "0": must be a whole number of bytes above 0, such as 2Gi'),
        (["--health-port", "65536"], "--health-port 65536: expected a number from 0, for none, to 65535"),
        (["--health-port", "-1"], "--health-port -1: expected a number from 0, for none, to 65535"),
        (["--kubeconfig", "/nowhere"], "--kubeconfig /nowhere"),
        (["--node-plugin", "--live"], "the node plugin asks no cluster: leave out --kubeconfig, --context and --live"),
        (["--node-plugin", "--kubelet-directory", "kubelet"], "kubelet/plugins: the path must be absolute"),
        (["--node-plugin", "--driver-name", "1.example.com"], "a CDI vendor begins with a letter"),
        (["--node-plugin", "--driver-name", f"{'x' * 27}.com"], "the driver's name has more than 26 characters"),
    ],
)  # fmt: skip
def test_options_that_cannot_be_used(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["classic-driver", "--example", "gpu", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lease-namespace", "a"], "--lease-namespace is for --leader-elect"),
        (["--leader-elect", "--lease-namespace", "A"], "--lease-namespace A: no namespace has such a name"),
    ],
)
def test_lease_that_cannot_be(
    arguments: list[str], message: str, kubeconfig: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["classic-driver", "--example", "gpu", "--kubeconfig", kubeconfig, *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("example", [[], ["--example", "network"]])
def test_example_has_to_be_named(example: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classic-driver", *example]) == 2
    assert "--example" in capsys.readouterr().err


def test_cluster_without_classic_dra_is_refused_at_once(
    kubeconfig: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rather than waited for."""
    monkeypatch.setattr("cluster.client.Client.request", lambda *_, **__: (404, {"kind": "Status"}))
    assert main(["classic-driver", "--example", "gpu", "--kubeconfig", kubeconfig]) == 2
    assert "the cluster does not serve resource.k8s.io/v1alpha2" in capsys.readouterr().err


def test_lease_that_is_lost_ends_the_process_with_the_code_that_the_help_promises(
    kubeconfig: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever runs it starts it again."""

    async def lose(*_: object) -> None:
        raise NotLeading("another process leads")

    monkeypatch.setattr("cluster.client.Client.request", lambda *_, **__: (200, {"kind": "APIResourceList"}))
    monkeypatch.setattr("classic.gpu.driver.GPUController.run", lose)
    assert main(["classic-driver", "--example", "gpu", "--kubeconfig", kubeconfig, "--leader-elect"]) == 2
    assert "claimcheck: classic-driver: another process leads; start it again" in capsys.readouterr().err
