"""The service before a real API server, configured and registered as an overlay has it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import yaml

from commandline.kustomize import render
from tests.e2e.client import Client
from tests.e2e.controlplane import ApiServer
from tests.webhook.running import Running

MANIFESTS = Path(__file__).parents[2] / "manifests"
NAMESPACE = "claimcheck-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:claimcheck"
Object = dict[str, Any]


def objects_of(overlay: str) -> list[Object]:
    """What is applied for an overlay."""
    return render(MANIFESTS / "overlays" / overlay)


def configuration(overlay: str, server: ApiServer, token_file: Path) -> Object:
    """The overlay's configuration with what differs outside of a pod."""
    access = json.loads(server.kubeconfig.read_text())["clusters"][0]["cluster"]
    whole: Object = yaml.safe_load((MANIFESTS / "overlays" / overlay / "webhook.yaml").read_text())
    del whole["listen"], whole["tls"]
    whole["apiServer"].update(
        address=access["server"], tokenFile=str(token_file), caFile=access["certificate-authority"]
    )
    return whole


def account_token(client: Client) -> str:
    """A token of the service's account, which is there already."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/claimcheck/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = client.ask("POST", path, request)
    assert answer.code == 201, answer.body
    return str(answer.body["status"]["token"])


def register_overlay(client: Client, overlay: str, service: Running) -> None:
    """Create the overlay's webhook configurations; they ask the service on loopback."""
    url = f"https://127.0.0.1:{service.port}"
    bundle = base64.b64encode(service.authority.read_bytes()).decode()
    for obj in objects_of(overlay):
        if not obj["kind"].endswith("WebhookConfiguration"):
            continue
        for webhook in obj["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": url + path, "caBundle": bundle}
        plural = obj["kind"].lower() + "s"
        answer = client.ask("POST", f"/apis/admissionregistration.k8s.io/v1/{plural}", obj)
        assert answer.code == 201, answer.body
