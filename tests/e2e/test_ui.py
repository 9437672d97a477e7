"""`claimcheck ui --sign-in` beside a real API server, with the shipped rights: who is shown what."""

from __future__ import annotations

import contextlib
import json
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from manifests.kustomize import DIRECTORY, render
from resourceapi.objects import Object
from serving.sign_in import SECONDS
from tests.e2e import live_impact
from tests.e2e.control_plane import ApiServer
from tests.e2e.deployed import apply
from tests.e2e.live_objects import LiveObjects
from tests.e2e.programs import Program
from tests.e2e.scheduling_cluster import until
from tests.e2e.test_manifests import render as kustomized
from tests.serving.test_tls import write_pair

ACCOUNT = "system:serviceaccount:claimcheck-system:claimcheck-ui"
DRIVER = "gpu.example.com"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
#: What nobody may be told who may read only `team`.
_HIDDEN = "hidden"
_WAITING = 7
_OF_SLICES = {"map", "node", "device", "pools", "pool", "partitions", "beside", "select"}
_DEVICES = {*_OF_SLICES, "validate", "fix", "openapi.json"}
_OF_TENANTS = {"cluster", "doctor", "explain", *_DEVICES}


class Page(NamedTuple):
    """The page, and the API server."""

    address: str
    server: ApiServer

    def ask(self, path: str, token: str = "", asked: dict[str, str] | None = None) -> tuple[int, str]:
        """The status and text of an answer to somebody with a token.

        :param asked: the body of a POST.
        """
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        body = None
        if asked is not None:
            headers |= {"Content-Type": "application/json", "Origin": self.address.rstrip("/")}
            body = json.dumps(asked).encode()
        request = urllib.request.Request(f"{self.address}{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=120, context=_unverified()) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def told(self, path: str, token: str) -> Any:
        """A JSON answer."""
        status, text = self.ask(f"api/v1/{path}", token)
        assert status == 200, (status, text)
        return json.loads(text)

    def everything(self, token: str) -> Iterator[tuple[str, int, str]]:
        """All that the OpenAPI document names, asked about what there is and about what is hidden."""
        paths: dict[str, Any] = self.told("openapi.json", token)["paths"]
        for path, methods in paths.items():
            [(method, described)] = methods.items()
            for own in (True, False):
                if method == "post":
                    schema = described["requestBody"]["content"]["application/json"]["schema"]
                    asked = {name: _VALUES[own].get(name, "gpu-0") for name in schema["properties"]}
                    for kept in ({"text"}, asked.keys() - {"text"}):
                        given = {name: value for name, value in asked.items() if name in kept}
                        yield (f"{path} {given}", *self.ask(path[1:], token, given))
                    continue
                names = [each["name"] for each in described.get("parameters", ())]
                query = "&".join(f"{name}={_VALUES[own].get(name, 'gpu-0')}" for name in names)
                yield (f"{path}?{query}", *self.ask(f"{path[1:]}?{query}", token))


def _text(namespace: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})


_CHANGE = {"applied": "", "like": "", "nodes": "1", "count": "1", "copies": "1", "template": ""}
_COMMON = {
    **_CHANGE,
    "deviceClass": "gpu",
    "devices": "gpu-0",
    "number": "0",
    "driver": DRIVER,
    "device": "gpu-0",
    "expression": "true",
    "finding": "",
}
_VALUES = {
    True: {
        **_COMMON,
        "namespace": "team",
        "name": "mine",
        "pool": "node-1",
        "cordon": "node-1",
        "kind": "ResourceClaim",
        "text": _text("team"),
    },
    False: {
        **_COMMON,
        "namespace": "hidden-namespace",
        "name": "hidden-0",
        "pool": "node-2",
        "cordon": "node-2",
        "kind": "ResourceClaim",
        "text": _text("x"),
    },
}


