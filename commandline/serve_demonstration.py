"""``claimcheck serve --demo``: the service with files in place of a cluster, and an example review."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from commandline.errors import UNFINISHED, UsageError
from serving.listening import free_port

START_SECONDS = 120
REVIEW: dict[str, Any] = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "00000000-0000-0000-0000-000000000001",
        "operation": "CREATE",
        "namespace": "default",
        "kind": {"group": "resource.k8s.io", "version": "v1", "kind": "ResourceClaim"},
        "object": {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "example", "namespace": "default"},
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": "monitor",
                            "exactly": {"deviceClassName": "gpu.example.com", "adminAccess": True},
                        },
                        {
                            "name": "gpu",
                            "firstAvailable": [
                                {
                                    "name": "large",
                                    "deviceClassName": "gpu.example.com",
                                    "selectors": [
                                        {"cel": {"expression": 'device.driver == "gpu.example.com'}}
                                    ],
                                }
                            ],
                        },
                    ]
                }
            },
        },
    },
}


def demonstrate(inventory: str, check: Callable[[str, str], int] | None = None) -> int:
    """Serve until interrupted.

    :param inventory: a file or directory with the objects of the imagined cluster.
    :param check: says whether a configuration can be used, if that is all that is wanted; the second argument is what users call it.
    :returns: the exit code.
    """
    if not Path(inventory).exists():
        raise UsageError(f"--demo {inventory}: no such file or directory")
    try:
        with TemporaryDirectory(prefix="claimcheck-demo-") as name, _terminated_as_interrupted():
            directory = Path(name)
            config, port = _write_config(directory, inventory)
            if check is not None:
                return check(str(config), f"--demo {inventory}")
            with _running("serve", "--config", str(config)) as service:
                _show(service, config, directory / "certificates" / "current" / "ca.crt", port)
                with _running("ui", "--no-config", "--port", "0", "--inventory", inventory):  # says where
                    return UNFINISHED if service.wait() else 0
    except KeyboardInterrupt:
        return 0


@contextlib.contextmanager
def _running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a subcommand in the block; a second interrupt at the end kills it."""
    with subprocess.Popen([sys.executable, "-m", "commandline.main", *arguments]) as service:
        try:
            yield service
        finally:
            service.terminate()
            try:
                service.wait()
            except KeyboardInterrupt:
                service.kill()


def _write_config(directory: Path, inventory: str) -> tuple[Path, int]:
    port = free_port("127.0.0.1")
    config = directory / "webhook.yaml"
    config.write_text(
        f"listen: {{address: 127.0.0.1, port: {port}, workers: {min(2, os.cpu_count() or 1)}}}\n"
        "tls: {directory: certificates}\n"
        "apiServer: {serves: CustomResources}   # the service applies the API server's rules itself\n"
        "policies:\n"
        "  adminAccess: {mode: Enforce, labels: [{key: admin-access.dra.example.com}]}\n"
        "  feasibility: {mode: Warn, insecureSkipClientVerify: true}   # only this machine reaches the port\n"
        "timeouts: {lameDuck: 0}   # an interrupt ends it at once\n"
        f"inventory: [{json.dumps(str(Path(inventory).resolve()))}]\n"
    )
    return config, port


def _show(service: subprocess.Popen[bytes], config: Path, authority: Path, port: int) -> None:
    """Send the example to the service, show its answer, and say what to try next."""
    url = f"https://127.0.0.1:{port}"
    answer = _ask(service, authority, url)
    review = config.with_name("review.json")
    review.write_text(json.dumps(REVIEW, indent=2) + "\n")
    print(f"\nAn example review ({review}) and the answer to it:\n")
    print(json.dumps(answer, indent=2))
    print(f"\nServing on {url} until interrupted. Try next:")
    print(
        f"  curl --cacert {authority} {url}/validate \\\n    -H 'Content-Type: application/json' -d @{review}"
    )
    print(f"  curl --cacert {authority} {url}/metrics")
    print(f"  edit {config}: changes are taken while it serves")
    print("  docs/how-to/webhook.md: register it with a cluster")
    print("\nThe same objects on a page, to open in a browser:\n", flush=True)


def _ask(service: subprocess.Popen[bytes], authority: Path, url: str) -> Any:
    """Wait for the service and send the example; returns the answer."""
    deadline = time.monotonic() + START_SECONDS
    while service.poll() is None and time.monotonic() < deadline:
        try:
            context = ssl.create_default_context(cafile=str(authority))
            body = json.dumps(REVIEW).encode()
            request = Request(f"{url}/validate", body, {"Content-Type": "application/json"})
            with urlopen(request, context=context, timeout=START_SECONDS) as response:
                return json.load(response)
        except (URLError, OSError):
            time.sleep(0.1)
    raise UsageError("the service did not start")


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM as an interrupt, so that the service stops and its files are removed."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
