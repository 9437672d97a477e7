"""How hints are written down: a condition and a text."""

from __future__ import annotations

from collections.abc import Callable

from advice.hints.problem import Problem
from advice.hints.snippet import scalar
from resourceapi.manifests import MISSING


class Hint:
    """A condition and the text to show where it holds.

    :param name: a unique name, by which tests refer to it
    :param rules: the rules (:attr:`Problem.rule`) that it is for
    :param text: the text, with ``{key}``, ``{value}``, ``{kind}``, ``{version}`` and ``{namespace}`` filled in, or a
        function that returns it, or "" where the hint does not apply
    :param place: a regular expression to search for in :attr:`Problem.place`
    :param message: a substring that the server's message must contain
    """

    __slots__ = ("message", "name", "place", "rules", "text")

    def __init__(
        self,
        name: str,
        rules: tuple[str, ...],
        text: str | Callable[[Problem], str],
        *,
        place: str = "",
        message: str = "",
    ) -> None:
        self.name = name
        self.rules = rules
        self.text = text
        self.place = place
        self.message = message

    def advice(self, problem: Problem) -> str:
        """The text for this problem, or "" if the hint does not apply."""
        if problem.rule not in self.rules or self.message not in problem.message:
            return ""
        if self.place:
            import re

            if not re.search(self.place, problem.place):
                return ""
        if not isinstance(self.text, str):
            return self.text(problem)
        value = problem.value
        return self.text.format(
            key=problem.key,
            value="" if value is MISSING else scalar(value),
            kind=problem.kind,
            version=problem.version,
            namespace=problem.namespace,
        )
