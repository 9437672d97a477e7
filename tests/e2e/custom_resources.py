"""A real API server that does not serve `resource.k8s.io`, with our CRDs and webhooks in its place."""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from resourceapi.kinds import KINDS
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.deployed import LONGEST_WAIT, add_account, configuration, objects_of
from tests.webhook.running import Running, running
from webhook.crds import crd_versions, definitions

GROUP = "resource.k8s.io"
WEBHOOKS = Path(__file__).parents[2] / "manifests" / "overlays" / "crd-served" / "webhooks.yaml"
BASE = Path(__file__).parents[2] / "manifests" / "base" / "webhooks.yaml"
FLAGS = [
    "--runtime-config=resource.k8s.io/v1=false",
    # the plugin wants slices of the built-in type and fails on custom resources; the flag replaces an earlier one
    "--disable-admission-plugins=ServiceAccount,NodeDeclaredFeatureValidator",
]
#: What kube-controller-manager needs beside custom resources, which there are not in its usual encoding.
CONTROLLERS_FLAG = "--kube-api-content-type=application/json"
_PATIENCE_SECONDS = 180


class Served(NamedTuple):
    """The server that asks and the service that answers."""

    server: ApiServer
    service: Running


@contextlib.contextmanager
def served_by_crds(directory: Path, namespaces: Mapping[str, Mapping[str, str]]) -> Iterator[Served]:
    """Start both, the service as it is deployed, and let them know each other; `namespaces` (name to labels) exist."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37", flags=FLAGS))
        for name, labels in namespaces.items():
            metadata = {"name": name, "labels": dict(labels)}
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            _create(server.client, "/api/v1/namespaces", namespace)
        yield Served(server, stack.enter_context(crds_of(server, directory)))


@contextlib.contextmanager
def crds_of(server: ApiServer, directory: Path, release: str = "") -> Iterator[Running]:
    """The CRDs on a server, and the service that they need, as it is deployed.

    :param release: whose answers the service gives, if not those of its manifests.
    """
    deployed = objects_of("crd-served")
    token = directory / "token"
    token.write_text(add_account(server.client, deployed))
    config = configuration(deployed, server, token)
    if release:
        config["apiServer"]["release"] = release
    with running(directory, **config, logging={"level": "info"}) as service:
        install(server.client, service)
        yield service


def install(client: Client, service: Running, bundle: str | None = None) -> None:
    """Create the CRDs and the webhook configurations of the overlay; returns when they are in effect.

    `bundle`: what the API server is to trust (base64) if that is not the authority in the service's directory.
    """
    url = f"https://127.0.0.1:{service.port}"
    if bundle is None:
        bundle = base64.b64encode(service.authority.read_bytes()).decode()
    for definition in definitions(url=url, ca_bundle=bundle):
        _create(client, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    for asking in [*yaml.safe_load_all(WEBHOOKS.read_text()), *yaml.safe_load_all(BASE.read_text())]:
        for webhook in asking["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": url + path, "caBundle": bundle}
            webhook["timeoutSeconds"] = LONGEST_WAIT
        plural = asking["kind"].lower() + "s"
        _create(client, f"/apis/admissionregistration.k8s.io/v1/{plural}", asking)
    paths = [
        f"/apis/{GROUP}/{version}/{kind.resource}"
        for kind in KINDS.values()
        for version in crd_versions(kind)
    ]
    _until(lambda: all(client.ask("GET", path).code == 200 for path in paths))
    _until(lambda: _webhooks_answer(client))


def _webhooks_answer(client: Client) -> bool:
    """Whether a bad class is refused and a good one brought into normal form."""
    good = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "probe"},
        "spec": {"selectors": []},
    }
    path = f"/apis/{GROUP}/v1/deviceclasses"
    refused = client.ask("POST", path, {**good, "spec": {"selectors": [{}]}}, {"dryRun": "All"})
    changed = client.ask("POST", path, good, {"dryRun": "All"})
    return refused.code == 422 and changed.code == 201 and changed.body["spec"] == {}


def _create(client: Client, path: str, obj: dict[str, Any]) -> None:
    answer = client.ask("POST", path, obj)
    if answer.code != 201:
        raise RuntimeError(f"{obj['kind']} {obj['metadata']['name']}: {answer.body}")


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("the API server does not take notice")
        time.sleep(0.2)
