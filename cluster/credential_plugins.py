"""Credential plugins: programs that a kubeconfig names under ``exec`` and that print a user's credentials.

The protocol is ``client.authentication.k8s.io`` in the versions v1 and v1beta1. A plugin is run as kubectl runs it: the file is
trusted to name programs, no shell is involved, and what it writes to stderr is for the user. Its time and its output are bounded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

from cluster.kubeconfig import Entry, KubeconfigError
from resourceapi import deep_json
from resourceapi.json_values import JSONError
from resourceapi.phrases import shortened

GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
NEVER, IF_AVAILABLE, ALWAYS = "Never", "IfAvailable", "Always"
# Long enough to log in with a browser.
SECONDS = 180.0
OUTPUT_BYTES = 1024 * 1024
# What is shown of what a plugin writes to stderr.
MAX_LINES = 200
MAX_LINE = 500
MAX_HINT = 2_000

Tell = Callable[[str], None]


class Credentials(NamedTuple):
    """What a plugin has printed; ``expires`` is None for credentials without a term."""

    token: str
    certificate: str
    key: str
    expires: datetime | None

    @property
    def are_expired(self) -> bool:
        """Whether they are not good any more."""
        return self.expires is not None and datetime.now(UTC) >= self.expires


class CredentialPlugin:
    """The plugin of a user in a kubeconfig."""

    def __init__(self, user: Entry, cluster: Mapping[str, Any], tell: Tell) -> None:
        """Check the entry ``exec``; nothing is run yet.

        :param cluster: what a plugin is told about the cluster if it wants to know.
        :param tell: called with each line that the plugin writes to stderr.
        :raises KubeconfigError: if the entry cannot be used.
        """
        spec = user.value["exec"]
        if not isinstance(spec, dict):
            raise KubeconfigError("exec is not a mapping")
        self._entry = Entry(user.name, spec, user.directory)
        self._cluster = cluster if spec.get("provideClusterInfo") is True else None
        self._tell = tell
        self.version = self._entry.text("apiVersion")
        if self.version not in VERSIONS:
            raise self._error(f"its apiVersion is {_shown(self.version)}; expected {' or '.join(VERSIONS)}")
        self.mode = self._entry.text("interactiveMode") or IF_AVAILABLE
        if self.mode not in (NEVER, IF_AVAILABLE, ALWAYS):
            raise self._error(f"its interactiveMode is {_shown(self.mode)}")
        if not self._entry.text("command"):
            raise self._error("it has no command")
        self._arguments = self._strings("args")
        self._environment = dict(self._variables())

    def run(self) -> Credentials:
        """Run the plugin, and read what it prints.

        :raises KubeconfigError: if it fails, or prints no credentials.
        """
        interactive = self.mode != NEVER and _has_terminal()
        if self.mode == ALWAYS and not interactive:
            raise self._error("it asks questions, and standard input is not a terminal")
        info: dict[str, Any] = {"interactive": interactive}
        if self._cluster is not None:
            info["cluster"] = self._cluster
        credential = {"apiVersion": self.version, "kind": "ExecCredential", "spec": info}
        environment = {**os.environ, **self._environment, "KUBERNETES_EXEC_INFO": json.dumps(credential)}
        return self._read(self._output(environment, interactive=interactive))

    def _output(self, environment: dict[str, str], *, interactive: bool) -> bytes:
        try:
            process = subprocess.Popen(
                [self._command(), *self._arguments],
                env=environment,
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except (FileNotFoundError, PermissionError) as error:
            reason = "not found" if isinstance(error, FileNotFoundError) else "may not be run"
            raise self._error(reason, self._entry.text("installHint")) from None
        except (OSError, ValueError) as error:
            raise self._error(str(error)) from None
        printed = _Output(process)
        errors = threading.Thread(target=_relay, args=(process.stderr, self._tell), daemon=True)
        for thread in (printed, errors):
            thread.start()
        try:
            code = process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise self._error(f"it has not ended within {SECONDS:g} s") from None
        finally:
            process.kill()
            process.wait()
            for thread in (printed, errors):
                thread.join(1)  # not longer: a program that it has left behind may hold the pipe
        if len(printed.content) > OUTPUT_BYTES:
            raise self._error(f"it prints more than {OUTPUT_BYTES:,} bytes")
        if code:
            how = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
            raise KubeconfigError(f"the credential plugin {self._name} {how}")
        return printed.content

    def _read(self, output: bytes) -> Credentials:
        try:
            printed = deep_json.loads(output)
        except (JSONError, UnicodeDecodeError):
            raise self._error("what it prints is not JSON") from None
        if not isinstance(printed, dict) or printed.get("kind") != "ExecCredential":
            raise self._error("what it prints is no ExecCredential")
        if printed.get("apiVersion") != self.version:
            raise self._error(f"it prints another version than {self.version}")
        status = printed.get("status")
        if not isinstance(status, dict):
            raise self._error("what it prints has no status")
        found = [
            status.get(key) or ""
            for key in ("token", "clientCertificateData", "clientKeyData", "expirationTimestamp")
        ]
        if not all(isinstance(each, str) for each in found):
            raise self._error("its status has values that are not strings")
        token, certificate, key, expires = found
        if bool(certificate) != bool(key) or not (token or key):
            raise self._error("it gives neither a token nor a certificate with its key")
        return Credentials(token, certificate, key, self._time(expires))

    def _time(self, text: str) -> datetime | None:
        if not text:
            return None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            found = None
        if found is None or found.tzinfo is None:
            raise self._error("its expirationTimestamp is not a time")
        return found

    def _command(self) -> str:
        """A bare name is looked up in PATH; a path is relative to the file."""
        command = self._entry.text("command")
        return str(self._entry.directory / command) if os.sep in command else command

    def _strings(self, key: str) -> list[str]:
        listed = self._entry.value.get(key) or []
        if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
            raise self._error(f"{key} is not a list of strings")
        return listed

    def _variables(self) -> Iterator[tuple[str, str]]:
        listed = self._entry.value.get("env") or []
        for each in listed if isinstance(listed, list) else [None]:
            name, value = (
                (each.get("name"), each.get("value", "")) if isinstance(each, dict) else (None, None)
            )
            if not isinstance(name, str) or not isinstance(value, str):
                raise self._error("env is not a list of names and values")
            yield name, value

    @property
    def _name(self) -> str:
        return shortened(Path(self._entry.text("command")).name, MAX_LINE)

    def _error(self, reason: str, hint: str = "") -> KubeconfigError:
        return KubeconfigError(
            f"the credential plugin {self._name}: {reason}", shortened(hint.strip(), MAX_HINT)
        )


class _Output(threading.Thread):
    """Reads what a process prints; one that prints too much is ended."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        self.content = b""
        self._process = process

    def run(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while len(self.content) <= OUTPUT_BYTES:
                part = os.read(stream.fileno(), OUTPUT_BYTES + 1)
                if not part:
                    return
                self.content += part
        self._process.kill()


def _relay(stream: IO[bytes] | None, tell: Tell) -> None:
    """Pass on the lines of a stream; the rest of many, or of a long one, is read and dropped."""
    assert stream is not None
    lines = 0
    with stream:
        while line := stream.readline(MAX_LINE * 4):
            lines += 1
            if lines <= MAX_LINES:
                tell(shortened(line.decode("utf-8", "replace").rstrip("\r\n"), MAX_LINE))


def _has_terminal() -> bool:
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:  # closed
        return False


def _shown(text: str) -> str:
    return f'"{shortened(text, MAX_LINE)}"' if text else "missing"
