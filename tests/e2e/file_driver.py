"""A classic driver whose devices are lines of a file, and which can be told to kill itself at any step.

`python -m tests.e2e.file_driver KUBECONFIG DIRECTORY` serves ``file.example.com``; each node has two devices.  A step is a
write to the API server or a call of the driver, once before and once after it, such as ``deallocating, before PUT
resourceclaims/status``; with ``--kill-at STEP`` the process ends there as `kill -9` ends it (a number: in so many steps),
with ``--stop-at STEP`` it is suspended.  The file ``steps`` has the steps that were taken, ``devices.json`` what is allocated, ``faults`` what must never
happen.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from classic.driver import ClaimAllocation
from classic.service import Options, reach, run, run_until_stopped
from cluster.access import Access
from cluster.client import Client
from cluster.leading import Election, unique_identity
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from serving.logs import configure_logs

DRIVER = "file.example.com"
LEASE_SECONDS = 3
DEVICES = 2


class Steps:
    """Takes note of each step of this process before it is taken."""

    def __init__(self, directory: Path, kill_at: str, stop_at: str) -> None:
        self._file = directory / "steps"
        self._phase, self._count = "allocating", 0
        self._kill_at, self._stop_at = kill_at, stop_at
        self._lock = Lock()  # requests are sent by threads

    def take(self, name: str) -> None:
        """Take a step, perhaps the last."""
        with self._lock:
            if name == "before deallocate":
                self._phase = "deallocating"
            step = f"{self._phase}, {name}"
            self._count += 1
            count = self._count
            with self._file.open("a") as file:
                file.write(f"{os.getpid()} {step}\n")
        if self._kill_at in (step, str(count)):
            os.kill(os.getpid(), signal.SIGKILL)
        if step == self._stop_at:
            self._stop_at = ""
            os.kill(os.getpid(), signal.SIGSTOP)

    @contextmanager
    def around(self, name: str) -> Iterator[None]:
        """Take one before and one after the block."""
        self.take(f"before {name}")
        yield
        self.take(f"after {name}")


class SteppingClient(Client):
    """A client whose writes to resource.k8s.io are steps."""

    def __init__(self, access: Access, steps: Steps) -> None:
        super().__init__(access)
        self._steps = steps

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """As :class:`cluster.client.Client`."""
        if verb not in ("PUT", "PATCH") or "/resource.k8s.io/" not in path:
            return super().request(verb, path, body, query)
        resource, *more = path.rpartition("/namespaces/")[2].split("/")[1:]
        with self._steps.around(f"{verb} {'/'.join([resource, *more[1:]])}"):
            return super().request(verb, path, body, query)


class FileDriver:
    """Allocates one device of the node to each claim; remembers by uid of the claim."""

    def __init__(self, directory: Path, steps: Steps) -> None:
        self._directory = directory
        self._steps = steps

    async def get_class_parameters(self, resource_class: Object) -> None:
        """There are none."""

    async def get_claim_parameters(
        self, claim: Object, resource_class: Object, class_parameters: object
    ) -> None:
        """There are none."""

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        """A free device for each claim."""
        with self._steps.around("allocate"):
            held = self._read()
            for each in claims:
                uid = each.claim["metadata"]["uid"]
                node = selected_node or "node-1"
                if uid in held and held[uid]["node"] != node:
                    self._fault(f"{name_of(each.claim)} is held on {held[uid]['node']}, wanted on {node}")
                if uid not in held:
                    used = {other["device"] for other in held.values() if other["node"] == node}
                    free = [device for device in range(DEVICES) if device not in used]
                    if not free:
                        each.error = RuntimeError(f"no device is free on {node}")
                        continue
                    held[uid] = {"node": node, "device": free[0]}
                each.allocation = _result(held[uid])
            self._write(held)

    async def deallocate(self, claim: Object) -> None:
        """Free the device."""
        with self._steps.around("deallocate"):
            held = self._read()
            held.pop(claim["metadata"]["uid"], None)
            self._write(held)

    async def unsuitable_nodes(
        self, pod: Object, claims: Sequence[ClaimAllocation], potential_nodes: Sequence[str]
    ) -> None:
        """Nodes without a device for each of the claims."""
        with self._steps.around("unsuitable_nodes"):
            uids = {each.claim["metadata"]["uid"] for each in claims}
            taken = [held["node"] for uid, held in self._read().items() if uid not in uids]
            for each in claims:
                each.unsuitable_nodes = [
                    node for node in potential_nodes if taken.count(node) + len(claims) > DEVICES
                ]

    def _read(self) -> dict[str, Any]:
        file = self._directory / "devices.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def _write(self, held: dict[str, Any]) -> None:
        new = self._directory / f"devices.{os.getpid()}"
        new.write_text(json.dumps(held))
        new.rename(self._directory / "devices.json")

    def _fault(self, text: str) -> None:
        with (self._directory / "faults").open("a") as file:
            file.write(f"{text}\n")


def _result(held: dict[str, Any]) -> Object:
    matches = [{"key": "metadata.name", "operator": "In", "values": [held["node"]]}]
    return {
        "availableOnNodes": {"nodeSelectorTerms": [{"matchFields": matches}]},
        "resourceHandles": [{"driverName": DRIVER, "data": json.dumps(held)}],
        "shareable": True,
    }


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kill-at", default="")
    parser.add_argument("--stop-at", default="")
    parser.add_argument("--election", action="store_true")
    options = parser.parse_args()
    access, _ = reach(options.kubeconfig)
    steps = Steps(options.directory, options.kill_at, options.stop_at)
    candidate = None
    if options.election:
        api = Client(access, timeout=LEASE_SECONDS / 3)
        identity = unique_identity(str(os.getpid()))
        candidate = Election(api, "default", DRIVER, identity=identity, seconds=LEASE_SECONDS)
    client = SteppingClient(access, steps)
    driver = FileDriver(options.directory, steps)
    configure_logs("debug")
    run_until_stopped(run(DRIVER, driver, client, candidate=candidate, options=Options(recheck_seconds=2)))


if __name__ == "__main__":
    main()
