"""The webhooks, registered with a real API server that serves the built-in group, or the same kinds as CRDs."""

from __future__ import annotations

import base64
import copy
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.client import Answer, Client
from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.deployed import LONGEST_WAIT
from tests.webhook.examples import claim
from tests.webhook.running import Running, running

GROUP = "resource.k8s.io"
LABEL = "admin-access.dra.example.com"
GUARDED = {"claimcheck-e2e": "guarded"}
SCHEMA = {
    "type": "object",
    "properties": {"sharing": {"enum": ["TimeSlicing", "MPS"]}},
    "required": ["sharing"],
}
POLICIES = {
    "adminAccess": {"mode": "Enforce", "labels": [{"key": LABEL}]},
    "opaqueParameters": {
        "mode": "Enforce",
        "schemas": [
            {
                "driver": "gpu.example.com",
                "apiVersion": "gpu.example.com/v1",
                "kind": "GpuConfig",
                "schema": SCHEMA,
            }
        ],
    },
}
_PATIENCE_SECONDS = 180


def namespace(name: str, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": {**GUARDED, **labels}},
    }


# The built-in rule about admin access is fulfilled in both; the configured label is in one of them.
NAMESPACES = [
    namespace("webhook-plain", **{"resource.kubernetes.io/admin-access": "true"}),
    namespace("webhook-admin", **{"resource.kubernetes.io/admin-access": "true", LABEL: ""}),
]


def client_config(service: Running, path: str) -> dict[str, Any]:
    """How the API server reaches a webhook on loopback."""
    bundle = base64.b64encode(service.authority.read_bytes()).decode()
    return {"url": f"https://127.0.0.1:{service.port}{path}", "caBundle": bundle}


def registration(kind: str, service: Running, path: str, resources: list[str]) -> dict[str, Any]:
    """A Validating- or MutatingWebhookConfiguration for namespaces with the label."""
    rule = {
        "apiGroups": [GROUP],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": resources,
    }
    webhook = {
        "name": f"{path[1:]}.claimcheck.example.com",
        "clientConfig": client_config(service, path),
        "rules": [rule],
        "namespaceSelector": {"matchLabels": GUARDED},
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": LONGEST_WAIT,
        "matchPolicy": "Equivalent",
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": f"claimcheck-{path[1:]}"},
        "webhooks": [webhook],
    }


def register(client: Client, configuration: dict[str, Any]) -> str:
    """Create a configuration; its path."""
    plural = configuration["kind"].lower() + "s"
    path = f"/apis/admissionregistration.k8s.io/v1/{plural}"
    answer = client.ask("POST", path, configuration)
    assert answer.code == 201, answer.body
    return f"{path}/{configuration['metadata']['name']}"


def create(client: Client, obj: dict[str, Any], in_namespace: str, *, dry_run: bool = True) -> Answer:
    """Create a namespaced object of the group, by default only to see what the server says."""
    obj = copy.deepcopy(obj)
    obj["metadata"]["namespace"] = in_namespace
    plural = obj["kind"].lower() + "s"
    path = f"/apis/{obj['apiVersion']}/namespaces/{in_namespace}/{plural}"
    return client.ask("POST", path, obj, query={"dryRun": "All"} if dry_run else None)


