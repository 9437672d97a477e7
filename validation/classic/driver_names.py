"""Names of drivers in classic DRA."""

from __future__ import annotations

from resourceapi import limits
from resourceapi.field_errors import REQUIRED, too_long
from resourceapi.field_path import Path
from validation import formats
from validation.checks import Checks


def check_driver_name(name: str, path: Path, checks: Checks) -> None:
    """A driver is named as a CSI driver is: a DNS subdomain in any case; an empty name breaks two rules."""
    if not name:
        checks.report(REQUIRED, path)
    if len(name.encode()) > limits.DRIVER_NAME_CHARACTERS:
        checks.errors.append(too_long(path, limits.DRIVER_NAME_CHARACTERS))
    for problem in formats.dns_subdomain(_lower(name)):
        checks.invalid(path, name, problem.detail)


def _lower(name: str) -> str:
    """In lower case, letter by letter as Go does it: one whose lower case takes two letters in Python gets one."""
    return name.replace("\u0130", "i").lower()
