"""Rules that a field declares about its own value.

These are the facts that the server's two generations of validation share.  Up to 1.36 (but for 1.35 with
DeclarativeValidationTakeover) hand-written code checks them, in its order and at the internal path; since 1.37 a
declarative pass over the version in the URL does.  The rule
is stated here, once; :mod:`validation` decides which pass reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from resourceapi.names import FormatError

STANDARD = "standard"  # enforced by every release that has the field
BETA = "beta"  # enforced declaratively since 1.37, by hand before


class Rule:
    """A rule of a field; ``stops``: when it is broken, nothing further about the field is checked."""

    stops = False

    def __init__(self, *, stage: str = BETA) -> None:
        self.stage = stage


class Optional(Rule):
    """An empty value needs no further checks."""

    stops = True


class Required(Rule):
    """The value must not be empty."""

    stops = True


class Limit(Rule):
    """A rule with a limit, and the stage that such rules have unless they say it."""

    usual_stage = BETA

    def __init__(self, limit: int, *, stage: str = "") -> None:
        self.limit = limit
        self.stage = stage or self.usual_stage


class MaxItems(Limit):
    """A list or map has at most ``limit`` entries."""

    stops = True


class Unique(Rule):
    """No two entries of a list agree in all ``keys``; without keys, no two entries are equal."""

    def __init__(self, *keys: str, stage: str = BETA) -> None:
        self.keys = keys
        self.stage = stage

    def repeated(self, items: Sequence[Any], *, absent: str | None) -> list[int]:
        """The indexes of entries that agree with an earlier one.

        :param absent: the value of a key that an entry leaves out.
        """
        if self.keys:
            columns = ([item.get(name, absent) for item in items] for name in self.keys)
            items = list(zip(*columns, strict=True))
        if len(set(items)) == len(items):
            return []
        first: dict[Any, int] = {}
        return [index for index, item in enumerate(items) if first.setdefault(item, index) != index]


class Format(Rule):
    """A text has a format.  ``origin`` is the format's name.

    ``problems`` tells what is wrong with a text in the declarative wording, ``by_hand`` in the hand-written one.
    """

    def __init__(
        self,
        name: str,
        problems: Callable[[str], Sequence[FormatError]],
        by_hand: Callable[[str], Sequence[FormatError]] | None = None,
        *,
        stage: str = BETA,
    ) -> None:
        self.origin = "format=" + name
        self.problems = problems
        self.by_hand = by_hand or problems
        self.stage = stage


class Each(Rule):
    """All of something have a format."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self.stage = format.stage


class EachKey(Each):
    """Every key of a map has a format."""


class EachValue(Each):
    """Every entry of a list of texts has a format."""


class MaxLength(Limit):
    """A text has at most ``limit`` characters."""


class MaxBytes(Limit):
    """A text has at most ``limit`` bytes."""


class Minimum(Limit):
    """A number is at least ``limit``."""

    usual_stage = STANDARD


class Maximum(Limit):
    """A number is at most ``limit``."""

    usual_stage = STANDARD


class OneOfValues(Rule):
    """A text is a value of an enumeration."""

    def __init__(self, *values: str, stage: str = BETA) -> None:
        self.values = tuple(sorted(values))
        self.stage = stage


class Immutable(Rule):
    """An update must not change the value."""

    stops = True


class NotModified(Rule):
    """An update may set or clear the value, but not change it."""

    stops = True


class Subfield(Rule):
    """Rules about one field of a struct that is declared elsewhere, e.g. ``metadata.name``."""

    def __init__(self, name: str, *rules: Rule) -> None:
        self.name = name
        self.rules = rules
        self.stage = BETA


class ForbiddenWithout(Rule):
    """The field may be set only if the gate is on."""

    stops = True

    def __init__(self, gate: str) -> None:
        self.gate = gate
        self.stage = STANDARD


class OneOfFields(Rule):
    """A struct has exactly one of ``members`` set.  ``filled``: members that count only if they are not empty."""

    def __init__(self, *members: str, stage: str = BETA) -> None:
        self.members = members
        self.stage = stage