def until(condition: Callable[[], bool]) -> None:
    """Wait for the API server to have heard of something."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the API server does not take notice"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def guard(
    api_server: Callable[[str], ApiServer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """A server with the built-in group, and the service before it."""
    client = api_server("1.37").client
    directory = tmp_path_factory.mktemp("guard")
    inventory = {"apiVersion": "v1", "kind": "List", "items": NAMESPACES}
    (directory / "namespaces.yaml").write_text(_yaml(inventory))
    for each in NAMESPACES:
        assert client.ask("POST", "/api/v1/namespaces", each).code == 201
    with running(directory, inventory=["namespaces.yaml"], policies=POLICIES) as service:
        resources = ["resourceclaims", "resourceclaimtemplates"]
        path = register(
            client, registration("ValidatingWebhookConfiguration", service, "/validate", resources)
        )
        forbidden = claim(adminAccess=True)
        until(lambda: create(client, forbidden, "webhook-plain").code == 422)
        yield client
        client.ask("DELETE", path)


def _yaml(value: object) -> str:
    import yaml

    text: str = yaml.safe_dump(value)
    return text


def causes(answer: Answer) -> list[tuple[str, str]]:
    return [(cause["field"], cause["message"]) for cause in answer.body["details"].get("causes", [])]


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_policy_is_enforced(guard: Client, version: str) -> None:
    """A claim that violates a policy is refused with our message and cause, in whatever version it comes."""
    answer = create(guard, claim(version, adminAccess=True), "webhook-plain")
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert answer.body["message"].startswith(
        'admission webhook "validate.claimcheck.example.com" denied the request: '
        'ResourceClaim.resource.k8s.io "claim" is invalid: spec.devices.requests[0].'
    )
    ((field, message),) = causes(answer)
    assert field.endswith("adminAccess")
    assert message == (
        f"Forbidden: admin access needs the label `{LABEL}` on the namespace, "
        "which 'webhook-plain' does not have"
    )


def test_label_admits(guard: Client) -> None:
    """The same claim is admitted where the namespace has the label."""
    assert create(guard, claim(adminAccess=True), "webhook-admin").code == 201


def test_good_claim_passes(guard: Client) -> None:
    """A claim that violates nothing passes, without a remark."""
    answer = create(guard, claim(), "webhook-plain")
    assert (answer.code, answer.warnings) == (201, [])


def test_templates_are_guarded(guard: Client) -> None:
    """Templates are judged by the claim in them."""
    template = {
        **claim(),
        "kind": "ResourceClaimTemplate",
        "spec": {"spec": claim(adminAccess=True)["spec"]},
    }
    ((field, _),) = causes(create(guard, template, "webhook-plain"))
    assert field == "spec.spec.devices.requests[0].exactly.adminAccess"


def test_opaque_parameters_are_checked(guard: Client) -> None:
    """Parameters that do not follow their schema are refused, with the field; others pass."""
    obj = claim()
    parameters = {"apiVersion": "gpu.example.com/v1", "kind": "GpuConfig", "sharing": "All"}
    obj["spec"]["devices"]["config"] = [{"opaque": {"driver": "gpu.example.com", "parameters": parameters}}]
    ((field, message),) = causes(create(guard, obj, "webhook-plain"))
    assert field == "spec.devices.config[0].opaque.parameters.sharing"
    assert "'All' is not one of ['TimeSlicing', 'MPS']" in message
    parameters["sharing"] = "MPS"
    assert create(guard, obj, "webhook-plain").code == 201


def test_warnings_arrive(guard: Client) -> None:
    """Lints come as warnings with their code."""
    same = [{"name": "a", "deviceClassName": "c"}, {"name": "b", "deviceClassName": "c"}]
    linted = claim()
    linted["spec"]["devices"]["requests"] = [{"name": "main", "firstAvailable": same}]
    answer = create(guard, linted, "webhook-plain")
    assert answer.code == 201
    assert [text[:3] for text in answer.warnings] == ["CC0"]


def test_built_in_rules_stay_the_servers(guard: Client) -> None:
    """What the API server refuses by itself does not come to the webhook."""
    answer = create(guard, claim(count=-1), "webhook-plain")
    assert answer.code == 422
    assert "admission webhook" not in answer.body["message"]


VERSIONS = ("v1", "v1beta2", "v1beta1")


def crd(service: Running) -> dict[str, Any]:
    """ResourceClaim as a CRD that leaves everything to the webhooks."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v1",
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for name in VERSIONS
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"resourceclaims.{GROUP}",
            "annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"},
        },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "ResourceClaim", "plural": "resourceclaims"},
            "versions": versions,
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": client_config(service, "/convert"),
                    "conversionReviewVersions": ["v1"],
                },
            },
        },
    }


