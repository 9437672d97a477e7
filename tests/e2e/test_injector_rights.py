"""What the account of `claimcheck inject-ca` may change on a real API server: the caBundle, and nothing else."""

from __future__ import annotations

import base64
import copy
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest

from resourceapi.objects import Object
from serving.certificates import BUNDLE, Terms, advance
from tests.e2e.client import Client
from tests.e2e.control_plane import control_plane
from tests.e2e.custom_resources import FLAGS
from tests.e2e.deployed import account_token, apply, objects_of
from webhook.injection import Target, client_configs

KINDS = {
    "validating": Target("validatingWebhookConfigurations", "claimcheck"),
    "mutating": Target("mutatingWebhookConfigurations", "claimcheck"),
    "namespaces": Target("validatingWebhookConfigurations", "claimcheck-namespaces"),
    "claims": Target("customResourceDefinitions", "resourceclaims.resource.k8s.io"),
    "slices": Target("customResourceDefinitions", "resourceslices.resource.k8s.io"),
}
_PATIENCE_SECONDS = 180


class Environment(NamedTuple):
    """An administrator and the injector's account."""

    admin: Client
    injector: Client


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    with ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37", flags=FLAGS))
        for obj in objects_of("crd-served", certificates="own"):
            if obj["kind"] not in ("Deployment", "ServiceMonitor"):
                answer = apply(server.client, obj)
                assert answer.code in (200, 201), (obj["kind"], answer.body)
                assert answer.warnings == [], obj["kind"]
        injector = server.client.with_token(account_token(server.client, account="claimcheck-ca"))
        stack.callback(injector.close)
        environment = Environment(server.client, injector)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while try_to(environment, KINDS["mutating"], lambda obj: obj["webhooks"].clear()) != DENIED:
            assert time.monotonic() < deadline, "the policies are not in effect"
            time.sleep(0.2)
        while (
            try_to(environment, KINDS["slices"], lambda obj: obj["metadata"].update(labels={"a": "b"}))
            != DENIED
        ):
            assert time.monotonic() < deadline, "the policies are not in effect"
            time.sleep(0.2)
        yield environment


DENIED = "denied"


def try_to(environment: Environment, target: Target, change: Callable[[Any], object], **query: str) -> str:
    """What becomes of a change that the injector wants to make; nothing is stored."""
    obj = environment.admin.ask("GET", target.path).body
    change(obj)
    answer = environment.injector.ask("PUT", target.path, obj, {"dryRun": "All", **query})
    if answer.code == 200:
        return "made"
    message = str(answer.body.get("message"))
    return DENIED if "ValidatingAdmissionPolicy" in message and "claimcheck-ca may" in message else message


@pytest.mark.parametrize("kind", KINDS)
def test_bundle_is_allowed(environment: Environment, kind: str) -> None:
    """The bundle of every client configuration can be set, and changed."""
    terms = Terms(("localhost",), timedelta(9), timedelta(9), timedelta(1))
    for _ in range(2):
        bundle = base64.b64encode(advance(None, terms, datetime.now(UTC))[BUNDLE]).decode()
        obj = environment.admin.ask("GET", KINDS[kind].path).body
        for config in client_configs(obj):
            config["caBundle"] = bundle
        answer = environment.injector.ask("PUT", KINDS[kind].path, obj)
        assert answer.code == 200, answer.body
        stored = environment.admin.ask("GET", KINDS[kind].path).body
        assert {config["caBundle"] for config in client_configs(stored)} == {bundle}


def webhook(**fields: Any) -> Callable[[Object], None]:
    return lambda obj: obj["webhooks"][0].update(fields)


def elsewhere(obj: Object) -> None:
    for config in client_configs(obj):
        config["service"]["namespace"] = "kube-system"


