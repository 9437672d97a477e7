"""What a kubeconfig says about reaching a cluster, beyond what tests/commandline/test_kubeconfig.py shows with the command."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cluster.access import Access, in_cluster
from cluster.client import Client
from cluster.context_access import access_of
from cluster.kubeconfig import Kubeconfig, KubeconfigError, kubeconfig_files
from resourceapi.api_client import Unavailable
from tests.webhook.client_certificates import write_client_certificates


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps({"token": self.headers["Authorization"], "target": self.path}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """A server that answers with what it was asked."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def write(directory: Path, cluster: dict[str, Any], user: dict[str, Any]) -> str:
    config = {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    (directory / "config").write_text(json.dumps(config), encoding="utf-8")
    return str(directory / "config")


ENDLESS = "/dev/zero"


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"certificate-authority": ENDLESS}, {}),
        ({}, {"client-certificate": ENDLESS, "client-key": ENDLESS}),
        ({}, {"client-certificate-data": "YQ==", "client-key": ENDLESS}),
    ],
)
def test_files_without_an_end(cluster: dict[str, Any], user: dict[str, Any], tmp_path: Path) -> None:
    """A kubeconfig from elsewhere may name a device; it took all memory."""
    file = write(tmp_path, {"server": "https://127.0.0.1:9", **cluster}, user)
    with pytest.raises(KubeconfigError, match="/dev/zero: file too large"):
        kubeconfig_access(file)


def test_a_token_without_an_end(address: str, tmp_path: Path) -> None:
    """It is read for each request, which then fails."""
    access, _ = kubeconfig_access(write(tmp_path, {"server": address}, {"tokenFile": ENDLESS}))
    with pytest.raises(Unavailable, match="/dev/zero: file too large"):
        Client(access).request("GET", "/")


@pytest.mark.parametrize("key", ["username", "password", "token", "tokenFile"])
def test_credentials_that_are_no_texts(key: str, tmp_path: Path) -> None:
    """They are refused before anything is asked; a name was only with the first request, in a traceback."""
    with pytest.raises(KubeconfigError, match=f'^{key} of "u" is not a string$'):
        kubeconfig_access(write(tmp_path, {"server": "http://127.0.0.1:9"}, {"username": "u", key: 1}))


def kubeconfig_access(file: str) -> tuple[Access, str]:
    context = Kubeconfig([file]).context()
    return access_of(context, environment={}), context.name


def ask(client: Client) -> Any:
    return client.request("GET", "/version")[1]


def test_token_file_is_read_anew(tmp_path: Path, address: str) -> None:
    """A client may live longer than a token: the file is read for every request."""
    (tmp_path / "token").write_text("first\n")
    access, context = kubeconfig_access(write(tmp_path, {"server": address}, {"tokenFile": "token"}))
    client = Client(access)
    assert context == "test"
    assert ask(client)["token"] == "Bearer first"
    (tmp_path / "token").write_text("second\n")
    assert ask(client)["token"] == "Bearer second"


def test_proxy(tmp_path: Path, address: str) -> None:
    """With `proxy-url` the proxy is asked for the server's URL."""
    cluster = {"server": "http://cluster.example.com:6443", "proxy-url": address}
    access, _ = kubeconfig_access(write(tmp_path, cluster, {"token": "t"}))
    assert ask(Client(access))["target"] == "http://cluster.example.com:6443/version"


def test_nobody(tmp_path: Path, address: str) -> None:
    """A user without credentials sends none."""
    access, _ = kubeconfig_access(write(tmp_path, {"server": address}, {}))
    assert ask(Client(access))["token"] is None


def test_unusable(tmp_path: Path) -> None:
    """There is one exception for whatever is the matter with a file."""
    with pytest.raises(KubeconfigError, match="no such file"):
        kubeconfig_access(str(tmp_path / "none"))


A = """
contexts: [{name: one, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://a:1"}}]
users: [{name: u, user: {token: a-token}}]
"""
B = """
current-context: two
contexts: [{name: one, context: {cluster: cc, user: uu}}, {name: two, context: {cluster: c, user: u, namespace: team}}]
clusters: [{name: c, cluster: {server: "https://b:1", tls-server-name: b}}, {name: d, cluster: {certificate-authority: ca.crt}}]
users: [{name: u, user: {token: b-token, as: jane}}]
"""


