"""The selectors of claims, templates and classes: CC007 and CC011 to CC015."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from advice.lints.facts import Facts
from advice.lints.table import UNGUARDED, Warning
from resourceapi.field_path import Path
from resourceapi.manifests import entries, mapping, request_details, text

if TYPE_CHECKING:
    from advice.lints.candidates import Candidates, Judge
    from advice.lints.expressions import Expression
    from deviceselectors.environment import Environment

#: So many characters of expressions are kept with their trees, which take a hundred times as much memory.
_MAX_KNOWN_LENGTH = 500_000


def check(manifest: dict[str, Any], facts: Facts, *, notes: bool) -> Iterator[Warning]:
    """The selectors of a claim, template or class; without ``notes`` these are only counted, in the facts."""
    if manifest.get("kind") == "DeviceClass":
        yield from _check_selectors(mapping(manifest, "spec"), ("spec",), None, facts, notes)
        return
    for path, details in request_details(manifest):
        if details.get("selectors"):
            yield from _check_selectors(details, path, text(details, "deviceClassName"), facts, notes)


def _check_selectors(
    holder: dict[str, Any], path: Path, class_name: str | None, facts: Facts, notes: bool
) -> Iterator[Warning]:
    """The selectors of a class (`class_name` None) or a request, which are asked in this order."""
    judge = _judge(facts)
    among: Candidates | None = None
    before: Expression | None = None
    for index, selector in enumerate(entries(holder, "selectors")):
        written = text(mapping(selector, "cel"), "expression")
        expression = _read(written, facts)
        if expression is None:
            continue
        if judge is None and not notes:
            facts.hidden_notes += expression.deserves_note
            if not expression.remarks:
                continue
        at = (*path, "selectors", index, "cel", "expression")
        if judge is None:
            yield from _remarks(expression, at, notes=notes)
            continue
        if among is None or before is None:
            among = _candidates(judge, expression, class_name, facts)
        else:
            among = judge.matching(before, among)
        before = expression
        if among.total:
            yield from _remarks_on_devices(expression, at, judge, among)
        else:
            yield from _remarks(expression, at, notes=False)


def _read(written: str, facts: Facts) -> Expression | None:
    """The expression; what there is to say about it by itself is found out once."""
    known = facts.selectors
    if written in known:
        return known[written]
    from advice.lints.expressions import read

    facts.selectors_length += len(written)
    if facts.selectors_length > _MAX_KNOWN_LENGTH:
        known.clear()
        facts.selectors_length = len(written)
    found = known[written] = read(written, facts.environment or _environment(facts))
    return found


def _environment(facts: Facts) -> Environment:
    from deviceselectors.environment import environment_of
    from deviceselectors.interface import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES

    gates = facts.profile.gates
    facts.environment = environment_of(CONSUMABLE_CAPACITY in gates, LIST_ATTRIBUTES in gates, False)
    return facts.environment


def _judge(facts: Facts) -> Judge | None:
    if facts.judge is None and facts.slices:
        from advice.device_inventory import inventory_of
        from advice.lints.candidates import Judge

        facts.judge = Judge(inventory_of(facts.slices, facts.profile.schemas))
    return facts.judge if facts.judge is not None and facts.judge.groups else None


def _candidates(judge: Judge, expression: Expression, class_name: str | None, facts: Facts) -> Candidates:
    """The devices that the first selector is asked about.

    Of a class that is not known nothing is known but that it most likely stands for one driver: then those whose
    driver the selector names as a domain, if there are any.
    """
    if class_name is None:
        return judge.everything
    if class_name in facts.class_selectors:
        return judge.of_class(facts.class_selectors[class_name])
    return judge.of_drivers(frozenset([lookup.domain for lookup in expression.lookups]))


def _remarks(expression: Expression, path: Path, *, notes: bool) -> Iterator[Warning]:
    """What there is to say without knowing any device; unguarded look-ups are usual then, and only noted."""
    for remark in expression.remarks:
        stretch = (remark.position, remark.length)
        yield Warning(remark.lint.code, path, remark.message, remark.hint, stretch=stretch)
    if not notes or not expression.deserves_note:
        return
    from advice.lints.expressions import guard

    first, *more = expression.unguarded
    others = f" (and {len(more)} more)" if more else ""
    yield Warning(
        UNGUARDED.code,
        path,
        f'"{first.name}"{others} is looked up without a guard: on a device without it the selector fails, and the pod '
        "is not scheduled",
        f"unless every device has it, {guard(first)}",
        stretch=(first.position, first.length),
        is_note=True,
    )


def _remarks_on_devices(
    expression: Expression, path: Path, judge: Judge, among: Candidates
) -> Iterator[Warning]:
    for remark in expression.remarks:
        if remark.version is None or judge.gives_version(remark.version, among):
            stretch = (remark.position, remark.length)
            yield Warning(remark.lint.code, path, remark.message, remark.hint, stretch=stretch)
    for remark in judge.remarks(expression, among):
        stretch = (remark.position, remark.length)
        yield Warning(remark.lint.code, path, remark.message, remark.hint, stretch=stretch)
