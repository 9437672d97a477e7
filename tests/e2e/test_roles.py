"""The roles of the manifests are what the service needs, no less and no more: it runs with them, and they are audited."""

from __future__ import annotations

import contextlib
import copy
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from resourceapi.model.versions import OWN_GROUP
from resourceapi.objects import Object
from tests.e2e.client import Answer, Client
from tests.e2e.control_plane import control_plane
from tests.e2e.custom_resources import FLAGS, GROUP, install
from tests.e2e.deployed import (
    ACCOUNT,
    INJECTOR,
    NAMESPACE,
    add_account,
    apply,
    configuration,
    injecting,
    objects_of,
    register_overlay,
)
from tests.webhook.examples import claim
from tests.webhook.rights import Right, needed
from tests.webhook.running import Running, running

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": [ACCOUNT, INJECTOR]}, {"level": "None"}],
}
DEVICES = "gpu.example.com.deviceclass.resource.k8s.io/devices"
# counts for claims and for pods that ask for extended resources
SHARED = "requests.deviceclass.resource.kubernetes.io/gpu.example.com"
LEAF_SECONDS, AUTHORITY_SECONDS, LEAD_SECONDS = 30, 120, 5
_PATIENCE_SECONDS = 180
# of these, rights are limited to names
NAMED = frozenset(
    (
        "secrets",
        "customresourcedefinitions",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    )
)


class Environment(NamedTuple):
    client: Client
    needed: frozenset[Right]
    needed_by_injector: frozenset[Right]
    audit: Path

    def used(self, account: str = ACCOUNT) -> dict[Right, int]:
        """What the service, or another account, has asked for, and the last answer's code."""
        found = {}
        whole, _, _ = self.audit.read_text().rpartition("\n")  # the last line may still be written
        for line in whole.splitlines():
            event = json.loads(line)
            if event["user"]["username"] != account:
                continue
            about = event["objectRef"]
            namespace = about["namespace"] if about["resource"] in ("configmaps", "secrets") else ""
            named = about["resource"] in NAMED and event["verb"] != "create"
            name = about["name"] if named else ""
            right = (about.get("apiGroup", ""), about["resource"], event["verb"], namespace, name)
            found[right] = int(event["responseStatus"]["code"])
        return found


@contextlib.contextmanager
def audited(
    directory: Path,
    overlay: str,
    flags: list[str],
    register: Callable[[Client, Running], None],
    *,
    with_quota: bool = False,
) -> Iterator[Environment]:
    """The service as it is deployed with own certificates, with its account's token, before a server that audits it."""
    (directory / "audit.yaml").write_text(yaml.safe_dump(AUDIT_POLICY))
    audit = directory / "audit.log"
    flags = [*flags, f"--audit-policy-file={directory / 'audit.yaml'}", f"--audit-log-path={audit}"]
    rendered = objects_of(overlay, certificates="own", with_quota=with_quota)
    mode = f"{overlay}-with-quota" if with_quota else overlay
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37", flags=flags))
        token = directory / "token"
        token.write_text(add_account(server.client, rendered))
        config = configuration(rendered, server, token)
        config["quota"].update(recountSeconds=1, graceSeconds=2)  # usage is counted anew all the time
        # and the leaf renewed, and the authority, which asks whom the API server trusts
        config["tls"].update(names=["127.0.0.1"], leafDays=LEAF_SECONDS / 86400)
        config["tls"].update(authorityDays=AUTHORITY_SECONDS / 86400, trustLeadHours=LEAD_SECONDS / 3600)
        service = stack.enter_context(running(directory, **config))
        for obj in rendered:
            if obj["kind"].startswith("ValidatingAdmissionPolicy") or _is_own_definition(obj):
                assert apply(server.client, obj).code == 201
        stack.enter_context(injecting(directory, rendered, server))
        register(server.client, service)
        yield Environment(server.client, needed(mode), needed(f"injector-{mode}"), audit)


def _is_own_definition(obj: Object) -> bool:
    """Whether it is the CRD of a kind of the project's own group, which `register` leaves out."""
    return bool(obj["kind"] == "CustomResourceDefinition" and obj["spec"]["group"] == OWN_GROUP)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """The service that CRDs need; it tells itself whom to trust."""
    directory = tmp_path_factory.mktemp("roles")
    with audited(
        directory, "crd-served", FLAGS, lambda client, service: install(client, service, bundle="")
    ) as environment:
        yield environment


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.2)


