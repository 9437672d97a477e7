"""The second scheduler as its manifests deploy it, for programs on loopback: accounts, rights and configurations."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from commandline.manifests import deployment, options
from resourceapi.objects import Object
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, kubeconfig
from tests.e2e.deployed import NAMESPACE, apply

SIDECAR, SCHEDULER = "claimcheck-scheduler", "claimcheck-kube-scheduler"
"""The accounts."""
SCHEDULER_NAME = "claimcheck"
_TOKEN_SECONDS = 24 * 3600


@cache
def manifests(mode: str = options.BUILT_IN_GUARD) -> list[Object]:
    """What is applied in a mode."""
    parser = ArgumentParser()
    options.add_arguments(parser)
    arguments = [
        "--component",
        "scheduler",
        "--mode",
        mode,
        "--image",
        "claimcheck",
        "--kube-scheduler-image",
        "kube-scheduler",
    ]
    return deployment.objects_of(parser.parse_args(arguments))


def add_accounts(client: Client, mode: str = options.BUILT_IN_GUARD) -> None:
    """Create the namespace, the accounts, what they may do in a mode, and what they may not create themselves."""
    for obj in manifests(mode):
        if obj["kind"] in ("Namespace", "ServiceAccount", "Lease", "EndpointSlice") or "Role" in obj["kind"]:
            answer = apply(client, obj)
            assert answer.code in (200, 201), answer.body


def token(client: Client, account: str, namespace: str = NAMESPACE) -> str:
    """A token of an account for longer than any test lasts."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    answer = client.ask("POST", path, request)
    assert answer.code == 201, answer.body
    return str(answer.body["status"]["token"])


def sidecar_configuration(server: ApiServer, directory: Path, port: int, address: str = "") -> Object:
    """The sidecar's, but for what pods have and processes have not: certificates are in `directory`.

    :param address: where it reaches the API server, if not directly.
    """
    access = json.loads(server.kubeconfig.read_text())["clusters"][0]["cluster"]
    file = directory / "sidecar-token"
    if not file.exists():
        file.write_text(token(server.client, SIDECAR))
    whole = _deployed("schedule.yaml")
    whole["listen"] = {"port": port}
    own = {"clientCertificate": whole["tls"]["clientCertificate"]}
    whole["tls"] = {"directory": str(directory / "certificates"), **own}
    whole["apiServer"].update(
        address=address or access["server"], tokenFile=str(file), caFile=access["certificate-authority"]
    )
    # Outside of a pod there is no endpoint to be written.
    whole["leaderElection"].pop("service", None)
    return whole


def authority(directory: Path) -> Path:
    """What sidecars are known by whose certificates are in `directory`."""
    return directory / "certificates" / "current" / "ca.crt"


def scheduler_configuration(server: ApiServer, directory: Path, port: int, queries: int) -> Object:
    """kube-scheduler's, but for where it finds what it needs.

    :param port: of the sidecar; 0 for none: then the plugin of kube-scheduler allocates, as administrator.
    :param queries: how many requests a second it may send.
    """
    whole = _deployed("kube-scheduler.yaml")
    whole["clientConnection"] = {"qps": queries, "burst": queries, "kubeconfig": str(server.kubeconfig)}
    # One that has been killed is not to be waited for.
    whole["leaderElection"] = {"leaderElect": False}
    if not port:
        del whole["extenders"]
        del whole["profiles"][0]["plugins"]
        return whole
    account = kubeconfig(
        server.kubeconfig.with_name("kubeconfig-scheduler"),
        server.client.port,
        token(server.client, SCHEDULER),
    )
    whole["clientConnection"]["kubeconfig"] = str(account)
    (extender,) = whole["extenders"]
    extender["urlPrefix"] = f"https://127.0.0.1:{port}"
    current = authority(directory).parent
    files = {"caFile": "ca.crt", "certFile": "client.crt", "keyFile": "client.key"}
    extender["tlsConfig"] = {name: str(current / file) for name, file in files.items()}
    return whole


def _deployed(file: str) -> dict[str, Any]:
    (text,) = (obj["data"][file] for obj in manifests() if obj["kind"] == "ConfigMap" and file in obj["data"])
    whole: dict[str, Any] = yaml.safe_load(text)
    return whole