METADATA: dict[str, Callable[[Any], object]] = {
    "generate-name": lambda obj: obj["metadata"].update(generateName="a"),
    "label": lambda obj: obj["metadata"].setdefault("labels", {}).update({"a": "b"}),
    "annotation": lambda obj: obj["metadata"].setdefault("annotations", {}).update({"a": "b"}),
    "finalizer": lambda obj: obj["metadata"].update(finalizers=["example.com/a"]),
    "owner": lambda obj: obj["metadata"].update(
        ownerReferences=[{"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "u"}]
    ),
}
CHANGES: dict[str, dict[str, Callable[[Any], object]]] = {
    "mutating": {
        **METADATA,
        "service": elsewhere,
        "path": lambda obj: obj["webhooks"][0]["clientConfig"]["service"].update(path="/validate"),
        "url": webhook(clientConfig={"url": "https://example.com/"}),
        "none": lambda obj: obj.pop("webhooks"),
        "one-more": lambda obj: obj["webhooks"].append({**obj["webhooks"][0], "name": "a.example.com"}),
        "name": webhook(name="a.example.com"),
        "versions": webhook(admissionReviewVersions=["v1", "v1beta1"]),
        "failure-policy": webhook(failurePolicy="Ignore"),
        "conditions": webhook(matchConditions=[{"name": "a", "expression": "false"}]),
        "match-policy": webhook(matchPolicy="Exact"),
        "namespaces": webhook(namespaceSelector={}),
        "objects": webhook(objectSelector={"matchLabels": {"a": "b"}}),
        "reinvocation": webhook(reinvocationPolicy="Never"),
        "rules": lambda obj: obj["webhooks"][0]["rules"].append(
            {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}
        ),
        "no-rules": lambda obj: obj["webhooks"][0].pop("rules"),
        "side-effects": webhook(sideEffects="NoneOnDryRun"),
        "timeout": webhook(timeoutSeconds=1),
    },
    "claims": {
        **METADATA,
        "service": elsewhere,
        "no-conversion": lambda obj: obj["spec"].update(conversion={"strategy": "None"}),
        "review-versions": lambda obj: obj["spec"]["conversion"]["webhook"].update(
            conversionReviewVersions=["v1", "v1beta1"]
        ),
        "short-name": lambda obj: obj["spec"]["names"].update(shortNames=["rc"]),
        "not-served": lambda obj: obj["spec"]["versions"][-1].update(served=False),
        "schema": lambda obj: obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"].update(description="a"),
    },
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [pytest.param(kind, name, id=f"{kind}-{name}") for kind in CHANGES for name in CHANGES[kind]],
)
def test_nothing_else_is(environment: Environment, kind: str, name: str) -> None:
    """Whatever else the account's rights would allow is denied; an administrator may do it."""
    target, change = KINDS[kind], CHANGES[kind][name]
    assert try_to(environment, target, change) == DENIED
    obj = copy.deepcopy(environment.admin.ask("GET", target.path).body)
    change(obj)
    answer = environment.admin.ask("PUT", target.path, obj, {"dryRun": "All"})
    assert answer.code == 200, answer.body


def test_no_other_objects(environment: Environment) -> None:
    """Nothing is created or deleted, nor is anything else read."""
    for target in KINDS.values():
        assert environment.injector.ask("DELETE", target.path).code == 403
    assert (
        environment.injector.ask("GET", "/api/v1/namespaces/claimcheck-system/secrets/claimcheck-tls").code
        == 403
    )
    assert environment.injector.ask("GET", "/api/v1/pods").code == 403


COMPARED = {
    "MutatingWebhook": ("admissionregistration.k8s.io", "new"),
    "ValidatingWebhook": ("admissionregistration.k8s.io", "new"),
    "CustomResourceDefinitionSpec": ("apiextensions.k8s.io", "object.spec"),
}


@pytest.mark.parametrize("schema", COMPARED)
def test_all_fields_are_compared(environment: Environment, schema: str) -> None:
    """The policies name every field that this server knows; when a release adds one, this says so."""
    group, start = COMPARED[schema]
    schemas = environment.admin.ask("GET", f"/openapi/v3/apis/{group}/v1").body["components"]["schemas"]
    (fields,) = (value["properties"] for name, value in schemas.items() if name.endswith(f".v1.{schema}"))
    text = "".join(
        validation["expression"]
        for obj in objects_of("crd-served", certificates="own")
        if obj["kind"] == "ValidatingAdmissionPolicy"
        for validation in obj["spec"]["validations"]
    )
    missing = [name for name in fields if f"{start}.?{name}" not in text and name != "name"]
    assert missing == []


# What a client says of these in an update the server ignores or refuses; managedFields are nothing that policies see.
METADATA_OF_SERVERS = {
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
}


def test_all_metadata_is_compared(environment: Environment) -> None:
    """Each of the policies names all that a client can set."""
    schemas = environment.admin.ask("GET", "/openapi/v3/apis/apiextensions.k8s.io/v1").body["components"][
        "schemas"
    ]
    (fields,) = (value["properties"] for name, value in schemas.items() if name.endswith(".v1.ObjectMeta"))
    policies = [
        obj
        for obj in objects_of("crd-served", certificates="own")
        if obj["kind"] == "ValidatingAdmissionPolicy" and obj["metadata"]["name"] != "claimcheck-definitions"
    ]
    assert len(policies) == 2
    for policy in policies:
        text = "".join(validation["expression"] for validation in policy["spec"]["validations"])
        compared = {
            name
            for name in fields
            if f"object.metadata.?{name} == oldObject.metadata.?{name}" in " ".join(text.split())
        }
        assert fields.keys() - compared == METADATA_OF_SERVERS
