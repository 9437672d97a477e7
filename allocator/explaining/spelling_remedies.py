"""Remedies for what is misspelt: the similar name, or the similar text of an attribute, that some device has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from allocator.explaining.absent_names import AbsentName
from allocator.explaining.changes import details_of, parts, with_constraint, with_details, with_selector
from allocator.explaining.finder import NAME, SELECTOR, Finder, Remedy
from allocator.words import Words, for_all
from deviceselectors.unparsing import replaced


def names(finder: Finder, absent: Iterable[AbsentName]) -> Iterator[Remedy]:
    """The claims with a similar name, where that makes the pod fit."""
    for name in absent:
        if name.meant and name.constraint is not None:
            yield from _in_constraint(finder, name, name.constraint)
        elif name.meant.rpartition("/")[0] == name.domain:
            yield from _in_selector(finder, name)


def _in_constraint(finder: Finder, name: AbsentName, constraint: int) -> Iterator[Remedy]:
    claims = finder.trials.claims
    claim = next(index for index, each in enumerate(claims) if each.key == name.claim)
    changed = with_constraint(claims, claim, constraint, name.meant)
    text = f"with {name.place} {name.meant} instead of {name.qualified} in claim {name.claim}"
    yield from finder.correct(NAME, for_all(text), f"{name.claim}#{constraint}", name.meant, changed)


def _in_selector(finder: Finder, name: AbsentName) -> Iterator[Remedy]:
    claims = finder.trials.claims
    meant = name.meant.rpartition("/")[2]
    for part in parts(claims):
        if (claims[part.claim].key, part.name) != (name.claim, name.alternative):
            continue
        selectors = details_of(claims, part).selectors
        renamed = tuple(each and re.sub(rf"\b{re.escape(name.name)}\b", meant, each) for each in selectors)
        changed = with_details(claims, part, selectors=renamed)
        text = f"with {meant} instead of {name.name} in {name.place} of claim {name.claim}"
        yield from finder.correct(
            NAME, for_all(text), f"{name.claim}:{part.name}", {name.name: meant}, changed
        )


def capacities(finder: Finder) -> Iterator[Remedy]:
    """The requests with a similar name for a capacity, where that makes the pod fit."""
    claims = finder.trials.claims
    for part in finder.written_parts():
        wanted = details_of(claims, part).capacity or {}
        for name in wanted:
            meant = finder.meant_capacity(name)
            if not meant or meant in wanted:
                continue
            renamed = {meant if each == name else each: amount for each, amount in wanted.items()}
            changed = with_details(claims, part, capacity=renamed)
            text = f"with the capacity {meant} instead of {name} in {finder.title(part)}"
            yield from finder.correct(NAME, for_all(text), finder.subject(part), {name: meant}, changed)


def values(finder: Finder) -> Iterator[Remedy]:
    """The selectors of claims with a similar value, where that makes the pod fit."""
    if not finder.views:
        return
    claims = finder.trials.claims
    outcomes = next(iter(finder.views.values())).outcomes
    for part in finder.written_parts():
        for index, selector in enumerate(details_of(claims, part).selectors):
            for each in finder.texts.misspelt(outcomes.comparisons(selector or "")):
                changed = replaced(selector or "", each.compared.literal, each.meant)
                corrected = with_selector(claims, part, index, changed)
                where = f"instead of {each.wrong} in a selector of {finder.title(part)}"
                yield from finder.correct(
                    SELECTOR,
                    Words(f"with {each.meant} {where}", f"with another value {where}"),
                    finder.subject(part),
                    changed,
                    corrected,
                )
