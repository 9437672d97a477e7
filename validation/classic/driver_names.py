"""Names of drivers in classic DRA."""

from __future__ import annotations

from collections.abc import Iterator

from resourceapi import limits, names
from resourceapi.field_errors import DUPLICATE, REQUIRED, too_long
from resourceapi.field_path import Path
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks


def check_drivers(entries: list[Object] | None, path: Path, checks: Checks) -> Iterator[tuple[Object, Path]]:
    """Entries of a list that are each about another driver; yields each, with its path, for what else must hold."""
    seen: set[str] = set()
    for index, entry in enumerate(entries or ()):
        name = entry.get("driverName", "")
        check_driver_name(name, (*path, index, "driverName"), checks)
        if name in seen:
            checks.report(DUPLICATE, (*path, index, "driverName"), name)
        seen.add(name)
        yield entry, (*path, index)


def check_driver_name(name: str, path: Path, checks: Checks) -> None:
    """A driver is named as a CSI driver is: a DNS subdomain in any case; an empty name breaks two rules."""
    if not name:
        checks.report(REQUIRED, path)
    if names.byte_length(name) > limits.DRIVER_NAME_CHARACTERS:
        checks.errors.append(too_long(path, limits.DRIVER_NAME_CHARACTERS))
    for problem in formats.dns_subdomain(_lower(name)):
        checks.invalid(path, name, problem.detail)


def _lower(name: str) -> str:
    """In lower case, letter by letter as Go does it: one whose lower case takes two letters in Python gets one."""
    return name.replace("\u0130", "i").lower()
