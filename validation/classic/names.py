"""Names of drivers and nodes in classic DRA, and lists of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from resourceapi import limits, names
from resourceapi.field_errors import DUPLICATE, REQUIRED, TOO_LONG, Path, too_long
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


def check_node_name(name: str, path: Path, checks: Checks) -> None:
    """A node is named by a DNS subdomain."""
    checks.problems(formats.dns_subdomain(name), path)


def check_node_list(nodes: Sequence[str] | None, path: Path, checks: Checks) -> None:
    """Every node is listed once; a repeated one is reported for nothing else."""
    seen = set()
    for index, name in enumerate(nodes or ()):
        if name in seen:
            checks.report(DUPLICATE, (*path, index), name)
        else:
            check_node_name(name, (*path, index), checks)
            seen.add(name)
    check_length(nodes, limits.CLASSIC_NODES_PER_LIST, path, checks)


def check_length(items: Sequence[Any] | None, limit: int, path: Path, checks: Checks) -> None:
    """A list has at most ``limit`` entries; its entries are checked whatever its length."""
    if items and len(items) > limit:
        checks.report(TOO_LONG, path, "", f"may not be longer than {limit}")
