"""Lists of nodes, and how a list that is too long is reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from resourceapi import limits
from resourceapi.field_errors import DUPLICATE, TOO_LONG
from resourceapi.field_path import Path
from validation import formats
from validation.checks import Checks


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
