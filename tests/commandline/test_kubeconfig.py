"""`--kubeconfig`: live objects, from a server that answers like kube-apiserver."""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from commandline.main import main
from resourceapi.deep_json import dumps, loads
from tests.webhook.client_certificates import write_client_certificates

GROUP = "/apis/resource.k8s.io"
OWN_GROUP = "/apis/claimcheck.example.com/v1alpha3"
PATCHES = "resourceslicepatches"
TOKEN = "secret"


def _claim(name: str, **exactly: Any) -> dict[str, Any]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **exactly}}
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": "1",
            "resourceVersion": "2",
            "managedFields": [],
        },
        "spec": {"devices": {"requests": [request]}},
        "status": {},
    }


POD = {
    "metadata": {"name": "pod", "namespace": "team"},
    "spec": {
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "first"}],
        "containers": [{"name": "app", "image": "app"}],
        "ephemeralContainers": [{"name": "debugger", "image": "debugger"}],
    },
}
CLASS = {"metadata": {"name": "gpu.example.com"}, "spec": {}}
LABELS = {"resource.kubernetes.io/admin-access": "true"}
RULE = {"metadata": {"name": "rule"}, "spec": {"taint": {"key": "example.com/a", "effect": "NoSchedule"}}}


_NAMED = re.compile(r".*/namespaces/[^/]+/[a-z]+/[^/]+|/api/v1/namespaces/[^/]+")


