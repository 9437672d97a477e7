"""`claimcheck manifests --component watch`: what its options add."""

from __future__ import annotations

import pytest

from commandline.main import main
from resourceapi.objects import Object
from tests.case_files import read_all


def _printed(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Object]:
    assert main(["manifests", "--component", "watch", "--image", "claimcheck:1", *options]) == 0
    return {each["kind"]: each for each in read_all(capsys.readouterr().out)}


@pytest.mark.parametrize("namespace", ["claimcheck-system", "monitored"])
def test_prometheus_scrapes_the_port_that_there_is(
    namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is a PodMonitor only where it is asked for: a cluster may not have its kind."""
    plain = _printed(capsys)
    monitored = _printed(capsys, "--service-monitor", "--namespace", namespace)
    assert monitored.keys() - plain.keys() == {"PodMonitor"}
    monitor, pod = monitored["PodMonitor"], monitored["Deployment"]["spec"]["template"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (endpoint,), (container,) = monitor["spec"]["podMetricsEndpoints"], pod["spec"]["containers"]
    assert endpoint["port"] in [each["name"] for each in container["ports"]]
    assert monitor["metadata"]["namespace"] == namespace


def test_options_of_services_are_for_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--component", "watch", "--image", "i", "--certificates", "cert-manager"]) == 2
    assert "--certificates is for other components" in capsys.readouterr().err


def test_further_options_come_last(capsys: pytest.CaptureFixture[str]) -> None:
    """Only this component has them."""
    plain = _printed(capsys)["Deployment"]["spec"]["template"]["spec"]["containers"][0]["args"]
    found = _printed(capsys, "--argument=--report-port=8081", "--argument=--scheduler=a")["Deployment"]
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["args"] == [*plain, "--report-port=8081", "--scheduler=a"]
    for others in ([], ["--component", "scheduler", "--kube-scheduler-image", "k"], ["--component", "ui"]):
        assert main(["manifests", "--image", "i", *others, "--argument=--live"]) == 2
        assert "--argument is " in capsys.readouterr().err
