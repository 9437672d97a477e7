"""Remedies for misspelt values: the similar text that an attribute has on some device."""

from __future__ import annotations

from collections.abc import Iterator

from allocator.explaining.changes import details_of, with_selector
from allocator.explaining.finder import SELECTOR, Finder, Remedy
from allocator.rules.selector_outcomes import SelectorOutcomes
from deviceselectors.lookups import Comparison, Key
from deviceselectors.unparsing import quoted, replaced
from resourceapi.phrases import nearest_value

#: Of more different texts of an attribute the nearest is not looked for.
MAX_TEXTS = 1_000
#: How many comparisons of a selector are tried, each by itself.
MAX_COMPARISONS = 8


def find(finder: Finder) -> Iterator[Remedy]:
    """The selectors of claims with a similar value, where that makes the pod fit."""
    if not finder.views:
        return
    claims, texts = finder.trials.claims, _Texts(finder)
    outcomes = next(iter(finder.views.values())).outcomes
    for part in finder.written_parts():
        for index, selector in enumerate(details_of(claims, part).selectors):
            for written, meant, changed in _corrected(selector or "", outcomes, texts):
                corrected = with_selector(claims, part, index, changed)
                where = f"instead of {quoted(written)} in a selector of {finder.title(part)}"
                yield from finder.correct(
                    SELECTOR,
                    f"with {quoted(meant)} {where}",
                    finder.subject(part),
                    changed,
                    corrected,
                    without_values=f"with another value {where}",
                )


def _corrected(expression: str, outcomes: SelectorOutcomes, texts: _Texts) -> Iterator[tuple[str, str, str]]:
    """A text of the selector that no device has, the one that is meant, and the selector with it."""
    for each in outcomes.compared_texts(expression)[:MAX_COMPARISONS]:
        known = texts.of(each)
        if each.text not in known and (meant := nearest_value(each.text, known)):
            yield each.text, meant, replaced(expression, each.literal, meant)


class _Texts:
    """The different texts that attributes, and the driver, are on the devices."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._known: dict[Key | None, dict[str, None]] = {}

    def of(self, compared: Comparison) -> dict[str, None]:
        """The texts; none if they are too many.

        :raises OutOfTime: if the time of the explanation is over.
        """
        self._finder.trials.time_limit.check()
        key = compared.lookup.key if compared.lookup is not None else None
        found = self._known.get(key)
        if found is None:
            devices = (each.prepared for view in self._finder.views.values() for each in view.devices())
            texts = compared.values_on(devices)
            found = self._known[key] = texts if len(texts) <= MAX_TEXTS else {}
        return found