def test_files_are_merged(tmp_path: Path) -> None:
    """Of entries with one name that of the first file counts, whole; so does the first current context (asked of kubectl)."""
    (tmp_path / "a").write_text(A, encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b").write_text(B, encoding="utf-8")
    config = Kubeconfig([str(tmp_path / "a"), str(tmp_path / "sub" / "b")])
    two = config.context()
    assert (two.name, two.namespace) == ("two", "team")
    assert two.cluster.value == {"server": "https://a:1"}
    assert two.user.value == {"token": "a-token"}
    assert config.context("one").cluster is two.cluster


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    """Of several files, too."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "a").write_text("current-context: x\n", encoding="utf-8")
    text = B.replace("two, context: {cluster: c", "two, context: {cluster: d")
    (tmp_path / "sub" / "b").write_text(text, encoding="utf-8")
    config = Kubeconfig([str(tmp_path / "sub" / "b"), str(tmp_path / "a")])
    assert config.context().cluster.path("certificate-authority") == tmp_path / "sub" / "ca.crt"


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("a:b", ["a", "b"]),
        ("b:none::a:b", ["b", "a"]),
        ("none", []),
        ("", [".kube/config"]),
    ],
)
def test_default_files(
    variable: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """$KUBECONFIG names several, of which those that are missing do not matter; without it, ~/.kube/config counts."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".kube").mkdir()
    for name in ("a", "b", ".kube/config"):
        (tmp_path / name).write_text("", encoding="utf-8")
    assert kubeconfig_files({"KUBECONFIG": variable, "HOME": "."}) == expected


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({}, {}, 'the cluster "c" names no server'),
        ({"server": 1}, {}, 'server of "c" is not a string'),
        ({"server": "ftp://x"}, {}, "server: ftp://x is not the URL of a server"),
        ({"server": "https://x?y"}, {}, "server: https://x?y is not the URL of a server"),
        ({"server": "https://x", "certificate-authority": "none"}, {}, "none: no such file or directory"),
        (
            {"server": "https://x", "certificate-authority-data": "?"},
            {},
            "certificate-authority-data is not base64",
        ),
        (
            {"server": "https://x", "certificate-authority-data": "eA=="},
            {},
            "the certificate authority cannot be read",
        ),
        (
            {"server": "https://x", "certificate-authority-data": "eA==", "insecure-skip-tls-verify": True},
            {},
            "certificate-authority and insecure-skip-tls-verify contradict each other",
        ),
        (
            {"server": "https://x", "proxy-url": "socks5://p"},
            {},
            "proxy socks5://p: SOCKS proxies are not supported",
        ),
        ({"server": "https://x", "proxy-url": "x://me:secret@p"}, {}, "proxy x://p: not the URL of a proxy"),
        (
            {"server": "https://x"},
            {"client-certificate-data": "eA=="},
            "client-certificate and client-key belong together",
        ),
        (
            {"server": "https://x"},
            {"client-certificate-data": "eA==", "client-key-data": "eA=="},
            "the client certificate cannot be read",
        ),
        ({"server": "https://x"}, {"auth-provider": {"name": "gcp"}}, "the user names the auth provider gcp"),
        ({"server": "https://x"}, {"exec": []}, None),
        ({"server": "https://x"}, {"exec": "x"}, "exec is not a mapping"),
    ],
)
def test_unusable_entries(cluster: Any, user: Any, message: str | None, tmp_path: Path) -> None:
    """Each is an error that says what is wrong, without passwords."""
    file = write(tmp_path, cluster, user)
    if message is None:
        kubeconfig_access(file)
        return
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig_access(file)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


PASSWORDS = {
    "http://user:secret@127.0.0.1:99999": "http://127.0.0.1:99999",
    "user:secret@127.0.0.1:99999": "127.0.0.1:99999",
    "http://user:se/secret?@127.0.0.1:x": "http://127.0.0.1:x",
    "http://user:secret@[::1": "http://[::1",
    "user:secret://secret@host:x": "host:x",
    "ftp://user@name:secret@host": "ftp://host",
}