class FakeCluster(ThreadingHTTPServer):
    """Serves lists of objects in pages of one."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lists: dict[str, list[dict[str, Any]]] = {
            f"{GROUP}/v1/resourceclaims": [_claim("first"), _claim("second", adminAccess=True)],
            f"{GROUP}/v1/deviceclasses": [CLASS],
            "/api/v1/namespaces": [{"metadata": {"name": "team", "labels": LABELS}}],
            "/api/v1/pods": [POD, {"metadata": {"name": "plain"}, "spec": {"containers": []}}],
        }
        self.versions: dict[str, tuple[str, ...]] = {
            "v1": ("resourceclaims", "deviceclasses"),
            "v1beta1": ("resourceclaims", "deviceclasses"),
        }
        #: whether the CRD of the project's own group is installed
        self.has_patches = False
        self.version: dict[str, str] = {}
        self.objects: dict[str, dict[str, Any]] = {}
        #: whether objects are served by name, not only in lists
        self.has_names = False
        self.forbidden: set[str] = set()
        self.refusal: tuple[int, dict[str, Any]] = (
            403,
            {"kind": "Status", "message": "nodes is forbidden: User cannot list nodes"},
        )
        #: how the paths begin that alone may be read; discovery may always
        self.allowed: tuple[str, ...] = ("/",)
        #: the headers of impersonation in requests
        self.impersonated: list[list[tuple[str, str]]] = []
        self.asked: set[str] = set()

    def answer(self, path: str, query: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        if path == "/version":
            return 200, self.version
        is_discovery = path == GROUP or path.removeprefix(GROUP + "/") in self.versions
        is_discovery &= bool(self.versions)
        if path == OWN_GROUP and path not in self.forbidden:
            return (200, {"resources": [{"name": PATCHES}]}) if self.has_patches else (404, {})
        if path in self.forbidden or not (is_discovery or path.startswith(self.allowed)):
            return self.refusal
        if path == GROUP:
            return 200, {"versions": [{"version": version} for version in self.versions]}
        version = path.removeprefix(GROUP + "/")
        if version in self.versions:
            return 200, {"resources": [{"name": name} for name in self.versions[version]]}
        if path in self.objects:
            return 200, self.objects[path]
        if self.has_names and _NAMED.fullmatch(path):
            *_, resource, name = path.split("/")
            return 404, {"kind": "Status", "message": f'{resource} "{name}" not found'}
        items = self.lists.get(path, [])
        start = int(query.get("continue", ["0"])[0])
        following = {"continue": str(start + 1)} if start + 1 < len(items) else {}
        return 200, {"items": items[start : start + 1], "metadata": following}


class _Handler(BaseHTTPRequestHandler):
    server: FakeCluster

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.server.asked.add(url.path)
        self.server.impersonated.append(
            [(name, value) for name, value in self.headers.items() if name.startswith("Impersonate-")]
        )
        code = 401
        answer: dict[str, Any] = {}
        if self.headers["Authorization"] == f"Bearer {TOKEN}":
            code, answer = self.server.answer(url.path, parse_qs(url.query))
        body = dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """A running server."""
    with FakeCluster() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _deep_claim(name: str, levels: int) -> dict[str, Any]:
    claim = _claim(name)
    parameters = {"a": loads("[" * levels + "1.5" + "]" * levels)}
    claim["spec"]["devices"]["config"] = [{"opaque": {"driver": "gpu.example.com", "parameters": parameters}}]
    return claim


@pytest.mark.parametrize(("levels", "code"), [(1500, 0), (9900, 1)])
def test_deep_parameters(
    levels: int, code: int, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parameters of as many levels as an API server stores end no command: neither checked, explained, simulated nor saved."""
    cluster.lists[f"{GROUP}/v1/resourceclaims"].insert(0, _deep_claim("deep", levels))
    cluster.versions = {"v1": ("resourceclaims", "deviceclasses", "resourceslices")}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "g0"}]}
    cluster.lists[f"{GROUP}/v1/resourceslices"] = [{"metadata": {"name": "s"}, "spec": spec}]
    cluster.lists["/api/v1/nodes"] = [{"metadata": {"name": "n1"}}]
    config = _kubeconfig(tmp_path, _address(cluster))
    report = _report(capsys, "--kubeconfig", config, code=code)  # more than 10 KiB are not valid
    assert report["summary"]["valid"] == 6 - code
    pod = tmp_path / "pod.yaml"
    pod.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: deep-pod, namespace: team}\nspec:\n"
        "  resourceClaims: [{name: gpu, resourceClaimName: deep}]\n"
        "  containers: [{name: app, image: app, resources: {claims: [{name: gpu}]}}]\n",
        encoding="utf-8",
    )
    for command in ("explain", "simulate"):
        assert main([command, "-f", str(pod), "--kubeconfig", config]) == 0
        assert "team/deep-pod" in capsys.readouterr().out
    file = tmp_path / "saved.json"
    assert main(["migrate-storage", "save", str(file), "--kubeconfig", config]) == 0
    [saved] = [item for item in loads(file.read_text())["items"] if item["metadata"]["name"] == "deep"]
    assert dumps(saved["spec"]) == dumps(_deep_claim("deep", levels)["spec"])


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "private\nrest"}, "Authorization"),
        ({"tokenFile": "token"}, "Authorization"),
        ({"token": TOKEN, "as": "private\r\nrest"}, "Impersonate-User"),
        ({"token": TOKEN, "as": "jane", "as-groups": ["private\x00"]}, "Impersonate-Group"),
    ],
)
def test_credentials_are_not_shown(
    user: dict[str, Any],
    header: str,
    cluster: FakeCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What no header can hold is refused without showing it."""
    (tmp_path / "token").write_text("private\nrest\n", encoding="utf-8")
    config = _kubeconfig(tmp_path, _address(cluster), **user)
    assert main(["validate", "--kubeconfig", config]) == 2
    captured = capsys.readouterr()
    assert "private" not in captured.out + captured.err
    assert f"the value of the header {header} has characters that no header can have" in captured.out


def _kubeconfig(tmp_path: Path, server: str, **user: Any) -> str:
    config = {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user or {"token": TOKEN}}],
    }
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    return str(tmp_path / "config")


def _address(cluster: FakeCluster) -> str:
    return f"http://127.0.0.1:{cluster.server_address[1]}"


def _report(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["validate", "-o", "json", *arguments]) == code
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def test_live_objects(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All pages of all lists are read, with labels of namespaces; pods without claims are left alone."""
    report = _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, _address(cluster)))
    assert [result["file"] for result in report["results"]] == [
        "test/resourceclaims/team/first",
        "test/resourceclaims/team/second",
        "test/deviceclasses/gpu.example.com",
        "test/pods/team/pod",
    ]
    assert report["summary"] == {
        "valid": 4,
        "invalid": 0,
        "errors": 0,
        "warnings": 0,
        "notes": 0,
        "skipped": 1,
    }


