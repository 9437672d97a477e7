"""Who may listen: what listens elsewhere has no limits on connections, requests and time, and anybody may reach it."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

# What opens a port or socket, in the standard library and in the libraries that are installed.
LISTENS = frozenset(
    (
        "add_insecure_port",
        "add_secure_port",
        "bind",
        "create_datagram_endpoint",
        "create_server",
        "create_unix_server",
        "make_server",
        "run_app",
        "start_http_server",
        "start_server",
        "start_unix_server",
        "start_wsgi_server",
        "BaseServer",
        "HTTPServer",
        "NamedPipeSite",
        "SockSite",
        "TCPServer",
        "TCPSite",
        "ThreadingHTTPServer",
        "UDPServer",
        "UnixSite",
        "UnixStreamServer",
    )
)
ALLOWED = {
    # every port, with the limits of serving.connections
    "serving/listening.py": {"create_server"},
    # kubelet's Unix sockets, which only their owner can open
    "classic/kubelet/plugin.py": {"add_insecure_port"},
}
# Methods of the project's own that have such a name.
OTHERS = {
    "classic/simulation/kube_scheduler.py": {"bind"},
    "scheduler/routes.py": {"bind"},
}


def listening(source: str) -> Iterator[str]:
    """The names in a module of what opens a port, however they are called or imported."""
    if not any(name in source for name in LISTENS):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in LISTENS:
            yield node.attr
        elif isinstance(node, ast.Name) and node.id in LISTENS:
            yield node.id
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names if alias.name in LISTENS)
        elif isinstance(node, ast.Constant) and node.value in LISTENS - {"bind"}:  # for getattr
            yield str(node.value)


def test_only_one_module_opens_ports() -> None:
    """All that listens gets its socket from serving.listening, and its connections from serving.listening."""
    settings = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))
    found = {
        file: names - OTHERS.get(file, set())
        for package in settings["tool"]["importlinter"]["root_packages"]
        for path in Path(package).rglob("*.py")
        if (names := set(listening(path.read_text("utf-8")))) - OTHERS.get(file := path.as_posix(), set())
    }
    assert found == ALLOWED


@pytest.mark.parametrize(
    "source",
    [
        "socket.socket().bind(('', 1))",
        "await asyncio.start_server(f)",
        "from socket import create_server",
        "web.TCPSite(runner)",
        "getattr(loop, 'create_server')",
        "class S(http.server.HTTPServer): pass",
    ],
)
def test_ways_to_listen_are_found(source: str) -> None:
    if source.startswith("await"):
        source = f"async def f(): {source}"
    assert list(listening(source))
