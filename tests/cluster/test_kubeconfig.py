"""What a kubeconfig says about reaching a cluster, beyond what tests/commandline/test_kubeconfig.py shows with the command."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cluster.access import Access
from cluster.client import Client
from cluster.context_access import access_of
from cluster.kubeconfig import Kubeconfig, KubeconfigError


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
