"""The service as a process of its own, for tests of what only processes, sockets and TLS can show."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.webhook.wire import Wire

# How long to wait for what comes at once when all is well: other programs may need the processors.
PATIENCE_SECONDS = 120.0


class Running:
    """A service that runs: its port, what it is to be trusted by, what it logs."""

    def __init__(self, process: subprocess.Popen[str], directory: Path) -> None:
        self.process = process
        self.directory = directory
        self.logged: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.port = 0

    @property
    def authority(self) -> Path:
        """The bundle that clients are to trust."""
        return self.directory / "certificates" / "current" / "ca.crt"

    def connect(
        self, certificate: Path | None = None, timeout: float = PATIENCE_SECONDS
    ) -> http.client.HTTPSConnection:
        """A connection to it, which verifies its certificate, perhaps with one of the client."""
        context = ssl.create_default_context(cafile=str(self.authority))
        if certificate is not None:
            context.load_cert_chain(certificate)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)

    def wire(self, *, tls: bool = True) -> Wire:
        """A connection for bytes as they are."""
        return Wire(self.port, self.authority if tls else None, PATIENCE_SECONDS)

    def ask(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None = None, **headers: str
    ) -> tuple[int, bytes]:
        """One request on a connection of its own: HTTP status and body. Several pieces are sent in chunks.

        An answer that comes before all has been sent is one as well.
        """
        with self.wire() as wire:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
            connection.sock = wire
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = http.client.HTTPResponse(wire, method=method)  # type: ignore[arg-type]
            response.begin()
            return response.status, response.read()

    def review(self, path: str, review: object) -> Any:
        """The answer to a review, decoded."""
        code, body = self.ask("POST", path, json.dumps(review).encode(), Content_Type="application/json")
        assert code == 200, body
        return json.loads(body)

    def wait_for_port(self) -> None:
        """Wait until it listens."""
        self.port = self.wait_for("listening")["port"]

    def finish(self) -> None:
        """Read the log to its end, once the process has ended."""
        self._reader.join()

    def wait_for(self, message: str, count: int = 1, **fields: str) -> dict[str, Any]:
        """Wait until that has been logged so many times, with these fields; the last such entry."""
        wanted = {"message": message, **fields}
        deadline = time.monotonic() + PATIENCE_SECONDS
        is_over = False
        while not is_over:
            is_over = time.monotonic() > deadline or not self._reader.is_alive()  # before the last look
            found = [entry for entry in list(self.logged) if wanted.items() <= entry.items()]
            if len(found) >= count:
                return found[-1]
            time.sleep(0.02)
        raise AssertionError(f"{wanted} is not in the log: {self.logged}")

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                self.logged.append(json.loads(line))
            except ValueError:
                self.logged.append({"text": line})


@contextlib.contextmanager
def running(directory: Path, **config: Any) -> Iterator[Running]:
    """Start the service with a configuration in a directory, ready; end it with SIGTERM."""
    write_config(directory, **config)
    command = [
        str(Path(sys.executable).with_name("claimcheck")),
        "serve",
        "--config",
        str(directory / "webhook.yaml"),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        service = Running(process, directory)
        try:
            service.wait_for_port()
            service.wait_for("serving", config.get("listen", {}).get("workers", 1))
            yield service
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            service.finish()


def write_config(directory: Path, **config: Any) -> None:
    """Write a configuration with own certificates on a free port, as far as nothing else is said."""
    whole = {
        **config,
        "listen": {"port": 0, **config.get("listen", {})},
        "tls": config.get("tls", {"directory": "certificates"}),
        "logging": config.get("logging", {"level": "debug"}),
    }
    unfinished = directory / ".webhook.yaml"
    unfinished.write_text(yaml.safe_dump(whole))
    unfinished.replace(directory / "webhook.yaml")