def post(client: Client, path: str, kind: str, metadata: Object, **content: Any) -> Answer:
    """Create an object of the core group."""
    obj = {"apiVersion": "v1", "kind": kind, "metadata": metadata, **content}
    answer = client.ask("POST", path, obj)
    assert answer.code == 201, answer.body
    return answer


@pytest.fixture(scope="module")
def team(environment: Environment) -> str:
    return add_team(environment)


def add_team(environment: Environment) -> str:
    """A namespace with a quota of two devices, which counts pods as well, the class and a pod that claims are for."""
    metadata = {"name": "gpu.example.com"}
    device_class = {"apiVersion": f"{GROUP}/v1", "kind": "DeviceClass", "metadata": metadata, "spec": {}}
    assert apply(environment.client, device_class).code == 201
    post(environment.client, "/api/v1/namespaces", "Namespace", {"name": "team"})
    hard = {DEVICES: "2", SHARED: "10"}
    path = "/api/v1/namespaces/team/resourcequotas"
    quota = post(environment.client, path, "ResourceQuota", {"name": "devices"}, spec={"hard": hard}).body
    # what kube-controller-manager would do
    quota["status"] = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    assert environment.client.ask("PUT", f"{path}/devices/status", quota).code == 200
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    path = "/api/v1/namespaces/team/pods"
    until(lambda: environment.client.ask("POST", path, pod).code == 201, "the quota's status is not known")
    return "team"


def create(environment: Environment, name: str, **metadata: Any) -> Answer:
    obj = copy.deepcopy(claim())
    obj["metadata"] = {"name": name, **metadata}
    return environment.client.ask("POST", f"/apis/{GROUP}/v1/namespaces/team/resourceclaims", obj)


def create_of_a_pod(environment: Environment) -> Answer:
    """A claim that the scheduler makes for a pod that asks for extended resources."""
    pod = environment.client.ask("GET", "/api/v1/namespaces/team/pods/pod").body["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "pod", "uid": pod["uid"], "controller": True}
    marked = {"resource.kubernetes.io/extended-resource-claim": "true"}
    return create(environment, "of-a-pod", annotations=marked, ownerReferences=[owner])


def test_service_works_with_its_roles(environment: Environment, team: str) -> None:
    """Limits hold, deleted claims make room, a quota that goes takes its ledger with it."""
    assert create_of_a_pod(environment).code == 201
    assert create(environment, "second").code == 201
    refused = create(environment, "third")
    assert (refused.code, "exceeded quota" in refused.body["message"]) == (403, True), refused.body
    claims = f"/apis/{GROUP}/v1/namespaces/{team}/resourceclaims"
    assert environment.client.ask("DELETE", f"{claims}/second").code == 200
    until(lambda: create(environment, "third").code == 201, "a claim that is gone still counts")
    ledger = f"/api/v1/namespaces/{NAMESPACE}-ledgers/configmaps/quota-{team}"
    assert environment.client.ask("GET", ledger).code == 200
    environment.client.ask("DELETE", f"/api/v1/namespaces/{team}/resourcequotas/devices")
    until(lambda: environment.client.ask("GET", ledger).code == 404, "the ledger is still there")
    assert create(environment, "fourth").code == 201


@pytest.mark.usefixtures("team")
def test_rights_are_what_is_used(environment: Environment) -> None:
    """After that, every right has been used, and nothing has been forbidden."""
    check_rights(environment)


def check_rights(environment: Environment) -> None:
    """What the service needs, as tests without a cluster compare it with the roles, is what it has asked for."""
    until(
        lambda: environment.used().keys() >= environment.needed,
        f"unused: {environment.needed - environment.used().keys()}",
    )
    assert 403 not in environment.used().values()
    assert environment.used().keys() == environment.needed
    until(
        lambda: environment.used(INJECTOR).keys() >= environment.needed_by_injector,
        "the injector has rights that it does not use",
    )
    assert 403 not in environment.used(INJECTOR).values()
    assert environment.used(INJECTOR).keys() == environment.needed_by_injector


def test_roles_of_the_guard(tmp_path: Path) -> None:
    """So it is where the group is built in."""
    with audited(
        tmp_path,
        "built-in-guard",
        [],
        lambda client, service: register_overlay(client, "built-in-guard", service, bundle=""),
        with_quota=True,
    ) as environment:
        add_team(environment)
        until(lambda: create_of_a_pod(environment).code == 201, "the API server trusts nobody")
        until(lambda: create(environment, "second").code == 201, "no claim can be made")
        until(
            lambda: "admission webhook" in str(create(environment, "third").body.get("message")),
            "the service does not take notice",
        )
        check_rights(environment)
