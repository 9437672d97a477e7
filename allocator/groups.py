"""Compatibility groups: which devices may draw from the same counter set at the same time (KEP-5963)."""

from __future__ import annotations

from typing import NamedTuple


class Common(NamedTuple):
    """What the devices on one counter set have in common: that they declare no groups, or these groups."""

    without_groups: bool
    groups: frozenset[str]


def admits(common: Common | None, groups: frozenset[str]) -> bool:
    """Whether a device with these groups may join; `common` is None if there is no device yet."""
    if common is None:
        return True
    if not groups or common.without_groups:
        return not groups and common.without_groups
    return not common.groups.isdisjoint(groups)


def joined(common: Common | None, groups: frozenset[str]) -> Common:
    """What is common once a device with these groups has joined.

    Devices that were allocated before may contradict each other; then those with groups and those without do not
    change what the first ones had.
    """
    if common is None:
        return Common(not groups, groups)
    if common.without_groups or not groups:
        return common
    return Common(False, common.groups & groups)
