"""How hints are written down: a condition and a text."""

from __future__ import annotations

from collections.abc import Callable

from advice.hints.scenario import MISSING, Situation
from advice.hints.snippet import scalar


class Hint:
    """One piece of advice.

    ``rules``: the rules of the findings it is for.  ``place``: a regular expression that is searched in the finding's
    place (:attr:`Situation.place`).  ``text``: the advice, with ``{key}``, ``{value}``, ``{kind}``, ``{version}`` and
    ``{namespace}`` filled in, or a function that makes it and may decline by returning nothing.
    ``message``: a text that the server's message must contain.
    """

    __slots__ = ("message", "name", "place", "rules", "text")

    def __init__(
        self,
        name: str,
        rules: tuple[str, ...],
        text: str | Callable[[Situation], str],
        *,
        place: str = "",
        message: str = "",
    ) -> None:
        self.name = name
        self.rules = rules
        self.text = text
        self.place = place
        self.message = message

    def advice(self, situation: Situation) -> str:
        """The text for this situation, or nothing if it does not apply."""
        if situation.rule not in self.rules or self.message not in situation.message:
            return ""
        if self.place:
            import re

            if not re.search(self.place, situation.place):
                return ""
        if not isinstance(self.text, str):
            return self.text(situation)
        value = situation.value
        return self.text.format(
            key=situation.key,
            value="" if value is MISSING else scalar(value),
            kind=situation.kind,
            version=situation.version,
            namespace=situation.namespace,
        )