@pytest.mark.parametrize("checked", [True, False])
def test_certificate_of_nobody_known(
    checked: bool, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused with the reason; where the file says not to look at it, nothing is said, as by kubectl."""
    write_client_certificates(tmp_path, ["server"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    cluster.socket = context.wrap_socket(cluster.socket, server_side=True)
    kubeconfig = Path(_kubeconfig(tmp_path, _address(cluster).replace("http:", "https:")))
    if not checked:
        config = json.loads(kubeconfig.read_text(encoding="utf-8"))
        config["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
        kubeconfig.write_text(json.dumps(config), encoding="utf-8")
    report = _report(capsys, "--kubeconfig", str(kubeconfig), code=2 if checked else 0)
    messages = [failure["message"] for failure in report["failures"]]
    assert [("its certificate is not trusted" in message) for message in messages] == [True] * checked


def test_what_a_rollback_would_lose(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fields that the target release drops are told, those in the status included."""
    claim = _claim("tolerant", tolerations=[{"operator": "Exists"}])
    device = {"driver": "gpu.example.com", "pool": "p", "device": "a"}
    request = claim["spec"]["devices"]["requests"][0]["name"]
    results = {"devices": {"results": [{"request": request, **device}]}}
    claim["status"] = {"allocation": results, "devices": [device]}
    cluster.lists[f"{GROUP}/v1/resourceclaims"] = [claim]
    gates = "DRAResourceClaimDeviceStatus=false"
    config = _kubeconfig(tmp_path, _address(cluster))
    report = _report(capsys, "--kubeconfig", config, "--kube-version", "1.35", "--feature-gates", gates)
    found = [finding["field"] for result in report["results"] for finding in result["findings"]]
    assert found[:2] == ["spec.devices.requests[0].exactly.tolerations", "status.devices"]


BETA = ("--runtime-config", "resource.k8s.io/v1beta2=true")


def test_version_that_the_target_serves(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Objects are read in a version that the target release has, too."""
    cluster.versions = {"v1": ("devicetaintrules",), "v1beta2": ("devicetaintrules",)}
    cluster.lists[f"{GROUP}/v1beta2/devicetaintrules"] = [RULE]
    config = _kubeconfig(tmp_path, _address(cluster))
    report = _report(capsys, "--no-lint", "--kubeconfig", config, "--kube-version", "1.36", *BETA)
    [result] = [result for result in report["results"] if result["kind"] == "DeviceTaintRule"]
    assert (result["apiVersion"], result["findings"]) == ("resource.k8s.io/v1beta2", [])


def test_old_cluster(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A version that is deprecated is not warned about: the user did not choose it."""
    cluster.versions = {"v1beta1": ("deviceclasses",)}
    cluster.lists = {f"{GROUP}/v1beta1/deviceclasses": [CLASS]}
    report = _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, _address(cluster)))
    assert report["summary"] == {
        "valid": 1,
        "invalid": 0,
        "errors": 0,
        "warnings": 0,
        "notes": 0,
        "skipped": 0,
    }


