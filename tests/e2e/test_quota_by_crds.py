"""Quota where CRDs serve the kinds, as deployed: the API server shows its certificate, in every version of the group."""

from __future__ import annotations

import base64
import contextlib
import random
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.e2e.admission_config import write_admission_configuration
from tests.e2e.client import Answer, Client
from tests.e2e.control_plane import control_plane
from tests.e2e.custom_resources import FLAGS, GROUP, install
from tests.e2e.deployed import add_account, configuration, objects_of
from tests.e2e.test_quota_webhook import controller_manager, follows_claims
from tests.e2e.test_webhook import until
from tests.webhook.client_certificates import write_client_certificates
from tests.webhook.examples import ADMIN, admission, claim
from tests.webhook.running import Running, running
from validation.server import Server
from webhook.crds import definitions

VERSIONS = ("v1", "v1beta2", "v1beta1")
DEVICES = ".deviceclass.resource.k8s.io/devices"
SERVER = Server(Profile("1.37"))


class Environment(NamedTuple):
    client: Client
    service: Running


@contextlib.contextmanager
def crd_environment(
    directory: Path, requirement: str, *, shows_certificate: bool = True
) -> Iterator[Environment]:
    """All of it; `requirement` is `tls.requireClientCertificate`."""
    write_client_certificates(directory, ["kube-apiserver"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = list(FLAGS)
    if shows_certificate:
        certificate = directory / "kube-apiserver.pem"
        path = write_admission_configuration(directory, f"127.0.0.1:{port}", certificate)
        flags.append(f"--admission-control-config-file={path}")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37", flags=flags))
        stack.enter_context(controller_manager(server, directory))
        deployed = objects_of("crd-served")
        token = directory / "token"
        token.write_text(add_account(server.client, deployed))
        config = configuration(deployed, server, token)
        del config["quota"]["insecureSkipClientVerify"]
        config["quota"]["recountSeconds"] = 1
        config["tls"] = {
            "directory": "certificates",
            "clientAuthorityFile": "authority.crt",
            "clientNames": ["kube-apiserver"],
            "requireClientCertificate": requirement,
        }
        config |= {"listen": {"port": port}, "logging": {"level": "info"}}
        service = stack.enter_context(running(directory, **config))
        if requirement == "Reservations":
            install(server.client, service)
        yield Environment(server.client, service)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    with crd_environment(tmp_path_factory.mktemp("quota-by-crds"), "Reservations") as made:
        # until the service follows the claims, it does not hear of those that are deleted between two recounts
        assert create(made, "default", claim_of("seen", [exactly("gpu")])).code == 201
        until(lambda: follows_claims(made.service))
        yield made


def add_namespace(
    client: Client, name: str, hard: Mapping[str, str], labels: Mapping[str, str] | None = None
) -> None:
    """A namespace with a quota of which its controller has taken notice, and the service too."""
    metadata = {"name": name, "labels": dict(labels or {})}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    assert client.ask("POST", "/api/v1/namespaces", namespace).code == 201
    if not hard:
        return
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": dict(hard)},
    }
    path = f"/api/v1/namespaces/{name}/resourcequotas"
    assert client.ask("POST", path, quota).code == 201
    until(lambda: "used" in client.ask("GET", f"{path}/q").body.get("status", {}))


def path_of(namespace: str, version: str = "v1", name: str = "") -> str:
    return f"/apis/{GROUP}/{version}/namespaces/{namespace}/resourceclaims" + (f"/{name}" if name else "")


def claim_of(name: str, requests: list[Object], version: str = "v1") -> Object:
    whole = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": requests}},
    }
    return whole if version == "v1" else SERVER.read(whole, f"{GROUP}/{version}")


def exactly(device_class: str, count: int = 1, **more: Any) -> Object:
    return {"name": "r", "exactly": {"deviceClassName": device_class, "count": count, **more}}


def create(environment: Environment, namespace: str, obj: Object, **query: str) -> Answer:
    version = obj["apiVersion"].rpartition("/")[2]
    return environment.client.ask("POST", path_of(namespace, version), obj, query or None)


def test_only_the_api_server_reserves(environment: Environment) -> None:
    """A stranger's review holds nothing, and is told why; the API server's does, and what changes nothing is answered."""
    add_namespace(environment.client, "held", {f"gpu{DEVICES}": "2"})
    assert create(environment, "held", claim_of("a", [exactly("gpu")])).code == 201
    stranger = claim(count=1, deviceClassName="gpu")
    stranger["metadata"] = {"name": "b", "namespace": "held", "uid": "stranger"}
    for number in range(5):
        stranger["metadata"]["name"] = f"b{number}"
        response = environment.service.review("/validate", admission(stranger))["response"]
        assert (response["allowed"], response["status"]["code"]) == (False, 403)
        assert "shows its certificate" in response["status"]["message"]
    assert create(environment, "held", claim_of("c", [exactly("gpu")])).code == 201
    answer = create(environment, "held", claim_of("d", [exactly("gpu")]))
    assert (answer.code, "exceeded quota: q" in answer.body["message"]) == (403, True)
    assert environment.client.ask("GET", path_of("held", "v1beta1", "a")).code == 200
    bad = claim(count=-1)
    assert environment.service.review("/validate", admission(bad))["response"]["status"]["code"] == 422


