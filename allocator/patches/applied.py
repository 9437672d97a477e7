"""What patches and DeviceTaintRules apply to a device."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any, NamedTuple

from allocator.patches.patch import Patch
from allocator.patches.taint_rule import TaintRule

#: Patches, rules and failures are kept sorted by this.
IN_ORDER = attrgetter("order")


class Failing(NamedTuple):
    """A patch whose filter fails on a device, and why."""

    patch: Patch
    reason: str

    @property
    def name(self) -> str:
        """That of the patch."""
        return self.patch.name

    @property
    def order(self) -> tuple[Any, ...]:
        """That of the patch."""
        return self.patch.order


class Applied:
    """The patches that apply to a device, the one that counts first; the rules; the patches whose filter fails on it."""

    __slots__ = ("failed", "found_out", "patches", "rules")

    def __init__(
        self, patches: tuple[Patch, ...], rules: tuple[TaintRule, ...], failed: tuple[Failing, ...]
    ) -> None:
        self.patches = patches
        self.rules = rules
        self.failed = failed
        #: what others have found out about it, by the name of a driver or by what it is
        self.found_out: dict[object, Any] = {}

    @staticmethod
    def of(patches: Iterable[Patch], rules: Iterable[TaintRule], failed: Iterable[Failing]) -> Applied:
        """Patches and rules in any order."""
        found = Applied(
            tuple(sorted(patches, key=IN_ORDER)),
            tuple(sorted(rules, key=IN_ORDER)),
            tuple(sorted(failed, key=IN_ORDER)),
        )
        return found if found.patches or found.rules or found.failed else NOTHING

    @property
    def changes(self) -> bool:
        """Whether anything about the device is changed."""
        return bool(self.patches or self.rules)

    def equals(self, other: Applied) -> bool:
        """Whether the same applies."""
        return (self.patches, self.rules, self.failed) == (other.patches, other.rules, other.failed)


NOTHING = Applied((), (), ())