def test_versions_that_the_cluster_serves(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file is checked against the versions that the cluster serves; another release serves the stable ones."""
    for version in cluster.versions:
        cluster.objects[f"{GROUP}/{version}/deviceclasses/gpu.example.com"] = CLASS
    beta = tmp_path / "class.yaml"
    beta.write_text(json.dumps({"apiVersion": "resource.k8s.io/v1beta1", "kind": "DeviceClass", **CLASS}))
    asked = ("--live", "--kubeconfig", _kubeconfig(tmp_path, _address(cluster)), str(beta))

    def rules(*options: str) -> list[str]:
        main(["validate", "--no-lint", "-o", "json", *asked, *options])
        results = json.loads(capsys.readouterr().out)["results"]
        return [finding["rule"] for finding in results[0]["findings"]]

    assert "NotServed" not in rules()
    assert rules("--kube-version", "1.36") == ["NotServed"]
    assert "NotServed" not in rules("--kube-version", "1.36", "--runtime-config", "api/beta=true")
    del cluster.versions["v1beta1"]
    assert rules() == ["NotServed"]


def test_live_objects_are_stored(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What becomes of live objects as they are stored is said, and of files that are checked against them nothing."""
    config = _kubeconfig(tmp_path, _address(cluster))
    report = _report(capsys, "--kubeconfig", config)
    assert {result["stored"]["updates"] for result in report["results"]} == {"accepted"}
    file = tmp_path / "class.yaml"
    stored = {"name": "gpu.example.com", "uid": "1", "resourceVersion": "1"}
    file.write_text(
        json.dumps({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": stored})
    )
    main(["validate", "-o", "json", "--live", "--kubeconfig", config, str(file)])
    assert "stored" not in json.loads(capsys.readouterr().out)


def test_forbidden_list(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What may not be read is work that could not be done; the rest is still reported."""
    cluster.forbidden = {"/api/v1/nodes"}
    message = "the server answers 403 nodes is forbidden: User cannot list nodes"
    report = _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, _address(cluster)), code=2)
    assert report["failures"] == [{"file": "test/nodes", "message": message}]
    assert report["summary"]["valid"] == 4


def test_wrong_token(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without access there is one failure, and it says why."""
    report = _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, _address(cluster), token="no"), code=2)
    assert report["failures"] == [
        {
            "file": "test/resource.k8s.io",
            "message": "the server answers 401 Unauthorized: it does not accept the credentials of this context",
        }
    ]


def test_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody listens there."""
    report = _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, "http://127.0.0.1:9"), code=2)
    message = report["failures"][0]["message"]
    assert message == "no answer from http://127.0.0.1:9: connection refused"


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_no_devices_without_a_server(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster that does not answer is not one without devices."""
    claim = tmp_path / "claim.yaml"
    claim.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}\n",
        encoding="utf-8",
    )
    kubeconfig = _kubeconfig(tmp_path, "http://127.0.0.1:9")
    assert main([command, "-f", str(claim), "--kubeconfig", kubeconfig]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(
        f"claimcheck: --kubeconfig {kubeconfig}: no answer from http://127.0.0.1:9"
    )


def test_credential_plugin(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plugin (`exec`) is asked for the token, with what it needs in its environment."""
    script = 'test "$GREETING" = hello && echo "$KUBERNETES_EXEC_INFO" | grep -q ExecCredential && echo "$0"'
    version = "client.authentication.k8s.io/v1"
    credential = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": {"token": TOKEN}})
    plugin = {
        "apiVersion": version,
        "command": "sh",
        "args": ["-c", script, credential],
        "env": [{"name": "GREETING", "value": "hello"}],
    }
    _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, _address(cluster), exec=plugin))


def test_token_in_a_file(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tokenFile` is relative to the kubeconfig."""
    (tmp_path / "token").write_text(TOKEN + "\n", encoding="utf-8")
    _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, _address(cluster), tokenFile="token"))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param("", "it has no contexts, so it leads to no cluster", id="empty"),
        pytest.param("a: [\n", "line 1: ", id="no-yaml"),
        pytest.param(
            "contexts: [{name: a, context: {cluster: c}}]\n",
            "no current context; choose one with --context (there are: a)",
            id="choice",
        ),
        pytest.param(
            "current-context: a\ncontexts: [{name: bcd}]\n",
            'there is no context "a" (there are: bcd)',
            id="no-such-context",
        ),
        pytest.param(
            "current-context: prodution\ncontexts: [{name: production, context: {cluster: c}}]\n",
            'there is no context "prodution"; did you mean `production`?',
            id="misspelt",
        ),
        pytest.param(
            "current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n",
            'there is no cluster "c", which the context "a" names',
            id="no-such-cluster",
        ),
        pytest.param("contexts: [{name: a}, {name: a}]\n", 'two contexts with the name "a"', id="twice"),
        pytest.param("contexts: [a]\n", "contexts[0] is not a context with a name", id="no-name"),
    ],
)
def test_unusable_file(config: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kubeconfig that cannot be used ends the run with one line that says why."""
    file = tmp_path / "config"
    file.write_text(config, encoding="utf-8")
    assert main(["validate", "--kubeconfig", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"claimcheck: --kubeconfig {file}: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_missing_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither does one that is not there."""
    assert main(["validate", "--kubeconfig", "/no/file"]) == 2
    assert capsys.readouterr().err == "claimcheck: --kubeconfig /no/file: no such file or directory\n"


def test_explain(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` takes nodes, slices, classes and what claims hold from the cluster."""
    kinds = ("resourceclaims", "deviceclasses", "resourceslices")
    cluster.versions = {"v1": kinds}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "g0"}]}
    cluster.lists[f"{GROUP}/v1/resourceslices"] = [{"metadata": {"name": "s"}, "spec": spec}]
    cluster.lists["/api/v1/nodes"] = [{"metadata": {"name": "n1"}}]
    holder = _claim("holder")
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "g0"}
    holder["status"] = {"allocation": {"devices": {"results": [result]}}}
    cluster.lists[f"{GROUP}/v1/resourceclaims"] = [holder, _claim("waiting")]
    asks = tmp_path / "pod.yaml"
    spec = {
        "containers": [{"name": "app", "image": "app"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "waiting"}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod", "namespace": "team"}, "spec": spec}
    asks.write_text(json.dumps(pod), encoding="utf-8")
    config = _kubeconfig(tmp_path, _address(cluster))
    assert main(["explain", "-f", str(asks), "--kubeconfig", config]) == 1
    text = capsys.readouterr().out
    assert "-1 held by claim team/holder" in text
    assert "- if claim team/holder were deleted, which no pod uses (on n1)" in text


SEVEN = (
    *(
        f"{GROUP}/v1/{name}"
        for name in ("resourceslices", "deviceclasses", "resourceclaims", "devicetaintrules")
    ),
    f"{GROUP}/v1/resourceclaimtemplates",
    "/api/v1/nodes",
    "/api/v1/namespaces",
)
REFUSED = "the server answers 403"
REPORTS = "resourcepoolstatusrequests"


def _with_a_template(cluster: FakeCluster, tmp_path: Path) -> Path:
    """One device, a template `team/one` that asks for it, and a file with a pod that uses the template."""
    kinds = ("resourceclaims", "resourceclaimtemplates", "deviceclasses", "resourceslices")
    cluster.versions = {"v1": kinds}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "g0"}]}
    template = {"metadata": {"name": "one", "namespace": "team"}, "spec": {"spec": _claim("")["spec"]}}
    cluster.lists = {
        f"{GROUP}/v1/resourceslices": [{"metadata": {"name": "s"}, "spec": spec}],
        f"{GROUP}/v1/deviceclasses": [CLASS],
        f"{GROUP}/v1/resourceclaimtemplates": [template],
        f"{GROUP}/v1/namespaces/team/resourceclaimtemplates": [template],
        "/api/v1/nodes": [{"metadata": {"name": "n1"}}],
        "/api/v1/namespaces": [{"metadata": {"name": "team"}}],
    }
    pod_spec = {
        "containers": [{"name": "app", "image": "app"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": pod_spec}
    asks = tmp_path / "pod.yaml"
    asks.write_text(json.dumps(pod), encoding="utf-8")
    return asks


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_rights_that_suffice(
    command: str, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who may list what the page names gets an answer; nothing else of what the cluster serves is asked for."""
    asks = str(_with_a_template(cluster, tmp_path))
    cluster.versions["v1"] += ("devicetaintrules",)
    cluster.versions["v1alpha3"] = (REPORTS,)
    cluster.allowed = SEVEN
    config = _kubeconfig(tmp_path, _address(cluster))
    assert main([command, "-f", asks, "-n", "team", "--kubeconfig", config]) == 0
    captured = capsys.readouterr()
    assert "403" not in captured.out + captured.err
    discovery = {"/version", GROUP, OWN_GROUP, *(f"{GROUP}/{version}" for version in cluster.versions)}
    pods = {"/api/v1/pods", "/api/v1/namespaces/team/pods"}  # what they take of nodes stays unknown
    of_pod_groups = "/apis/scheduling.k8s.io/v1beta1"
    groups = {of_pod_groups, f"{of_pod_groups}/podgroups", f"{of_pod_groups}/namespaces/team/podgroups"}
    quotas = {"/api/v1/resourcequotas", "/api/v1/namespaces/team/resourcequotas"}
    assert cluster.asked - discovery - pods - groups - quotas == set(SEVEN)


def test_validate_without_the_right_to_list_requests_for_reports(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are validated where they may be listed, and otherwise left out: nothing depends on them."""
    path = f"{GROUP}/v1alpha3/{REPORTS}"
    cluster.versions["v1alpha3"] = (REPORTS,)
    cluster.lists[path] = [{"metadata": {"name": "report"}, "spec": {"driver": "gpu.example.com"}}]
    config = _kubeconfig(tmp_path, _address(cluster))
    asked = ("--kubeconfig", config, "--runtime-config", "resource.k8s.io/v1alpha3=true")
    allowed = _report(capsys, *asked)
    cluster.forbidden = {path}
    forbidden = _report(capsys, *asked)
    assert allowed["summary"]["valid"] == forbidden["summary"]["valid"] + 1
    assert forbidden["failures"] == []


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_what_may_be_read_in_a_namespace(
    command: str, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is read there; that claims of others are not known is said, and a template elsewhere is not called missing."""
    asks = str(_with_a_template(cluster, tmp_path))
    config = _kubeconfig(tmp_path, _address(cluster))
    cluster.forbidden = {f"{GROUP}/v1/resourceclaimtemplates"}
    assert main([command, "-f", asks, "-n", "team", "--kubeconfig", config]) == 0
    assert REFUSED not in capsys.readouterr().out
    cluster.forbidden.add(f"{GROUP}/v1/resourceclaims")
    assert main([command, "-f", asks, "-n", "team", "--kubeconfig", config]) == 2
    text = "".join(capsys.readouterr())
    assert "only those in the namespace team are known" in text
    assert "g0" in text
    cluster.forbidden.add(f"{GROUP}/v1/namespaces/team/resourceclaimtemplates")
    assert main([command, "-f", asks, "-n", "team", "--kubeconfig", config]) == 2
    text = "".join(capsys.readouterr())
    assert f"template team/one could not be read ({REFUSED}" in text
    assert "neither" not in text
    cluster.forbidden.remove(f"{GROUP}/v1/namespaces/team/resourceclaimtemplates")
    assert main([command, "-f", asks, "--kubeconfig", config]) == 2
    assert "waits for template default/one, which does not exist" in "".join(capsys.readouterr())


def test_impersonation(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every request is made for the user that the file says, with one header per group and per extra value."""
    user = {
        "token": TOKEN,
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["a", "b"],
        "as-user-extra": {"example.com/scope": ["x", "y"]},
    }
    _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, _address(cluster), **user))
    assert cluster.impersonated
    for headers in cluster.impersonated:
        assert headers == [
            ("Impersonate-User", "jane"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Extra-example.com%2Fscope", "x"),
            ("Impersonate-Extra-example.com%2Fscope", "y"),
        ]


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"as-groups": ["a"]}, "as-uid, as-groups and as-user-extra need a user: as"),
        ({"as": "jane", "as-groups": "a"}, "as-groups must be a list, as-user-extra a mapping"),
        ({"as": ["jane"]}, "Impersonate-User: not a string"),
    ],
)
def test_no_impersonation(
    user: dict[str, Any],
    message: str,
    cluster: FakeCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is asked for as somebody else than the file says, whatever it says."""
    config = _kubeconfig(tmp_path, _address(cluster), token=TOKEN, **user)
    assert main(["validate", "--kubeconfig", config]) == 2
    assert f"{config}: {message}" in capsys.readouterr().err
    assert not cluster.asked


def _plugin(tmp_path: Path, script: str) -> dict[str, Any]:
    file = tmp_path / "plugin"
    file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    file.chmod(0o755)
    api_version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": api_version, "command": str(file), "interactiveMode": "Never"}}


def _credential(**status: str) -> str:
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"cat <<'END'\n{json.dumps(credential)}\nEND"


def test_plugin(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plugin's token is used."""
    user = _plugin(tmp_path, _credential(token=TOKEN))
    _report(capsys, "--kubeconfig", _kubeconfig(tmp_path, _address(cluster), **user))


def test_certificate_of_a_plugin(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """So is its certificate."""
    write_client_certificates(tmp_path, ["server", "client"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "authority.crt"))
    context.load_cert_chain(tmp_path / "server.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    cluster.socket = context.wrap_socket(cluster.socket, server_side=True)
    pem = (tmp_path / "client.pem").read_text(encoding="utf-8")
    user = _plugin(tmp_path, _credential(token=TOKEN, clientCertificateData=pem, clientKeyData=pem))
    kubeconfig = Path(_kubeconfig(tmp_path, _address(cluster).replace("http:", "https:"), **user))
    config = json.loads(kubeconfig.read_text(encoding="utf-8"))
    config["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    kubeconfig.write_text(json.dumps(config), encoding="utf-8")
    _report(capsys, "--kubeconfig", str(kubeconfig))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        pytest.param(
            "printf 'log in\\n::error::first \\033[2J' >&2; exit 3",
            "log in\n\\x3a:error::first \\x1b[2J\nclaimcheck: --kubeconfig FILE: the credential plugin plugin failed with exit code 3",
            id="fails",
        ),
        pytest.param("echo no", "the credential plugin plugin: what it prints is not JSON", id="no-json"),
        pytest.param(
            _credential(), "plugin: it gives neither a token nor a certificate with its key", id="nothing"
        ),
        pytest.param(
            _credential(clientCertificateData="x"), "neither a token nor a certificate", id="no-key"
        ),
    ],
)
def test_failing_plugin(
    script: str,
    message: str,
    cluster: FakeCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is an error, after what the plugin says, escaped: nothing is asked for as an anonymous user."""
    config = _kubeconfig(tmp_path, _address(cluster), **_plugin(tmp_path, script))
    assert main(["validate", "--kubeconfig", config]) == 2
    assert message in capsys.readouterr().err.replace(config, "FILE")
    assert not cluster.asked


def test_missing_plugin(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plugin that is not there is an error, too."""
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(tmp_path / "none"),
            "installHint": "Install it:\n  get none\033",
        }
    }
    assert main(["validate", "--kubeconfig", _kubeconfig(tmp_path, _address(cluster), **user)]) == 2
    errors = capsys.readouterr().err
    assert errors.endswith("the credential plugin none: not found\nInstall it:\n  get none\\x1b\n")
    assert not cluster.asked


def test_one_namespace(cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With `-n`, objects in other namespaces are not even asked for; those in none still are."""
    cluster.lists[f"{GROUP}/v1/namespaces/team/resourceclaims"] = [_claim("first")]
    cluster.objects["/api/v1/namespaces/team"] = {"metadata": {"name": "team"}}
    config = _kubeconfig(tmp_path, _address(cluster))
    report = _report(capsys, "--kubeconfig", config, "-n", "team")
    files = [result["file"] for result in report["results"]]
    assert files == ["test/resourceclaims/team/first", "test/deviceclasses/gpu.example.com"]
    assert f"{GROUP}/v1/deviceclasses" in cluster.asked
    assert "/api/v1/nodes" in cluster.asked
    assert "/api/v1/namespaces/team/pods" in cluster.asked
    assert not {"/api/v1/namespaces", "/api/v1/pods", f"{GROUP}/v1/resourceclaims"} & cluster.asked


def test_name_of_a_namespace_is_no_path(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no name of a namespace cannot lead elsewhere."""
    cluster.objects["/api/v1/namespaces/..%2Fnodes%3Fx"] = {"metadata": {"name": "../nodes?x"}}
    config = _kubeconfig(tmp_path, _address(cluster))
    _report(capsys, "--kubeconfig", config, "-n", "../nodes?x")
    assert "/api/v1/namespaces/..%2Fnodes%3Fx/pods" in cluster.asked
