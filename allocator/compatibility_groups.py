"""Compatibility groups: which devices may draw from the same counter set at the same time (KEP-5963).

Either all devices on a counter set declare no groups, or all of them have a group in common.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

NO_GROUPS: frozenset[str] = frozenset()
Groups = dict[str, frozenset[str]]
"""The groups of a device by counter set."""


class Common(NamedTuple):
    """What the devices on a counter set have in common.

    `without_groups`: one of them declares none; `groups`: those that all others share, None if there are no others.
    Devices that were allocated before may contradict each other: then nothing more goes with all of them.
    """

    without_groups: bool
    groups: frozenset[str] | None


def admits(common: Common | None, groups: frozenset[str]) -> bool:
    """Whether a device with these groups may join; `common` is None if there is no device yet."""
    if common is None:
        return True
    if not groups:
        return common.groups is None
    return not common.without_groups and (common.groups is None or not common.groups.isdisjoint(groups))


def joined(common: Common | None, groups: frozenset[str]) -> Common:
    """What is common once a device with these groups has joined, in whatever order devices do."""
    if common is None:
        return Common(not groups, groups or None)
    if not groups:
        return Common(True, common.groups)
    return Common(common.without_groups, groups if common.groups is None else common.groups & groups)


def joined_unless_contrary(common: Common | None, groups: frozenset[str]) -> Common:
    """The same as kube-scheduler 1.37.1 sees it: the first decides whether those with groups count, or those without."""
    if common is not None and common.without_groups == bool(groups):
        return common
    return joined(common, groups)


def listed(groups: Iterable[str]) -> str:
    """Groups in words: ``groups {mig, vgpu}``."""
    names = sorted(groups)
    return "groups {" + ", ".join(names) + "}" if names else "no groups"


def in_words(common: Common | None) -> str:
    """What the devices on a counter set have in common, in words."""
    if common is None or common.groups is None:
        return "no groups"
    if common.without_groups:
        return f"{listed(common.groups)} and without groups"
    return listed(common.groups) if common.groups else "groups that have none in common"
