"""The directory in which container runtimes look for CDI specs: one file for each prepared claim.

A file appears whole, with all devices of the claim, or not at all. It is what tells a runtime of the claim, and outlives this
process: nothing here remembers which claims are prepared.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from classic.kubelet.cdi import Device, DeviceKind, InvalidDevice, least_version
from classic.kubelet.claims import AllocatedClaim

# Environment variables may be secrets; runtimes run as the same user as drivers.
_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o755


class SpecDirectory:
    """Writes and removes the specs of claims, for devices of one kind."""

    def __init__(self, path: Path, kind: DeviceKind) -> None:
        self._path = path
        self._kind = kind

    def write(self, claim: AllocatedClaim, devices: Sequence[Device]) -> list[str]:
        """Write the spec of a claim, or replace it; returns the full names of the devices.

        The UID of the claim is part of them, as runtimes refuse a device that two specs have.

        :raises InvalidDevice: if two of the devices have the same name
        :raises OSError: if the file cannot be written
        """
        names = {device.name: f"{device.name}.{claim.uid}" for device in devices}
        if len(names) < len(devices):
            raise InvalidDevice("two devices of the claim have the same name")
        spec = {
            "cdiVersion": least_version(devices),
            "kind": str(self._kind),
            "devices": [
                {"name": names[device.name], "containerEdits": device.edits.to_json()} for device in devices
            ],
        }
        self._replace(claim, json.dumps(spec, indent=2).encode() + b"\n")
        return [f"{self._kind}={name}" for name in names.values()]

    def has(self, claim: AllocatedClaim) -> bool:
        """Whether there is a spec of the claim."""
        return self._file(claim).exists()

    def remove(self, claim: AllocatedClaim) -> None:
        """Remove the spec of a claim, if there is one.

        :raises OSError: if the file cannot be removed
        """
        self._file(claim).unlink(missing_ok=True)

    def _file(self, claim: AllocatedClaim) -> Path:
        # All three parts have been checked: none has a slash or "=", none begins with a dot, and a UID has no "_".
        return self._path / f"{self._kind.vendor}={self._kind.device_class}_{claim.uid}.json"

    def _replace(self, claim: AllocatedClaim, content: bytes) -> None:
        self._path.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        file = self._file(claim)
        # Runtimes read only what ends in .json or .yaml. What a killed process left is overwritten.
        unfinished = file.with_name(f".{file.name}.new")
        try:
            with suppress(FileNotFoundError):
                unfinished.unlink()
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
            with open(descriptor, "wb") as stream:
                # Not synchronized with the disk: once the node has been started again, kubelet has all claims prepared anew.
                stream.write(content)
            unfinished.replace(file)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()
            raise