def test_names_that_are_taken(environment: Environment) -> None:
    """Creating what is there already is refused as by the API server, and holds nothing."""
    add_namespace(environment.client, "taken", {f"gpu{DEVICES}": "3"})
    assert create(environment, "taken", claim_of("a", [exactly("gpu")])).code == 201
    for _ in range(5):
        answer = create(environment, "taken", claim_of("a", [exactly("gpu", 2)]))
        assert (answer.code, answer.body["reason"]) == (409, "AlreadyExists")
        assert 'resourceclaims.resource.k8s.io "a" already exists' in answer.body["message"]
    generated = claim_of("", [exactly("gpu")])
    generated["metadata"] = {"generateName": "g-"}
    assert [create(environment, "taken", generated).code for _ in range(3)] == [201, 201, 403]


def test_no_race_admits_too_much(environment: Environment) -> None:
    """Eight clients create, apply, delete and change claims of the same names in all versions; at no moment is there too much."""
    add_namespace(environment.client, "race", {f"gpu{DEVICES}": "6"})
    with ThreadPoolExecutor(8) as pool:
        worst = max(pool.map(lambda seed: _race(environment, random.Random(seed)), range(8)))
    assert 0 < worst <= 6


def _race(environment: Environment, chance: random.Random) -> int:
    """The most devices that are asked for at a time, as one client sees it after each of its requests."""
    client, worst = environment.client, 0
    for _ in range(50):
        name, version = f"c{chance.randrange(5)}", chance.choice(VERSIONS)
        wanted, at = claim_of(name, [exactly("gpu", chance.randint(1, 5))], version), path_of("race", version)
        match chance.choice(["create", "generate", "dry run", "apply", "delete", "delete", "update"]):
            case "create":
                client.ask("POST", at, wanted)
            case "generate":
                client.ask("POST", at, {**wanted, "metadata": {"generateName": "c"}})
            case "dry run":
                client.ask("POST", at, wanted, {"dryRun": "All"})
            case "apply":
                query = {"fieldManager": "race", "force": "true"}
                client.ask("PATCH", f"{at}/{name}", wanted, query, "application/apply-patch+yaml")
            case "delete":
                for each in client.ask("GET", at).body["items"][:2]:
                    client.ask("DELETE", f"{at}/{each['metadata']['name']}")
            case "update":
                stored = client.ask("GET", f"{at}/{name}")
                if stored.code == 200:
                    client.ask("PUT", f"{at}/{name}", {**stored.body, "spec": wanted["spec"]})
        stored = client.ask("GET", path_of("race"))
        requests = [each for one in stored.body["items"] for each in one["spec"]["devices"]["requests"]]
        worst = max(worst, sum(each["exactly"]["count"] for each in requests))
    return worst


@pytest.mark.parametrize("version", VERSIONS)
def test_alternatives_count_their_worst(environment: Environment, version: str) -> None:
    """Of each class the largest number that an alternative asks for, in whichever version the claim is written."""
    name = f"either-{version}"
    add_namespace(environment.client, name, {f"big{DEVICES}": "2", f"small{DEVICES}": "6"})
    either = [
        {
            "name": "r",
            "firstAvailable": [
                {"name": "a", "deviceClassName": "big", "count": 1},
                {"name": "b", "deviceClassName": "small", "count": 2},
                {"name": "c", "deviceClassName": "small", "count": 1},
            ],
        }
    ]
    for number in range(2):
        assert create(environment, name, claim_of(f"c{number}", either, version)).code == 201
    answer = create(environment, name, claim_of("c2", either, version))
    assert answer.code == 403
    assert (
        f"requested: big{DEVICES}=1, used: big{DEVICES}=2, limited: big{DEVICES}=2" in answer.body["message"]
    )
    assert create(environment, name, claim_of("d", [exactly("small", 2)], version)).code == 201
    assert create(environment, name, claim_of("e", [exactly("small")], version)).code == 403


