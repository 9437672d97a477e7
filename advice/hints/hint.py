"""How hints are written down: a condition, and what to do where it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from advice.hints.problem import Problem
from advice.hints.snippet import scalar
from resourceapi.field_errors import Path
from resourceapi.manifests import MISSING

Change = tuple[Path, Any]


class Advice:
    """What to do about a problem.

    :param text: what to do, as people read it; "" for no advice
    :param changes: the same as changes of the object, made one after the other: a path and its new value, or MISSING to
        remove it. There are none where the text leaves a choice, or asks for something that only people know.
    """

    __slots__ = ("changes", "text")

    def __init__(self, text: str, *changes: Change) -> None:
        self.text = text
        self.changes = changes


NO_ADVICE = Advice("")


class Hint:
    """A condition, and what to do where it holds.

    :param name: a unique name, by which tests refer to it
    :param rules: the rules (:attr:`Problem.rule`) that it is for
    :param advice: the text, with ``{key}``, ``{value}``, ``{kind}``, ``{version}`` and ``{namespace}`` filled in, or a
        function that returns it or an :class:`Advice`, or "" where the hint does not apply
    :param place: a regular expression to search for in :attr:`Problem.place`
    :param message: a substring that the server's message must contain
    """

    __slots__ = ("_advice", "message", "name", "place", "rules")

    def __init__(
        self,
        name: str,
        rules: tuple[str, ...],
        advice: str | Callable[[Problem], str | Advice],
        *,
        place: str = "",
        message: str = "",
    ) -> None:
        self.name = name
        self.rules = rules
        self._advice = advice
        self.place = place
        self.message = message

    def advice(self, problem: Problem) -> Advice:
        """What to do about this problem; without a text if the hint does not apply."""
        if problem.rule not in self.rules or self.message not in problem.message:
            return NO_ADVICE
        if self.place:
            import re

            if not re.search(self.place, problem.place):
                return NO_ADVICE
        if not isinstance(self._advice, str):
            found = self._advice(problem)
            return Advice(found) if isinstance(found, str) else found
        value = problem.value
        return Advice(
            self._advice.format(
                key=problem.key,
                value="" if value is MISSING else scalar(value),
                kind=problem.kind,
                version=problem.version,
                namespace=problem.namespace,
            )
        )
