"""How an API server is told to show webhooks a client certificate (`--admission-control-config-file`)."""

from __future__ import annotations

import json
from pathlib import Path


def write_admission_configuration(directory: Path, host: str, certificate: Path) -> Path:
    """The file for the flag; webhooks at `host` (`name.namespace.svc`, or host and port of a URL) get the certificate.

    `certificate`: PEM of the certificate and its key. Source: kubernetes.io, "Authenticate apiservers" of dynamic
    admission control.
    """
    user = {"client-certificate": str(certificate), "client-key": str(certificate)}
    kubeconfig = directory / "webhooks.kubeconfig"
    kubeconfig.write_text(
        json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": host, "user": user}]})
    )
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(kubeconfig),
    }
    whole = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "ValidatingAdmissionWebhook", "configuration": configuration}],
    }
    path = directory / "admission.yaml"
    path.write_text(json.dumps(whole))
    return path
