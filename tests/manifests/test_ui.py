"""The manifests of the page: it reads, asks about people, and can do nothing else; an e2e test runs it with these rights."""

from __future__ import annotations

import pytest

from commandline.main import main
from commandline.subcommands import parser_of
from manifests.kustomize import DIRECTORY, render
from tests.case_files import read_all
from tests.manifests.test_watch import READ
from tests.webhook.rights import granted

ACCOUNT = ("claimcheck-system", "claimcheck-ui")


def test_reads_what_scheduling_depends_on_and_asks_about_people() -> None:
    reading = {
        (group, resource, verb, "", "")
        for group, resources in READ.items()
        for resource in resources.split()
        for verb in ("list", "watch")
    }
    asking = {
        ("authentication.k8s.io", "tokenreviews", "create", "", ""),
        ("authorization.k8s.io", "subjectaccessreviews", "create", "", ""),
    }
    assert granted(render(DIRECTORY / "ui"), ACCOUNT) == reading | asking


def test_its_parts_fit_together() -> None:
    """The command takes the arguments; the Service, the probes and the policy are about the port at which it serves."""
    objects = {each["kind"]: each for each in render(DIRECTORY / "ui")}
    pod = objects["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    subcommand, *arguments = container["args"]
    options = parser_of(subcommand).parse(arguments)
    (port,) = container["ports"]
    assert (options.sign_in, options.port) == (True, port["containerPort"])
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    assert [options.certificate, options.key] == [
        f"{mounts['tls']}/{name}" for name in ("tls.crt", "tls.key")
    ]
    for spec in (
        objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
        objects["Service"]["spec"]["selector"],
    ):
        assert spec.items() <= pod["metadata"]["labels"].items()
    (rule,), (served,) = objects["NetworkPolicy"]["spec"]["ingress"], objects["Service"]["spec"]["ports"]
    probed = [container[each]["httpGet"]["port"] for each in ("livenessProbe", "readinessProbe")]
    assert {served["targetPort"], *probed, *(each["port"] for each in rule["ports"])} == {port["name"]}
    assert rule["from"]
    assert container["resources"]["limits"].keys() == {"cpu", "memory"}


@pytest.mark.parametrize("namespace", ["claimcheck-system", "monitored"])
def test_certificates_are_of_somebody_else(namespace: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of cert-manager, for the Service, or of whoever makes the Secret."""
    options = ["manifests", "--component", "ui", "--image", "i", "--namespace", namespace]
    assert main([*options, "--certificates", "secret"]) == 0
    given = {each["kind"]: each for each in read_all(capsys.readouterr().out)}
    assert main([*options, "--certificates", "cert-manager"]) == 0
    made = {each["kind"]: each for each in read_all(capsys.readouterr().out)}
    assert made.keys() - given.keys() == {"Issuer", "Certificate"}
    certificate = made["Certificate"]["spec"]
    (volume, _) = made["Deployment"]["spec"]["template"]["spec"]["volumes"]
    assert volume["secret"]["secretName"] == certificate["secretName"]
    assert f"{made['Service']['metadata']['name']}.{namespace}.svc" in certificate["dnsNames"]
    assert main(options) == 2
    assert "the page may write no Secret" in capsys.readouterr().err
