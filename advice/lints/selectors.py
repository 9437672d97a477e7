"""Lints for the selectors of claims, templates and classes: CC007 and CC011 to CC015."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from advice.lints.facts import Facts
from advice.lints.table import CRASHING_REQUEST, UNGUARDED, Warning
from deviceselectors import request_budget
from resourceapi.field_errors import Path
from resourceapi.manifests import entries, mapping, request_details, text
from resourceapi.measured import measured
from resourceapi.model.claims import ALL

if TYPE_CHECKING:
    from advice.lints.candidates import Candidates, Evaluations
    from advice.lints.expressions import Expression
    from deviceselectors.environment import Environment

#: Characters of cached expressions; their trees take a hundred times as much memory.
_MAX_CACHED_LENGTH = 500_000


def check(manifest: dict[str, Any], facts: Facts, *, notes: bool) -> Iterator[Warning]:
    """The selectors of a claim, template or class; without ``notes`` these are only counted, in the facts."""
    if manifest.get("kind") == "DeviceClass":
        yield from _check_selectors(mapping(manifest, "spec"), ("spec",), None, facts, notes)
        return
    for path, details in request_details(manifest):
        if details.get("selectors"):
            yield from _check_selectors(details, path, text(details, "deviceClassName"), facts, notes)
        if details.get("allocationMode") == ALL:
            yield from _check_counters(details, path, facts)


def _check_counters(details: dict[str, Any], path: Path, facts: Facts) -> Iterator[Warning]:
    """CC027: all devices of a known class, if some of them draw from counters."""
    class_name = text(details, "deviceClassName")
    if class_name not in facts.class_selectors:
        return
    from allocator.features import Features

    crashes = Features(facts.profile.gates, facts.profile.minor).crashes_on_counters
    evaluations = _evaluations(facts) if crashes else None
    if evaluations is None:
        return
    among = evaluations.of_class(facts.class_selectors[class_name])
    for selector in entries(details, "selectors"):
        request_budget.insist()
        expression = _read(text(mapping(selector, "cel"), "expression"), facts)
        if expression is not None:
            among = evaluations.matching(expression, among)
    requested = (member for index in among.indexes for member in evaluations.groups[index].members)
    drawing = facts.drawing_devices
    first = next((member for member in requested if member in drawing), None)
    if first is not None:
        yield Warning(
            CRASHING_REQUEST.code,
            (*path, "allocationMode"),
            f"device {first} draws from counters: kube-scheduler {measured(facts.profile.minor)} crashes when it allocates it to a "
            "request for all devices",
            "request a number of devices, or let a selector leave out devices that consume counters",
        )


def _check_selectors(
    holder: dict[str, Any], path: Path, class_name: str | None, facts: Facts, notes: bool
) -> Iterator[Warning]:
    """The selectors of a class (`class_name` None) or a request, in the order in which they are evaluated."""
    evaluations = _evaluations(facts)
    among: Candidates | None = None
    before: Expression | None = None
    for index, selector in enumerate(entries(holder, "selectors")):
        written = text(mapping(selector, "cel"), "expression")
        request_budget.insist()
        expression = _read(written, facts)
        if expression is None:
            continue
        if evaluations is None and not notes:
            if expression.deserves_note:
                facts.count_hidden_note(UNGUARDED.code)
            if not expression.remarks:
                continue
        at = (*path, "selectors", index, "cel", "expression")
        if evaluations is None:
            yield from _remarks(expression, at, notes=notes)
            continue
        if among is None or before is None:
            among = _candidates(evaluations, expression, class_name, facts)
        else:
            among = evaluations.matching(before, among)
        before = expression
        if among.total:
            yield from _remarks_on_devices(expression, at, evaluations, among)
        else:
            yield from _remarks(expression, at, notes=False)


def _read(written: str, facts: Facts) -> Expression | None:
    """The compiled expression with its remarks, from the cache if it is there."""
    cache = facts.selectors
    if written in cache:
        return cache[written]
    from advice.lints.expressions import read

    facts.selectors_length += len(written)
    if facts.selectors_length > _MAX_CACHED_LENGTH:
        cache.clear()
        facts.selectors_length = len(written)
    found = cache[written] = read(written, facts.environment or _environment(facts))
    return found


def _environment(facts: Facts) -> Environment:
    from deviceselectors.environment import environment_of
    from deviceselectors.interface import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES

    gates, release = facts.profile.gates, facts.profile.minor
    facts.environment = environment_of(CONSUMABLE_CAPACITY in gates, LIST_ATTRIBUTES in gates, False, release)
    return facts.environment


def _evaluations(facts: Facts) -> Evaluations | None:
    if facts.evaluations is None and facts.knows_devices:
        from advice.device_inventory import inventory_of
        from advice.lints.candidates import Evaluations

        inventory = inventory_of([*facts.slices, *facts.patches], facts.class_selectors, facts.profile)
        facts.evaluations = Evaluations(inventory, facts.profile.minor)
    return facts.evaluations if facts.evaluations is not None and facts.evaluations.groups else None


def _candidates(
    evaluations: Evaluations, expression: Expression, class_name: str | None, facts: Facts
) -> Candidates:
    """The devices on which the first selector is evaluated: those that match the class.

    A class that is not among the objects is taken to select the drivers that the selector names as domains.
    """
    if class_name is None:
        return evaluations.everything
    if class_name in facts.class_selectors:
        return evaluations.of_class(facts.class_selectors[class_name])
    return evaluations.of_drivers(frozenset([lookup.domain for lookup in expression.lookups]))


def _remarks(expression: Expression, path: Path, *, notes: bool) -> Iterator[Warning]:
    """The warnings without an inventory; unguarded look-ups are usual then, and only noted."""
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
    expression: Expression, path: Path, evaluations: Evaluations, among: Candidates
) -> Iterator[Warning]:
    for remark in expression.remarks:
        if remark.version is None or evaluations.gives_version(remark.version, among):
            stretch = (remark.position, remark.length)
            yield Warning(remark.lint.code, path, remark.message, remark.hint, stretch=stretch)
    for remark in evaluations.remarks(expression, among):
        stretch = (remark.position, remark.length)
        yield Warning(remark.lint.code, path, remark.message, remark.hint, stretch=stretch)
