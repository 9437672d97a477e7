"""Writes many devices as JSON or YAML, one after the other."""

from __future__ import annotations

import sys
from typing import Any

from allocator.devices import Device
from commandline.devices.cluster_devices import ClusterDevices
from commandline.devices.json_report import documents
from commandline.devices.options import YAML
from commandline.reports.escaping import write_json
from commandline.reports.writing import failure_documents


def write_documents(format: str, devices: ClusterDevices, chosen: list[Device]) -> None:
    """Write the devices to standard output, and what could not be read."""
    write_document(
        format,
        {
            "devices": list(documents(devices, chosen)),
            "failures": failure_documents(devices.state.failures),
        },
    )


def write_document(format: str, document: dict[str, Any]) -> None:
    """Write plain data to standard output."""
    if format == YAML:
        from documents.emitting import block

        sys.stdout.writelines(line + "\n" for line in block(document))
    else:
        write_json(document, sys.stdout)
