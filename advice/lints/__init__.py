"""Lints: warnings about objects that the server accepts, but that probably do not mean what their author intended.

Each has a code that stays (``CC001``) and a page in ``advice/lints/pages``, which ``claimcheck lint CC001`` prints.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from advice.lints.facts import Facts
from advice.lints.table import CRASHING_STEP, LINTS, Lint, Warning
from resourceapi.field_errors import Path
from resourceapi.kinds import DEVICE_CLASS, RESOURCE_SLICE, RESOURCE_SLICE_PATCH, claim_spec_of, kind_of
from resourceapi.manifests import POD_SPECS, has_alternatives
from resourceapi.model.versions import GROUP
from resourceapi.releases import split_api_version
from resourceapi.request_body import schemas_of

__all__ = ["LINTS", "Facts", "Lint", "Warning", "lint"]


def lint(
    manifest: dict[str, Any],
    facts: Facts,
    file: str = "",
    *,
    notes: bool = False,
    raised: Collection[str] = (),
    keeps: Callable[[Path], bool] = lambda path: False,
) -> Iterator[Warning]:
    """The warnings about one object.  Objects with mistakes are linted as far as they can be read.

    :param facts: the objects that lints can refer to, all of them
    :param file: the file that has the object, as the facts know it
    :param notes: whether to give notes as well; otherwise they are counted in ``facts``
    :param raised: the codes of which notes are given in any case
    :param keeps: whether the server keeps a field though its gate is off, since the stored object has it
    :raises deviceselectors.request_budget.BudgetSpentError: if the budget within which it is linted has nothing left.
    """
    for warning in _lint(manifest, facts, file, notes or bool(raised), keeps):
        if notes or not warning.is_note or warning.code in raised:
            yield warning
        else:
            facts.count_hidden_note(warning.code)


def _lint(
    manifest: dict[str, Any], facts: Facts, file: str, notes: bool, keeps: Callable[[Path], bool]
) -> Iterator[Warning]:
    kind, api_version = manifest.get("kind"), manifest.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str):
        return
    off = _dropped_fields(manifest, api_version, kind, facts)
    dropped = [warning for warning in off if not keeps(warning.path)]
    places = {warning.path for warning in dropped}
    for warning in _lint_as_written(manifest, api_version, kind, facts, file, notes):
        # what is dropped has no effect, whatever is in it
        is_dropped = places and any(warning.path[:end] in places for end in range(1, len(warning.path) + 1))
        if (
            not is_dropped or warning.code == CRASHING_STEP.code
        ):  # which is about the day when the gate is turned on
            yield warning
    yield from dropped


def _lint_as_written(
    manifest: dict[str, Any], api_version: str, kind: str, facts: Facts, file: str, notes: bool
) -> Iterator[Warning]:
    if kind in POD_SPECS:
        from advice.lints import references

        yield from references.check_pod(manifest, facts, file)
    elif kind_of(api_version, kind) is RESOURCE_SLICE_PATCH:
        from advice.lints import patches

        yield from patches.check(manifest, facts)
    elif api_version.startswith("admissionregistration.k8s.io/") and not facts.profile.is_classic:
        from advice.lints import admission

        yield from admission.check(manifest, facts)
        return
    elif facts.profile.is_classic and api_version.startswith(GROUP + "/"):
        from advice.lints import references

        yield from references.check_classic_class(manifest, facts)
    elif api_version.startswith(GROUP + "/"):
        yield from _lint_of_group(manifest, kind, facts, file, notes)


def _lint_of_group(
    manifest: dict[str, Any], kind: str, facts: Facts, file: str, notes: bool
) -> Iterator[Warning]:
    if claim_spec_of(kind):
        from advice.lints import references, selectors, standard_attributes

        if has_alternatives(manifest):
            from advice.lints import alternatives

            yield from alternatives.check(manifest)
        yield from standard_attributes.check_claim(manifest)
        yield from references.check_classes(manifest, facts)
        yield from selectors.check(manifest, facts, notes=notes)
    elif kind == DEVICE_CLASS.name:
        from advice.lints import selectors

        yield from selectors.check(manifest, facts, notes=notes)
    elif kind == RESOURCE_SLICE.name:
        from advice.lints import slices, standard_attributes

        yield from standard_attributes.check_slice(manifest)
        yield from slices.check_counters(manifest, facts)
        yield from slices.check(manifest, facts, file)


def _dropped_fields(manifest: dict[str, Any], api_version: str, kind: str, facts: Facts) -> Iterator[Warning]:
    from advice.lints import dropped_fields

    if kind in POD_SPECS and dropped_fields.CLAIMS_GATE not in facts.profile.gates:
        yield from dropped_fields.check_pod(manifest, facts.profile)
    schema = schemas_of(facts.profile)(*split_api_version(api_version), kind)
    if schema is not None:
        yield from dropped_fields.check(manifest, schema, facts.profile)
