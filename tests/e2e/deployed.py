"""The service before a real API server, configured and registered as an overlay has it."""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

import yaml

from commandline.manifests import deployment, options
from resourceapi.objects import Object
from tests.e2e.client import Answer, Client
from tests.e2e.control_plane import ApiServer
from tests.webhook.running import Running

NAMESPACE = "claimcheck-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:claimcheck"
INJECTOR = f"{ACCOUNT}-ca"
LONGEST_WAIT = 30
"""How long the API server waits for a webhook, in seconds: no longer time can be configured.

All programs of a test share a few processors, also with other tests.
"""


def objects_of(overlay: str, certificates: str = "secret", *, with_quota: bool = False) -> list[Object]:
    """What is applied for an overlay; `with_quota` is as if an authority for API servers were named."""
    parser = ArgumentParser()
    options.add_arguments(parser)
    arguments = ["--mode", overlay, "--certificates", certificates]
    with NamedTemporaryFile("w", suffix=".crt") as authority:
        authority.write("-----BEGIN CERTIFICATE-----\n")
        authority.flush()
        arguments += ["--client-authority", authority.name] * with_quota
        return deployment.objects_of(parser.parse_args(arguments))


def configuration(objects: list[Object], server: ApiServer, token_file: Path) -> Object:
    """The configuration that is deployed with what differs outside of a pod; that of given certificates is left out."""
    access = json.loads(server.kubeconfig.read_text())["clusters"][0]["cluster"]
    (config_map,) = (
        obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == ("ConfigMap", "claimcheck")
    )
    whole: Object = yaml.safe_load(config_map["data"]["webhook.yaml"])
    del whole["listen"]
    if "certificateFile" in whole["tls"]:
        del whole["tls"]
    else:
        for name in ("clientAuthorityFile", "requireClientCertificate"):
            whole["tls"].pop(name, None)
    whole["apiServer"].update(
        address=access["server"], tokenFile=str(token_file), caFile=access["certificate-authority"]
    )
    if "quota" in whole:
        # these API servers show no certificate
        whole["quota"]["insecureSkipClientVerify"] = True
    whole["policies"]["feasibility"]["insecureSkipClientVerify"] = True
    return whole


def apply(client: Client, obj: Object, **query: str) -> Answer:
    """Server-side apply."""
    group = "/api/v1" if obj["apiVersion"] == "v1" else f"/apis/{obj['apiVersion']}"
    metadata = obj["metadata"]
    namespace = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    kind = obj["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else kind + ("es" if kind.endswith("s") else "s")
    path = f"{group}{namespace}/{plural}/{metadata['name']}"
    options = {"fieldManager": "e2e", "fieldValidation": "Strict", **query}
    return client.ask("PATCH", path, obj, options, content_type="application/apply-patch+yaml")


def add_account(client: Client, objects: list[Object]) -> str:
    """Create the service's namespace, account and rights; a token of the account."""
    for obj in objects:
        if obj["kind"] in ("Namespace", "ServiceAccount") or "Role" in obj["kind"]:
            answer = apply(client, obj)
            assert answer.code in (200, 201), answer.body
    return account_token(client)


def account_token(client: Client, namespace: str = NAMESPACE, account: str = "claimcheck") -> str:
    """A token of the service's account, or another one that is there already."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = client.ask("POST", path, request)
    assert answer.code == 201, answer.body
    return str(answer.body["status"]["token"])


def register_overlay(client: Client, overlay: str, service: Running, bundle: str | None = None) -> None:
    """Create the overlay's webhook configurations; they ask the service on loopback, and wait for long.

    `bundle`: what the API server is to trust (base64) if that is not the authority in the service's directory.
    """
    url = f"https://127.0.0.1:{service.port}"
    if bundle is None:
        bundle = base64.b64encode(service.authority.read_bytes()).decode()
    for obj in objects_of(overlay):
        if not obj["kind"].endswith("WebhookConfiguration"):
            continue
        for webhook in obj["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": url + path, "caBundle": bundle}
            webhook["timeoutSeconds"] = LONGEST_WAIT
        plural = obj["kind"].lower() + "s"
        answer = client.ask("POST", f"/apis/admissionregistration.k8s.io/v1/{plural}", obj)
        assert answer.code == 201, answer.body


@contextlib.contextmanager
def injecting(
    directory: Path, objects: list[Object], server: ApiServer, namespace: str = NAMESPACE
) -> Iterator[None]:
    """`claimcheck inject-ca` with its own account and what a kubelet would give it of the service's Secret."""
    mounted = directory / "ca.crt"
    ending = threading.Event()

    def mount() -> bool:
        answer = server.client.ask("GET", f"/api/v1/namespaces/{namespace}/secrets/claimcheck-tls")
        if answer.code == 200:
            fresh = directory / "ca.crt.fresh"
            fresh.write_bytes(base64.b64decode(answer.body["data"]["ca.crt"]))
            fresh.replace(mounted)
        return bool(answer.code == 200)

    def keep_mounted() -> None:
        while not ending.wait(1):
            mount()

    deadline = time.monotonic() + 180
    while not mount():
        assert time.monotonic() < deadline, "there is no Secret"
        time.sleep(0.2)
    token = directory / "injector-token"
    token.write_text(account_token(server.client, namespace, "claimcheck-ca"))
    file = directory / "injector.yaml"
    file.write_text(yaml.safe_dump(configuration(objects, server, token)))
    command = [str(Path(sys.executable).with_name("claimcheck")), "inject-ca", "--config", str(file)]
    kubelet = threading.Thread(target=keep_mounted)
    kubelet.start()
    with subprocess.Popen([*command, "--bundle", str(mounted)]) as process:
        try:
            yield
        finally:
            ending.set()
            kubelet.join()
            process.terminate()
    assert process.returncode == 0
