"""Credential plugins: what they are given, what they may print, and what stops them."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cluster import credential_plugins
from cluster.credential_plugins import MAX_LINE, MAX_LINES, CredentialPlugin
from cluster.kubeconfig import Entry, KubeconfigError

V1 = "client.authentication.k8s.io/v1"


def plugin(script: str, tell: list[str] | None = None, **spec: Any) -> CredentialPlugin:
    """A plugin that is a Python program; what it writes to stderr goes to ``tell``."""
    entry = {"apiVersion": V1, "command": sys.executable, "args": ["-c", script], "interactiveMode": "Never"}
    user = Entry("u", {"exec": {**entry, **spec}}, Path("/nowhere"))
    return CredentialPlugin(user, {"server": "https://cluster"}, (tell if tell is not None else []).append)


def printing(status: Any, **more: Any) -> str:
    credential = {"apiVersion": V1, "kind": "ExecCredential", "status": status, **more}
    return f"print({json.dumps(json.dumps(credential))})"


def test_token_with_a_term() -> None:
    """Credentials say when they end."""
    found = plugin(printing({"token": "t", "expirationTimestamp": "2020-01-01T00:00:00Z"})).run()
    assert (found.token, found.expires) == ("t", datetime(2020, 1, 1, tzinfo=UTC))
    assert found.are_expired
    assert not plugin(printing({"token": "t"})).run().are_expired


@pytest.mark.parametrize("told", [True, False])
def test_about_the_cluster(told: bool) -> None:
    """A plugin learns about the cluster if it wants to."""
    script = f"""
import json, os
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
expected = {{"interactive": False, "cluster": {{"server": "https://cluster"}}}}
assert info == {{"apiVersion": "{V1}", "kind": "ExecCredential", "spec": {{
    key: value for key, value in expected.items() if {told} or key != "cluster"}}}}, info
{printing({"token": "t"})}
"""
    assert plugin(script, provideClusterInfo=told).run().token == "t"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (None, "what it prints has no status"),
        ({}, "it gives neither a token nor a certificate with its key"),
        ({"clientCertificateData": "x"}, "it gives neither a token nor a certificate with its key"),
        ({"token": 1}, "its status has values that are not strings"),
        ({"token": "t", "expirationTimestamp": "soon"}, "its expirationTimestamp is not a time"),
    ],
)
def test_what_is_no_credential(status: Any, message: str) -> None:
    """Whatever else it prints is an error."""
    with pytest.raises(KubeconfigError, match=message):
        plugin(printing(status)).run()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('[' * 100_000)", "what it prints is not JSON"),
        ("print('no')", "what it prints is not JSON"),
        ("print('[]')", "what it prints is no ExecCredential"),
        (printing({}, apiVersion="v2"), "it prints another version than"),
        ("print('x' * 2_000_000)", "it prints more than 1,048,576 bytes"),
        ("import sys; sys.exit(7)", "failed with exit code 7"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by signal 9"),
    ],
)
def test_failures(script: str, message: str) -> None:
    """A failure is an error, never an anonymous request."""
    with pytest.raises(KubeconfigError, match=message):
        plugin(script).run()


def test_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that does not end is ended, also if a program that it has started holds its output."""
    monkeypatch.setattr(credential_plugins, "SECONDS", 0.1)
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(3)'])"
    with pytest.raises(KubeconfigError, match=r"it has not ended within 0\.1 s"):
        plugin(script).run()


def test_stderr_is_passed_on() -> None:
    """Line by line, of bounded number and length."""
    told: list[str] = []
    script = "import sys\nsys.stderr.write('log in\\n' * 1000)\n"
    plugin(script + printing({"token": "t"}), told).run()
    assert told == ["log in"] * MAX_LINES
    told.clear()
    plugin("import sys\nsys.stderr.write('x' * 100_000)\n" + printing({"token": "t"}), told).run()
    assert all(len(line) <= MAX_LINE for line in told)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"apiVersion": "client.authentication.k8s.io/v1alpha1"},
            'its apiVersion is "client.*v1alpha1"; expected',
        ),
        ({"apiVersion": None}, "its apiVersion is missing"),
        ({"interactiveMode": "Sometimes"}, 'its interactiveMode is "Sometimes"'),
        ({"command": ""}, "it has no command"),
        ({"args": "x"}, "args is not a list of strings"),
        ({"env": [{"name": "A", "value": 1}]}, "env is not a list of names and values"),
    ],
)
def test_odd_entries(spec: dict[str, Any], message: str) -> None:
    """Nothing is run of an entry that cannot be understood."""
    with pytest.raises(KubeconfigError, match=message):
        plugin("", **spec)


def test_questions_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that must ask somebody fails where nobody can answer."""
    with open("/dev/null", encoding="utf-8") as nobody:
        monkeypatch.setattr(sys, "stdin", nobody)
        with pytest.raises(KubeconfigError, match="it asks questions, and standard input is not a terminal"):
            plugin("", interactiveMode="Always").run()


def test_install_hint(tmp_path: Path) -> None:
    """For a command that is not there."""
    with pytest.raises(KubeconfigError, match="the credential plugin none: not found") as caught:
        plugin("", command=str(tmp_path / "none"), installHint="Get it:\n  apt\n").run()
    assert caught.value.hint == "Get it:\n  apt"
    with pytest.raises(KubeconfigError, match="may not be run"):
        plugin("", command=str(tmp_path)).run()
