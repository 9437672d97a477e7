"""Claimcheck reads of a live cluster what kubectl reads with the same kubeconfig, options and environment: no more and no less.

Each row is a way of access. What kubectl may list, and finds, is what `claimcheck validate --live` lists and finds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from tests.e2e.binaries import tool
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, control_plane, free_port
from tests.e2e.forward_proxy import ForwardProxy, forward_proxy
from tests.webhook.client_certificates import write_client_certificates

GROUP = "resource.k8s.io"
RESOURCES = ("resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices", "pods")
CONTEXT = ("nodes", "namespaces")
HOST = "cluster.invalid"  # that no loopback address has: only the proxy knows the way
PLUGIN = """
import json, os, sys
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert info["kind"] == "ExecCredential" and info["spec"]["interactive"] is False, info
assert os.environ["GREETING"] == "hello" and sys.argv[1:2] == ["--login"], sys.argv
if sys.argv[2:3] == ["fail"]:
    sys.exit("log in first \\033[2J")
if info["spec"].get("cluster") is not None:
    assert info["spec"]["cluster"]["server"].startswith("https://"), info
    assert info["spec"]["cluster"]["certificate-authority-data"], info
    assert info["spec"]["cluster"]["config"] == {"audience": "e2e"}, info
status = json.load(open(sys.argv[2]))
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}))
"""


class Site(NamedTuple):
    """A server with users, and files with their credentials."""

    server: ApiServer
    directory: Path
    proxy: ForwardProxy

    @property
    def cluster(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads(self.server.kubeconfig.read_text())
        found: dict[str, Any] = config["clusters"][0]["cluster"]
        return found

    @property
    def admin(self) -> dict[str, Any]:
        config: dict[str, Any] = json.loads(self.server.kubeconfig.read_text())
        found: dict[str, Any] = config["users"][0]["user"]
        return found

    @property
    def port(self) -> int:
        return int(self.cluster["server"].rpartition(":")[2])

    @property
    def named(self) -> dict[str, Any]:
        """The cluster under a name, as proxies see it."""
        return {**self.cluster, "server": f"https://{HOST}:{self.port}", "tls-server-name": "127.0.0.1"}

    @property
    def insecure(self) -> dict[str, Any]:
        return {"server": self.cluster["server"], "insecure-skip-tls-verify": True}

    @property
    def authority(self) -> str:
        return b64encode(Path(self.cluster["certificate-authority"]).read_bytes()).decode()

    @property
    def by_token(self) -> dict[str, Any]:
        return {"token": (self.directory / "token").read_text().strip()}

    @property
    def pem(self) -> Path:
        return self.directory / "developer.pem"

    @property
    def data(self) -> str:
        """The certificate and key, as a kubeconfig holds them."""
        return b64encode(self.pem.read_bytes()).decode()


class Run(NamedTuple):
    """How a command ended."""

    code: int
    output: str
    errors: str


class Access(NamedTuple):
    """A kubeconfig's cluster and user, options that both commands have, and variables."""

    cluster: dict[str, Any]
    user: dict[str, Any]
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = MappingProxyType({})

    def kubeconfig(self, directory: Path, namespace: str = "") -> Path:
        context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": context}],
            "clusters": [{"name": "c", "cluster": self.cluster}],
            "users": [{"name": "u", "user": self.user}],
        }
        file = directory / "config"
        file.write_text(json.dumps(config))
        return file


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that knows client certificates, with objects in two namespaces and rights for three users."""
    directory = tmp_path_factory.mktemp("access")
    write_client_certificates(directory, ["developer", "stranger"])
    flags = [f"--client-ca-file={directory / 'authority.crt'}"]
    with control_plane("1.37", flags=flags) as server:
        for path, obj in _objects():
            answer = server.client.ask("POST", path, obj)
            assert answer.code == 201, answer.body
        (directory / "token").write_text(_token(server.client, "developer") + "\n")
        (directory / "plugin.py").write_text(PLUGIN)
        _write_plugin_answers(directory)
        port = int(
            json.loads(server.kubeconfig.read_text())["clusters"][0]["cluster"]["server"].rpartition(":")[2]
        )
        with forward_proxy(port) as proxy:
            yield Site(server, directory, proxy)


def _objects() -> Iterator[tuple[str, dict[str, Any]]]:
    dra, core, rbac = f"/apis/{GROUP}/v1", "/api/v1", "/apis/rbac.authorization.k8s.io/v1"
    request = {"name": "r", "exactly": {"deviceClassName": "gpu.example.com"}}
    yield f"{dra}/deviceclasses", {"metadata": {"name": "gpu.example.com"}}
    pool = {"name": "n1", "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "g0"}]}
    yield f"{dra}/resourceslices", {"metadata": {"name": "slice"}, "spec": spec}
    for namespace in ("team", "others"):
        yield f"{core}/namespaces", {"metadata": {"name": namespace}}
        where = f"{dra}/namespaces/{namespace}"
        claim = {"metadata": {"name": "claim"}, "spec": {"devices": {"requests": [request]}}}
        yield f"{where}/resourceclaims", claim
        yield (
            f"{where}/resourceclaimtemplates",
            {"metadata": {"name": "template"}, "spec": {"spec": claim["spec"]}},
        )
        container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "gpu"}]}}
        pod = {"containers": [container], "resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}]}
        yield f"{core}/namespaces/{namespace}/pods", {"metadata": {"name": "pod"}, "spec": pod}
    yield f"{core}/namespaces/team/serviceaccounts", {"metadata": {"name": "developer"}}
    developers = [
        {"kind": "ServiceAccount", "name": "developer", "namespace": "team"},
        {"kind": "User", "name": "developer", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "Group", "name": "developers", "apiGroup": "rbac.authorization.k8s.io"},
    ]
    verbs = ["get", "list"]
    mine = [
        {"apiGroups": [GROUP], "resources": ["resourceclaims", "resourceclaimtemplates"], "verbs": verbs},
        {"apiGroups": [""], "resources": ["pods"], "verbs": verbs},
    ]
    common = [{"apiGroups": [GROUP], "resources": ["deviceclasses", "resourceslices"], "verbs": verbs}]
    for kind, where, rules in (
        ("Role", f"{rbac}/namespaces/team/", mine),
        ("ClusterRole", f"{rbac}/", common),
    ):
        yield f"{where}{kind.lower()}s", {"metadata": {"name": "developer"}, "rules": rules}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "developer"}
        binding = {"metadata": {"name": "developer"}, "roleRef": reference, "subjects": developers}
        yield f"{where}{kind.lower()}bindings", binding


def _token(client: Client, account: str) -> str:
    path = f"/api/v1/namespaces/team/serviceaccounts/{account}/token"
    answer = client.ask(
        "POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    )
    assert answer.code == 201, answer.body
    return str(answer.body["status"]["token"])


def _write_plugin_answers(directory: Path) -> None:
    pem = (directory / "developer.pem").read_text()
    certificate, key = pem[: pem.index("-----BEGIN PRIVATE")], pem[pem.index("-----BEGIN PRIVATE") :]
    token = (directory / "token").read_text().strip()
    later = "2100-01-01T00:00:00Z"
    for name, status in (
        ("token.json", {"token": token, "expirationTimestamp": later}),
        ("certificate.json", {"clientCertificateData": certificate, "clientKeyData": key}),
    ):
        (directory / name).write_text(json.dumps(status))


def _plugin(site: Site, answer: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {
        "exec": {
            "apiVersion": f"client.authentication.k8s.io/{version}",
            "command": sys.executable,
            "args": [str(site.directory / "plugin.py"), "--login", answer],
            "env": [{"name": "GREETING", "value": "hello"}],
            "interactiveMode": "Never",
            **more,
        }
    }


_TOLD = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "e2e"}}
#: Ways of access, by name: each kind of credential, of acting as somebody else, and of reaching the server.
ROWS: dict[str, Callable[[Site], Access]] = {
    "administrator": lambda site: Access(site.cluster, site.admin),
    "token": lambda site: Access(site.cluster, site.by_token),
    "token file": lambda site: Access(site.cluster, {"tokenFile": str(site.directory / "token")}),
    "certificate": lambda site: Access(
        site.cluster, {"client-certificate": str(site.pem), "client-key": str(site.pem)}
    ),
    "certificate data": lambda site: Access(
        site.cluster, {"client-certificate-data": site.data, "client-key-data": site.data}
    ),
    "user without rights": lambda site: Access(
        site.cluster,
        dict.fromkeys(("client-certificate", "client-key"), str(site.directory / "stranger.pem")),
    ),
    "plugin with token": lambda site: Access(site.cluster, _plugin(site, str(site.directory / "token.json"))),
    "plugin with certificate": lambda site: Access(
        site.cluster, _plugin(site, str(site.directory / "certificate.json"), "v1beta1")
    ),
    "plugin that is told the cluster": lambda site: Access(
        {**site.cluster, "extensions": [_TOLD]},
        _plugin(site, str(site.directory / "token.json"), provideClusterInfo=True),
    ),
    "as: in the kubeconfig": lambda site: Access(site.cluster, {**site.admin, "as": "developer"}),
    "group in the kubeconfig": lambda site: Access(
        site.cluster, {**site.admin, "as": "x", "as-groups": ["developers"]}
    ),
    "--as": lambda site: Access(site.cluster, site.admin, ("--as=developer",)),
    "--as-group": lambda site: Access(
        site.cluster, site.admin, ("--as=x", "--as-group=y", "--as-group=developers")
    ),
    "--as instead of as:": lambda site: Access(
        site.cluster, {**site.admin, "as": "system:admin"}, ("--as=stranger",)
    ),
    "--as without the right to": lambda site: Access(site.cluster, site.by_token, ("--as=system:admin",)),
    "authority data": lambda site: Access(
        {"server": site.cluster["server"], "certificate-authority-data": site.authority}, site.by_token
    ),
    "certificate not checked": lambda site: Access(site.insecure, site.by_token),
    "proxy-url": lambda site: Access({**site.named, "proxy-url": site.proxy.url}, site.by_token),
    "proxy-url with password": lambda site: Access(
        {**site.named, "proxy-url": site.proxy.url.replace("//", "//me:p%40ss@")}, site.by_token
    ),
    "HTTPS_PROXY": lambda site: Access(
        site.named, site.by_token, environment={"HTTPS_PROXY": site.proxy.url}
    ),
    "NO_PROXY": lambda site: Access(
        site.cluster,
        site.by_token,
        environment={"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.0/8"},
    ),
    "name and password": lambda site: Access(site.cluster, {"username": "developer", "password": "p@ss"}),
    "--as-uid": lambda site: Access(site.cluster, site.admin, ("--as=developer", "--as-uid=1")),
    "--as-uid without the right to": lambda site: Access(
        site.cluster, site.by_token, ("--as=developer", "--as-uid=1")
    ),
    "as-uid in the kubeconfig": lambda site: Access(
        site.cluster, {**site.admin, "as": "developer", "as-uid": "1"}
    ),
    "as-user-extra in the kubeconfig": lambda site: Access(
        site.cluster, {**site.admin, "as": "developer", "as-user-extra": {"example.com/Team": ["a", "b"]}}
    ),
}


@pytest.mark.parametrize("scope", ["-A", "-n=team"])
@pytest.mark.parametrize("row", ROWS)
def test_same_rights_as_kubectl(row: str, scope: str, site: Site, tmp_path: Path) -> None:
    """The same lists can be read, with the same objects; nothing but the report is written."""
    access = ROWS[row](site)
    config = access.kubeconfig(tmp_path)
    expected = {
        resource: _listed(_kubectl(access, config, "get", resource, scope, "-o=json"))
        for resource in (*RESOURCES, *CONTEXT)
        if not (resource == "namespaces" and scope != "-A")
    }
    known = len(site.proxy.asked)
    run = _claimcheck(access, config, "validate", "--live", scope, "-o=json")
    assert run.errors == ""
    report = json.loads(run.output)
    refused = {failure["file"].partition("/")[2] for failure in report["failures"]}
    found = {result["file"].partition("/")[2] for result in report["results"]}
    if GROUP in refused:  # not even what it serves: then nothing at all
        refused = set(expected)
    assert {name for name, names in expected.items() if names is None} == refused & set(expected)
    assert found == {f"{name}/{each}" for name in RESOURCES for each in expected[name] or ()}
    assert run.code == (2 if report["failures"] else 0)
    if "proxy" in row.lower() and row != "NO_PROXY":
        assert f"{HOST}:{site.port}" in site.proxy.asked[known:]
    if row == "proxy-url with password":
        assert site.proxy.authorizations[-1] == "Basic " + b64encode(b"me:p@ss").decode()


def _listed(run: Run) -> set[str] | None:
    """The names of what kubectl lists; None if it may not."""
    if run.code:
        assert (
            "orbidden" in run.errors or "Unauthorized" in run.errors or "must be logged in" in run.errors
        ), run
        return None
    found = json.loads(run.output)
    return {
        "/".join(filter(None, (item["metadata"].get("namespace"), item["metadata"]["name"])))
        for item in found["items"]
    }


FAILURES = [
    pytest.param(
        "dead server", "no answer from https://127.0.0.1:{port}: connection refused", id="dead-server"
    ),
    pytest.param(
        "no such host",
        "no answer from https://cluster.invalid:443: the host cluster.invalid is not known",
        id="dns",
    ),
    pytest.param("unknown certificate", "its certificate is not trusted", id="unknown-certificate"),
    pytest.param("other name", "its certificate is not trusted: ", id="other-name"),
    pytest.param("wrong token", "the server answers 401 Unauthorized", id="wrong-token"),
    pytest.param("nobody", "the server answers 403", id="nobody"),
    pytest.param("dead proxy", "the proxy does not answer", id="dead-proxy"),
    pytest.param("failing plugin", "failed with exit code 1", id="failing-plugin"),
    pytest.param("missing plugin", "the credential plugin none: not found", id="missing-plugin"),
    pytest.param("auth provider", "auth provider gcp", id="auth-provider"),
]


@pytest.mark.parametrize("command", ["validate", "explain"])
@pytest.mark.parametrize(("row", "message"), FAILURES)
def test_failures(row: str, message: str, command: str, site: Site, tmp_path: Path) -> None:
    """Where kubectl gets no answer, there is none here: exit code 2, and the reason on one line."""
    dead = free_port()
    cluster, user = site.cluster, {"token": "wrong" if row == "wrong token" else site.admin["token"]}
    named = {**cluster, "server": f"https://{HOST}:{site.port}", "tls-server-name": "127.0.0.1"}
    access = {
        "dead server": Access({**cluster, "server": f"https://127.0.0.1:{dead}"}, user),
        "no such host": Access({**cluster, "server": f"https://{HOST}:443"}, user),
        "unknown certificate": Access({"server": cluster["server"]}, user),
        "other name": Access({**cluster, "tls-server-name": "other.example.com"}, user),
        "wrong token": Access(cluster, user),
        "nobody": Access(cluster, {}),
        "dead proxy": Access({**named, "proxy-url": f"http://127.0.0.1:{dead}"}, user),
        "failing plugin": Access(cluster, _plugin(site, "fail")),
        "missing plugin": Access(
            cluster, _plugin(site, "x", command=str(tmp_path / "none"), installHint="get it")
        ),
        "auth provider": Access(cluster, {"auth-provider": {"name": "gcp"}}),
    }[row]
    config = access.kubeconfig(tmp_path)
    assert _kubectl(access, config, "get", "resourceslices").code == 1
    arguments = ["validate", "--live"] if command == "validate" else ["explain", "pod/pod", "-n", "team"]
    run = _claimcheck(access, config, *arguments)
    assert run.code == 2
    told = run.output + run.errors
    assert message.format(port=dead) in told
    assert "Traceback" not in told
    assert "Warning" not in told
    assert "\x1b" not in told
    if row == "failing plugin":
        assert r"log in first \x1b[2J" in run.errors
    if row == "missing plugin":
        assert "get it" in run.errors


def test_an_update_is_answered_as_one(site: Site, tmp_path: Path) -> None:
    """With files, the answer is that of `kubectl apply`: what exists would be updated, what does not be created."""
    access = Access(site.cluster, site.admin)
    config = access.kubeconfig(tmp_path, namespace="team")
    spec = (
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com, count: %d}}]}}\n"
    )
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: %s}\n"
    file = tmp_path / "claims.yaml"
    file.write_text(head % "claim" + spec % 1 + "---\n" + head % "new" + spec % 2)
    same = json.loads(_claimcheck(access, config, "validate", str(file), "--live", "-o=json").output)
    assert [(each["verb"], each["valid"]) for each in same["results"]] == [("update", True), ("create", True)]
    assert _kubectl(access, config, "apply", "--dry-run=server", "-f", str(file)).code == 0
    file.write_text(head % "claim" + spec % 7)
    changed = _claimcheck(access, config, "validate", str(file), "--live")
    assert changed.code == 1
    assert "field is immutable" in changed.output
    refused = _kubectl(access, config, "apply", "--dry-run=server", "-f", str(file))
    assert (refused.code, "field is immutable" in refused.errors) == (1, True)
    elsewhere = _claimcheck(access, config, "validate", str(file), "--live", "-n", "none")
    assert 'namespaces "none" not found' in elsewhere.output
    refused = _kubectl(access, config, "apply", "--dry-run=server", "-f", str(file), "-n", "none")
    assert 'namespaces "none" not found' in refused.errors


def test_a_pod_that_runs_is_updated_as_by_apply(site: Site, tmp_path: Path) -> None:
    """What the server has filled in stays: the file that made a pod is accepted again."""
    access = Access(site.cluster, site.admin)
    config = access.kubeconfig(tmp_path, namespace="team")
    [pod] = [obj for path, obj in _objects() if path == "/api/v1/namespaces/team/pods"]
    file = tmp_path / "pod.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", **pod}))
    run = _claimcheck(access, config, "validate", str(file), "--live", "-o=json")
    assert (run.code, json.loads(run.output)["results"][0]["verb"]) == (0, "update")
    assert _kubectl(access, config, "apply", "--dry-run=server", "-f", str(file)).code == 0


def test_a_developer_gets_an_answer(site: Site, tmp_path: Path) -> None:
    """Who may read only a namespace gets files checked and pods explained, and is told what is not known."""
    access = ROWS["token"](site)
    config = access.kubeconfig(tmp_path, namespace="team")
    file = tmp_path / "claim.yaml"
    file.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: new}\n"
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.exampel.com}}]}}\n"
    )
    checked = _claimcheck(access, config, "validate", str(file), "--live")
    assert "DeviceClass" in checked.output  # classes may be read: the misspelt one is found
    explained = _claimcheck(access, config, "explain", "pod/pod")
    assert explained.code == 2
    assert "only those in the namespace team are known" in explained.output + explained.errors
    assert "Pod team/pod" in explained.output


def _kubectl(access: Access, config: Path, *arguments: str) -> Run:
    cache = config.parent / "cache"
    return _run([str(tool("kubectl")), f"--cache-dir={cache}", *access.options, *arguments], access, config)


def _claimcheck(access: Access, config: Path, *arguments: str) -> Run:
    return _run([sys.executable, "-m", "commandline.main", *arguments, *access.options], access, config)


def _run(command: list[str], access: Access, config: Path) -> Run:
    environment = {**os.environ, "KUBECONFIG": str(config), **access.environment}
    done = subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)
