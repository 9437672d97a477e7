"""CC028: attributes in the domain of Kubernetes that it does not define, or defines otherwise.

Claims of any vendor's devices compare them, so that one that is spelled or formed otherwise keeps devices apart that belong together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.lints.table import STANDARD_ATTRIBUTE, Warning
from resourceapi.field_errors import Key, Path
from resourceapi.manifests import claim_devices, devices_of, entries, mapping, text
from resourceapi.phrases import did_you_mean
from resourceapi.standard_attributes import PREFIX, STANDARD_ATTRIBUTES


def check_slice(manifest: dict[str, Any]) -> Iterator[Warning]:
    """Warn about the attributes of devices."""
    for path, device in devices_of(manifest):
        for name, value in mapping(device, "attributes").items():
            if name.startswith(PREFIX):
                yield from _check(name, mapping(value), (*path, "attributes", Key(name)))


def check_claim(manifest: dict[str, Any]) -> Iterator[Warning]:
    """Warn about the attributes that constraints of a claim or template name."""
    path, devices = claim_devices(manifest)
    for index, constraint in enumerate(entries(devices, "constraints")):
        for field in ("matchAttribute", "distinctAttribute"):
            name = text(constraint, field)
            if name.startswith(PREFIX):
                yield from _unknown(name, (*path, "constraints", index, field))


def _check(name: str, value: dict[str, Any], path: Path) -> Iterator[Warning]:
    known = STANDARD_ATTRIBUTES.get(name)
    if known is None:
        yield from _unknown(name, path)
        return
    for field, content in value.items():
        if problem := known.problem(field, content):
            yield Warning(
                STANDARD_ATTRIBUTE.code, (*path, field), f"{name} is a standard attribute: {problem}"
            )


def _unknown(name: str, path: Path) -> Iterator[Warning]:
    if name in STANDARD_ATTRIBUTES:
        return
    meant = did_you_mean(name, STANDARD_ATTRIBUTES)
    message = f"Kubernetes 1.37 defines no attribute {name}"
    hint = (
        meant
        or f"other attributes than those of Kubernetes belong into the driver's domain, not {PREFIX.rstrip('/')}"
    )
    yield Warning(STANDARD_ATTRIBUTE.code, path, message, hint, is_note=not meant)
