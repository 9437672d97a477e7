"""Writes many devices as JSON or YAML, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import chain
from typing import Any

from allocator.devices import Device
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from commandline.devices.json_report import documents
from commandline.devices.options import YAML
from commandline.reports.escaping import write_json, write_json_entries
from commandline.reports.writing import failure_documents


def write_documents(format: str, devices: ClusterDevices, chosen: Iterable[Device]) -> None:
    """Write the devices to standard output one after the other, as they may be many, and what could not be read."""
    failures = {"failures": failure_documents(devices.state.failures)}
    entries = documents(devices, chosen)
    if format != YAML:
        write_json_entries("devices", entries, failures, sys.stdout)
        return
    from documents.emitting import block, item_lines

    first = next(entries, None)
    sys.stdout.write("devices: []\n" if first is None else "devices:\n")
    for entry in entries if first is None else chain([first], entries):
        sys.stdout.writelines(line + "\n" for line in item_lines(entry))
    sys.stdout.writelines(line + "\n" for line in block(failures))


def write_document(format: str, document: dict[str, Any]) -> None:
    """Write plain data to standard output."""
    if format == YAML:
        from documents.emitting import block

        sys.stdout.writelines(line + "\n" for line in block(document))
    else:
        write_json(document, sys.stdout)