def _unverified() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Of a cluster with two GPUs, both held in one namespace, for which pods wait there and in another one."""
    directory = tmp_path_factory.mktemp("ui")
    with live_impact.cluster() as server:
        _grant(server, render(DIRECTORY / "ui"))
        there = LiveObjects(server.client, ("team", "hidden-namespace"))
        for each in _objects():
            there.make(each)
        with _shown(server, directory) as address:
            found = Page(address, server)
            until(lambda: found.ask("readyz")[0] == 200, "the page is not ready")
            yield found


def _grant(server: ApiServer, objects: list[Object]) -> None:
    paths = {"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings"}
    for each in objects:
        if each["kind"] in paths:
            assert server.client.ask("POST", f"{_RBAC}/{paths[each['kind']]}", each).code == 201


def _objects() -> Iterator[Object]:
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    yield {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": selectors}}
    for name in ("node-1", "node-2"):
        allocatable = {"cpu": "64", "memory": "64Gi", "pods": "110"}
        yield {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": [{"name": "gpu-0"}]}
        yield {"kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    for namespace, names in (
        ("hidden-namespace", [f"hidden-{number}" for number in range(2 + _WAITING)]),
        ("team", ["mine"]),
    ):
        for name in names:
            metadata = {"name": name, "namespace": namespace}
            yield {"kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": {"requests": requests}}}
            spec = {
                "containers": [{"name": "c", "image": "x"}],
                "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
            }
            yield {"kind": "Pod", "metadata": metadata, "spec": spec}


@contextlib.contextmanager
def _shown(server: ApiServer, directory: Path) -> Iterator[str]:
    write_pair(directory)
    command = [sys.executable, "-m", "commandline.main", "ui", "--kubeconfig", str(server.kubeconfig)]
    command += ["--as", ACCOUNT, "--port", "0", "--sign-in"]
    command += ["--certificate", str(directory / "tls.crt"), "--key", str(directory / "tls.key")]
    log = directory / "ui.log"
    program = Program(command, log)
    program.start()
    try:
        until(lambda: "https://" in log.read_text(), lambda: f"no address:\n{log.read_text()}")
        yield next(each for each in log.read_text().split() if each.startswith("https://"))
        assert program.is_running(), log.read_text()
    finally:
        program.stop()


def _account(page: Page, name: str, *rules: tuple[str, Object]) -> str:
    """A token of a new service account with a role in `team`, or a ClusterRole."""
    ask = page.server.client.ask
    path = "/api/v1/namespaces/team/serviceaccounts"
    assert ask("POST", path, {"metadata": {"name": name}}).code == 201
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "team"}
    for number, (kind, rule) in enumerate(rules):
        where = _RBAC if kind == "ClusterRole" else f"{_RBAC}/namespaces/team"
        metadata = {"name": f"{name}-{number}"}
        made = [
            (f"{where}/{kind.lower()}s", {"metadata": metadata, "rules": [rule]}),
            (
                f"{where}/{kind.lower()}bindings",
                {
                    "metadata": metadata,
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, **metadata},
                    "subjects": [subject],
                },
            ),
        ]
        for each, body in made:
            assert ask("POST", each, body).code == 201
    answer = ask("POST", f"{path}/{name}/token", {"spec": {"expirationSeconds": 3600}})
    assert answer.code == 201, answer
    token: str = answer.body["status"]["token"]
    return token


_OWN: tuple[str, Object] = (
    "Role",
    {"apiGroups": ["", "resource.k8s.io"], "resources": ["pods", "resourceclaims"], "verbs": ["list"]},
)
_CLUSTER: tuple[str, Object] = (
    "ClusterRole",
    {
        "apiGroups": ["", "resource.k8s.io"],
        "resources": ["nodes", "resourceslices", "deviceclasses", "devicetaintrules"],
        "verbs": ["list"],
    },
)
_ALL: tuple[str, Object] = ("ClusterRole", {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})


def _waiting(page: Page, token: str) -> list[str]:
    findings = page.told("doctor", token)["findings"]
    return sorted(pod["name"] for each in findings if each["code"] == "CD001" for pod in each["objects"])


def test_who_is_nobody_is_told_nothing(page: Page) -> None:
    """Whatever is asked, without a token or with a wrong one."""
    for path in ("api/v1/cluster", "api/v1/changes", "api/v1/openapi.json", "nothing"):
        for token in ("", "wrong", "a.b.c"):
            status, text = page.ask(path, token)
            assert (status, _HIDDEN in text) == (401, False), path
    assert page.ask("")[0] == 200


def test_an_administrator_sees_everything(page: Page) -> None:
    token = _account(page, "admin", _ALL)
    expected = ["mine", *(f"hidden-{number}" for number in range(2 + _WAITING))]
    until(lambda: len(_waiting(page, token)) == 1 + _WAITING, lambda: str(_waiting(page, token)))
    assert set(_waiting(page, token)) < set(expected)
    cluster = page.told("cluster", token)
    assert [cluster[key] for key in ("nodes", "devices", "free", "waiting")] == [2, 2, 0, 1 + _WAITING]
    device = page.told(f"device?driver={DRIVER}&pool=node-1&device=gpu-0", token)
    assert device["claims"][0]["namespace"] == "hidden-namespace"


@pytest.mark.parametrize("sees_devices", [False, True])
def test_a_tenant_is_told_nothing_of_others(page: Page, sees_devices: bool) -> None:
    """All answers are searched for names of the other namespace, and for how many pods and claims are there."""
    rules = (_OWN, _CLUSTER) if sees_devices else (_OWN,)
    token = _account(page, f"tenant-{sees_devices}".lower(), *rules)
    until(
        lambda: "does not fit" in str(page.told("doctor", token)["findings"]),
        lambda: str(page.told("doctor", token)),
    )
    assert _waiting(page, token) == ["mine"]
    [told] = page.told("explain?namespace=team&name=mine", token)["objects"]
    assert told["said"].startswith("does not fit"), told
    cluster = page.told("cluster", token)
    assert [cluster[key] for key in ("free", "waiting")] == [None, 1]
    answered = set()
    for question, status, text in page.everything(token):
        unasked = text.replace(_VALUES[False]["name"], "")  # an error names what it does not find
        assert _HIDDEN not in unasked, (question, text)
        assert '"status":"allocated"' not in text, (question, text)
        assert not {_WAITING, 2 + _WAITING} & set(_numbers(json.loads(text))), (question, text)
        if status == 200:
            answered.add(question.split()[0].partition("?")[0].removeprefix("/api/v1/"))
        else:
            assert status in (400, 403, 404, 422), (question, status, text)
    without = _OF_TENANTS - _OF_SLICES
    assert answered <= (_OF_TENANTS if sees_devices else without), answered
    assert {"cluster", "doctor", "explain"} <= answered
    own = [
        each for each in page.everything(token) if "hidden-namespace" in each[0] and "/explain?" in each[0]
    ]
    assert {status for _, status, _ in own} == {403}


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key != "version":
                yield from _numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from _numbers(each)
    elif type(value) is int:
        yield value


def test_others_change_nothing_that_a_tenant_is_told(page: Page) -> None:
    """Neither an answer nor the version, from which somebody could tell that they do something; but the words about an own pod."""
    token = _account(page, "tenant-beside", _OWN, _CLUSTER)
    admin = _account(page, "admin-beside", _ALL)

    def answers() -> dict[str, Any]:
        found = {question: (status, text) for question, status, text in page.everything(token)}
        return {
            each: said for each, said in found.items() if "doctor" not in each and "/explain?" not in each
        }

    until(lambda: "does not fit" in str(page.told("doctor", token)), "the pod has not been looked at")
    before = answers()
    there = LiveObjects(page.server.client, ("hidden-namespace",))
    seen = page.told("cluster", admin)["version"]
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    for number in range(3):
        metadata = {"name": f"hidden-more-{number}", "namespace": "hidden-namespace"}
        there.make(
            {"kind": "ResourceClaim", "metadata": metadata, "spec": {"devices": {"requests": requests}}}
        )
    until(lambda: page.told("cluster", admin)["version"] > seen, "the page does not follow")
    assert answers() == before


def test_a_token_that_is_revoked(page: Page) -> None:
    """It counts for as long as is said, and no longer; so does a right that is taken away."""
    token = _account(page, "leaver", _ALL)
    demoted = _account(page, "demoted", _ALL)
    assert page.ask("api/v1/cluster", token)[0] == 200
    assert page.ask("api/v1/capacity", demoted)[0] == 200
    ask = page.server.client.ask
    assert ask("DELETE", "/api/v1/namespaces/team/serviceaccounts/leaver").code == 200
    assert ask("DELETE", f"{_RBAC}/clusterrolebindings/demoted-0").code == 200
    begun = time.monotonic()
    until(lambda: page.ask("api/v1/cluster", token)[0] == 401, "the token still counts", 4 * SECONDS)
    until(lambda: page.ask("api/v1/capacity", demoted)[0] == 403, "the right still counts", 4 * SECONDS)
    print(f"revoked after {time.monotonic() - begun:.1f} s")
    assert page.ask("api/v1/changes", token)[0] == 401


def test_the_manifests_are_taken(page: Page) -> None:
    """As kubectl renders them, with no unknown field and no warning; the pod fulfils the restricted standard."""
    client, objects = page.server.client, kustomized(DIRECTORY / "ui")
    assert sorted(objects, key=_named) == sorted(render(DIRECTORY / "ui"), key=_named)
    [namespace] = [each for each in objects if each["kind"] == "Namespace"]
    assert apply(client, namespace).code in (200, 201)
    [deployment] = [each for each in objects if each["kind"] == "Deployment"]
    metadata = {"name": "ui", "namespace": namespace["metadata"]["name"]}
    pod = {"apiVersion": "v1", "kind": "Pod", **deployment["spec"]["template"], "metadata": metadata}
    for each in (*objects, pod):
        answer = apply(client, each, dryRun="All", force="true")
        assert answer.code in (200, 201), (each["kind"], answer.body)
        assert answer.warnings == [], each["kind"]


def _named(obj: Object) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def test_it_may_do_nothing_else(page: Page) -> None:
    """With the shipped role: no secret is read, and nothing is written."""
    ask = page.server.client.ask
    for verb, group, resource in (
        ("list", "", "secrets"),
        ("create", "", "pods"),
        ("update", "resource.k8s.io", "resourceclaims"),
        ("impersonate", "", "users"),
        ("create", "events.k8s.io", "events"),
    ):
        attributes = {"verb": verb, "group": group, "resource": resource}
        review = {"spec": {"user": ACCOUNT, "resourceAttributes": attributes}}
        answer = ask("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        assert answer.body["status"]["allowed"] is False, resource