@pytest.mark.parametrize("version", VERSIONS)
def test_updates_charge_nothing(environment: Environment, version: str) -> None:
    """With a full quota all that can change of a claim can: labels, annotations, owners, status. Its spec cannot."""
    name = f"update-{version}"
    add_namespace(environment.client, name, {f"gpu{DEVICES}": "2", f"other{DEVICES}": "0"})
    created = create(environment, name, claim_of("a", [exactly("gpu", 2)], version))
    assert created.code == 201
    at = path_of(name, version, "a")
    metadata = {**created.body["metadata"], "labels": {"a": "b"}, "annotations": {"c": "d"}}
    changed = environment.client.ask("PUT", at, {**created.body, "metadata": metadata})
    assert (changed.code, changed.body["metadata"]["labels"]) == (200, {"a": "b"})
    status: Object = {"allocation": {"devices": {"results": []}}}
    assert environment.client.ask("PUT", f"{at}/status", {**changed.body, "status": status}).code == 200
    for request in (exactly("gpu", 3), exactly("gpu", 1), exactly("other", 2)):
        latest = environment.client.ask("GET", at).body
        other = claim_of("a", [request], version)["spec"]
        answer = environment.client.ask("PUT", at, {**latest, "spec": other})
        assert (answer.code, "field is immutable" in answer.body["message"]) == (422, True)
    assert create(environment, name, claim_of("b", [exactly("gpu")], version)).code == 403
    assert environment.client.ask("DELETE", at).code == 200
    until(lambda: create(environment, name, claim_of("b", [exactly("gpu")], version)).code == 201)


def test_classes_that_get_another_resource(environment: Environment) -> None:
    """An update of a class charges the claims that are there to the resource that it names now."""
    resource = "requests.example.com/late"
    device_class: Object = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "late"},
        "spec": {},
    }
    path = f"/apis/{GROUP}/v1/deviceclasses"
    created = environment.client.ask("POST", path, device_class)
    assert created.code == 201, created.body
    add_namespace(environment.client, "classes", {resource: "2", f"late{DEVICES}": "9"})
    for number in range(2):
        assert create(environment, "classes", claim_of(f"c{number}", [exactly("late")])).code == 201
    spec = {"extendedResourceName": "example.com/late"}
    assert environment.client.ask("PUT", f"{path}/late", {**created.body, "spec": spec}).code == 200
    more = claim_of("more", [exactly("late")])
    until(lambda: create(environment, "classes", more, dryRun="All").code == 403)
    answer = create(environment, "classes", more)
    assert f"requested: {resource}=1, used: {resource}=2, limited: {resource}=2" in answer.body["message"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_admin_access_in_each_version(environment: Environment, kind: str, version: str) -> None:
    """Admin access needs the namespace's label in every version."""
    whole = claim_of("a", [exactly("gpu", adminAccess=True)])
    if kind == "ResourceClaimTemplate":
        whole = {**whole, "kind": kind, "spec": {"spec": whole["spec"]}}
    obj = SERVER.read(whole, f"{GROUP}/{version}") if version != "v1" else whole
    plain, labelled = (f"{what}-{kind.lower()}-{version}" for what in ("plain", "labelled"))
    add_namespace(environment.client, plain, {})
    add_namespace(environment.client, labelled, {}, ADMIN)

    def ask(namespace: str) -> Answer:
        path = f"/apis/{GROUP}/{version}/namespaces/{namespace}/{kind.lower()}s"
        return environment.client.ask("POST", path, obj, {"dryRun": "All"})

    until(lambda: ask(labelled).code == 201)
    answer = ask(plain)
    assert answer.code == 422
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == [
        "spec.devices.requests[0].adminAccess"  # as the built-in group has it, for every kind and version
    ]


def test_conversions_come_without_a_certificate(tmp_path: Path) -> None:
    """An API server with a certificate for webhooks shows none when it asks for a conversion: it cannot be required."""
    with crd_environment(tmp_path, "Reviews") as (client, service):
        bundle = base64.b64encode(service.authority.read_bytes()).decode()
        for each in definitions(url=f"https://127.0.0.1:{service.port}", ca_bundle=bundle):
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            assert client.ask("POST", path, each).code == 201
        until(lambda: client.ask("POST", path_of("default"), claim_of("a", [exactly("gpu")])).code == 201)
        until(lambda: client.ask("GET", path_of("default", "v1beta1", "a")).code == 500)
        assert service.wait_for("request refused", webhook="convert")["code"] == 403


def test_api_server_without_a_certificate(tmp_path: Path) -> None:
    """What an operator sees who has forgotten the API server's side: a refusal that says what is missing."""
    with crd_environment(tmp_path, "Reservations", shows_certificate=False) as made:
        add_namespace(made.client, "team", {f"gpu{DEVICES}": "2"})
        answer = create(made, "team", claim_of("a", [exactly("gpu")]))
        assert answer.code == 403
        assert answer.body["message"] == (
            'admission webhook "validate.claimcheck.example.com" denied the request: '
            'resourceclaims.resource.k8s.io "a" is forbidden: quota is checked only for an API server that shows its '
            "certificate: a client certificate is needed"
        )