@pytest.mark.parametrize(("address", "shown"), PASSWORDS.items())
def test_passwords_in_addresses_are_not_shown(address: str, shown: str, tmp_path: Path) -> None:
    """Neither those of servers nor of proxies, also where an address is malformed."""
    for cluster in ({"server": address}, {"server": "https://x", "proxy-url": address}):
        with pytest.raises(KubeconfigError) as caught:
            kubeconfig_access(write(tmp_path, cluster, {}))
        assert shown in str(caught.value)
        assert "secret" not in str(caught.value)
    context = Kubeconfig([write(tmp_path, {"server": "https://x"}, {})]).context()
    with pytest.raises(KubeconfigError, match="not the URL of a proxy") as caught:
        access_of(context, environment={"HTTPS_PROXY": address})
    assert "secret" not in str(caught.value)


def test_passwords_are_not_in_what_failed(tmp_path: Path) -> None:
    """A server or a proxy that does not answer is told without them."""
    for cluster in (
        {"server": "http://user:secret@127.0.0.1:9"},
        {"server": "http://x", "proxy-url": "http://user:secret@127.0.0.1:9"},
    ):
        access = kubeconfig_access(write(tmp_path, cluster, {}))[0]
        with pytest.raises(Unavailable) as caught:
            ask(Client(access))
        assert "secret" not in f"{access.server} {caught.value} {caught.value.reason}"


def test_address_without_a_scheme(tmp_path: Path) -> None:
    """It is one of HTTPS where something is said of TLS, as for kubectl."""
    for cluster, server in (
        ({"server": "x:1"}, "http://x:1"),
        ({"server": "x:1/", "insecure-skip-tls-verify": True}, "https://x:1"),
        ({"server": "https://x/prefix/"}, "https://x/prefix"),
    ):
        assert kubeconfig_access(write(tmp_path, cluster, {}))[0].server == server


def test_name_and_password(tmp_path: Path, address: str) -> None:
    """Basic authentication, which some gateways still want."""
    access, _ = kubeconfig_access(write(tmp_path, {"server": address}, {"username": "me", "password": "p"}))
    assert ask(Client(access))["token"] == "Basic bWU6cA=="


def test_credentials_of_a_plugin_are_renewed(tmp_path: Path, address: str) -> None:
    """Once they have expired."""
    script = (
        f"n=$(cat {tmp_path}/n 2>/dev/null || echo 0); echo $((n + 1)) > {tmp_path}/n; "
        'echo "{\\"apiVersion\\": \\"client.authentication.k8s.io/v1\\", \\"kind\\": \\"ExecCredential\\", '
        '\\"status\\": {\\"token\\": \\"t$n\\", \\"expirationTimestamp\\": \\"2020-01-01T00:00:00Z\\"}}"'
    )
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", script],
        "interactiveMode": "Never",
    }
    access, _ = kubeconfig_access(write(tmp_path, {"server": address}, {"exec": plugin}))
    client = Client(access)
    assert [ask(client)["token"] for _ in range(2)] == ["Bearer t1", "Bearer t2"]


def test_service_account_of_a_pod(tmp_path: Path) -> None:
    """Inside a pod its own cluster is known; outside there is none."""
    write_client_certificates(tmp_path, [])
    (tmp_path / "authority.crt").rename(tmp_path / "ca.crt")
    (tmp_path / "namespace").write_text("team", encoding="utf-8")
    variables = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert in_cluster(variables, tmp_path) is None
    (tmp_path / "token").write_text("t\n", encoding="utf-8")
    assert in_cluster({}, tmp_path) is None
    found = in_cluster(variables, tmp_path)
    assert found is not None
    access, namespace = found
    assert (access.server, namespace) == ("https://[fd00::1]:443", "team")
    assert access.headers() == [("Authorization", "Bearer t")]


def test_empty_authority(tmp_path: Path) -> None:
    """An empty file is no reason to trust everybody whom the system trusts."""
    (tmp_path / "ca.crt").touch()
    with pytest.raises(KubeconfigError, match=r"ca\.crt: is empty"):
        kubeconfig_access(write(tmp_path, {"server": "https://x", "certificate-authority": "ca.crt"}, {}))


def test_authority_with_comments(tmp_path: Path) -> None:
    """Bundles have names beside certificates, in any language."""
    write_client_certificates(tmp_path, [])
    certificate = (tmp_path / "authority.crt").read_text(encoding="utf-8")
    (tmp_path / "ca.crt").write_text(f"# Gültig für alle\n{certificate}", encoding="utf-8")
    kubeconfig_access(write(tmp_path, {"server": "https://x", "certificate-authority": "ca.crt"}, {}))