@pytest.fixture(scope="module")
def crds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server that does not serve the group, with a CRD in its place and the service behind it."""
    directory: Path = tmp_path_factory.mktemp("crds")
    off = "--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1beta1=false,resource.k8s.io/v1beta2=false"
    with (
        running(directory, apiServer={"serves": "CustomResources"}) as service,
        control_plane("1.37", flags=[off]) as server,
    ):
        client = server.client
        assert client.ask("POST", "/api/v1/namespaces", NAMESPACES[0]).code == 201
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        answer = client.ask("POST", path, crd(service))
        assert answer.code == 201, answer.body
        resources = ["resourceclaims", "resourceclaims/status"]
        for kind, webhook in (("Mutating", "/mutate"), ("Validating", "/validate")):
            register(client, registration(f"{kind}WebhookConfiguration", service, webhook, resources))
        until(lambda: create(client, claim(count=-1), "webhook-plain").code == 422)
        until(lambda: "count" in str(create(client, claim(), "webhook-plain").body))
        yield client


def test_crd_answers_as_the_built_in_kind(crds: Client) -> None:
    """A bad claim gets the code, reason and causes of the built-in API; the message says which webhook it was."""
    answer = create(crds, claim(count=-1), "webhook-plain")
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert causes(answer) == [
        ("spec.devices.requests[0].exactly.count", "Invalid value: -1: must be greater than zero")
    ]


def test_crd_reads_back_in_every_version(crds: Client) -> None:
    """What is stored in one version is read in the others as the built-in API gives it, defaults included."""
    created = create(crds, claim("v1beta1"), "webhook-plain", dry_run=False)
    assert created.code == 201, created.body
    request = {
        "name": "main",
        "deviceClassName": "gpu.example.com",
        "allocationMode": "ExactCount",
        "count": 1,
    }
    exactly = {name: value for name, value in request.items() if name != "name"}
    for version in VERSIONS:
        path = f"/apis/{GROUP}/{version}/namespaces/webhook-plain/resourceclaims/claim"
        answer = crds.ask("GET", path)
        assert answer.code == 200, answer.body
        expected = request if version == "v1beta1" else {"name": "main", "exactly": exactly}
        assert answer.body["spec"]["devices"]["requests"] == [expected]
        assert answer.body["metadata"]["uid"] == created.body["metadata"]["uid"]


def test_crd_spec_is_immutable(crds: Client) -> None:
    """Rules for updates hold as well."""
    path = f"/apis/{GROUP}/v1/namespaces/webhook-plain/resourceclaims"
    stored = create(crds, {**claim(), "metadata": {"name": "fixed"}}, "webhook-plain", dry_run=False).body
    stored["spec"]["devices"]["requests"][0]["exactly"]["count"] = 2
    answer = crds.ask("PUT", f"{path}/fixed", stored)
    assert answer.code == 422
    assert [field for field, _ in causes(answer)] == ["spec"]


def _answers(client: Client, code: int) -> bool:
    return create(client, claim(adminAccess=True), "webhook-watched").code == code


def connection_to(server: ApiServer, directory: Path) -> dict[str, str]:
    """How the service reaches the API server, as its configuration says it; writes the token into a file."""
    kubeconfig = json.loads(server.kubeconfig.read_text())
    (cluster,), (user,) = kubeconfig["clusters"], kubeconfig["users"]
    (directory / "token").write_text(user["user"]["token"])
    return {
        "address": cluster["cluster"]["server"],
        "caFile": cluster["cluster"]["certificate-authority"],
        "tokenFile": "token",
    }


def test_service_follows_the_cluster(api_server: Callable[[str], ApiServer], tmp_path: Path) -> None:
    """A service that watches the cluster's namespaces takes notice of a label, and of its removal; what the API server is
    to trust it by it puts into its configuration itself."""
    server = api_server("1.37")
    client, connection = server.client, {**connection_to(server, tmp_path), "namespaces": "Watch"}
    watched = namespace("webhook-watched", **{"resource.kubernetes.io/admin-access": "true"})
    del watched["metadata"]["labels"]["claimcheck-e2e"]  # the other service knows nothing of it
    assert client.ask("POST", "/api/v1/namespaces", watched).code == 201
    name = "claimcheck-watched"
    tls = {"directory": "certificates", "inject": {"validatingWebhookConfigurations": [name]}}
    with running(tmp_path, apiServer=connection, policies=POLICIES, tls=tls) as service:
        until(lambda: service.ask("GET", "/readyz")[0] == 200)
        configuration = registration(
            "ValidatingWebhookConfiguration", service, "/validate", ["resourceclaims"]
        )
        configuration["metadata"]["name"] = name
        del configuration["webhooks"][0]["clientConfig"]["caBundle"]  # the service puts it there
        selector = {"matchLabels": {"kubernetes.io/metadata.name": "webhook-watched"}}
        configuration["webhooks"][0]["namespaceSelector"] = selector
        path = register(client, configuration)
        until(lambda: "caBundle" in client.ask("GET", path).body["webhooks"][0]["clientConfig"])
        try:
            for label, expected in ((None, 422), ("", 201), (None, 422)):
                patch = {"metadata": {"labels": {LABEL: label}}}
                changed = client.ask(
                    "PATCH",
                    "/api/v1/namespaces/webhook-watched",
                    patch,
                    content_type="application/merge-patch+json",
                )
                assert changed.code == 200
                until(partial(_answers, client, expected))
        finally:
            client.ask("DELETE", path)
