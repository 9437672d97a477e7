"""Selectors of nodes and of labels."""

from __future__ import annotations

from contextlib import suppress

from resourceapi import names
from resourceapi.field_errors import FORBIDDEN, REQUIRED, Named, Path, TooManyErrors, Verbatim
from resourceapi.model import workloads
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks
from validation.object_meta import check_labels

NODE_NAME_FIELD = "metadata.name"


def check_node_selector(selector: Object, path: Path, checks: Checks) -> None:
    """A selector has terms; a term selects by labels and by the node's name."""
    terms, at = selector.get("nodeSelectorTerms"), (*path, "nodeSelectorTerms")
    if not terms:
        checks.report(REQUIRED, at, "", "must have at least one node selector term")
        return
    for index, term in enumerate(terms):
        checks.each(term.get("matchExpressions"), (*at, index, "matchExpressions"), _check_expression)
        checks.each(term.get("matchFields"), (*at, index, "matchFields"), _check_field)


def _check_expression(requirement: Object, path: Path, checks: Checks) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    at = (*path, "values")
    if operator in ("In", "NotIn"):
        if not values:
            checks.report(REQUIRED, at, "", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            checks.report(
                FORBIDDEN, at, "", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            checks.report(REQUIRED, at, "", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        checks.invalid((*path, "operator"), Named(operator), "not a valid selector operator")
    checks.problems(names.label_key(requirement.get("key", "")), (*path, "key"))
    if checks.profile.is_classic:  # which does not look at the values of labels
        return
    for index, value in enumerate(values):
        checks.problems(names.label_value(value), (*at, index))


def _check_field(requirement: Object, path: Path, checks: Checks) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    at = (*path, "values")
    if operator not in ("In", "NotIn"):
        checks.invalid((*path, "operator"), Named(operator), "not a valid selector operator")
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        checks.report(REQUIRED, at, "", detail)
    key = requirement.get("key", "")
    if key != NODE_NAME_FIELD:
        checks.invalid((*path, "key"), key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        checks.problems(formats.dns_subdomain(value), (*at, index))


SETS = ("In", "NotIn")
PRESENCE = ("Exists", "DoesNotExist")


def check_selector(selector: Object, path: Path, checks: Checks) -> None:
    """Keys, operators and values."""
    check_labels(selector.get("matchLabels") or {}, (*path, "matchLabels"), checks)
    for index, requirement in enumerate(selector.get("matchExpressions") or []):
        at: Path = (*path, "matchExpressions", index)
        operator, values = requirement.get("operator", ""), requirement.get("values") or []
        if operator in SETS:
            if not values:
                detail = "must be specified when `operator` is 'In' or 'NotIn'"
                checks.report(REQUIRED, (*at, "values"), "", detail)
        elif operator in PRESENCE:
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                checks.report(FORBIDDEN, (*at, "values"), "", detail)
        else:
            checks.invalid((*at, "operator"), Named(operator), "not a valid selector operator")
        checks.problems(names.label_key(requirement.get("key", "")), (*at, "key"))
        for number, value in enumerate(values):
            checks.problems(names.label_value(value), (*at, "values", number))


def is_empty(selector: Object) -> bool:
    """Whether it selects everything."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def is_usable(selector: Object, checks: Checks) -> bool:
    """Whether it is valid."""
    trial = Checks(checks.profile, checks.expressions)
    with suppress(TooManyErrors):
        check_selector(selector, (), trial)
    return not trial.errors


def selects(selector: Object | None, labels: dict[str, str]) -> bool:
    """Whether labels are selected; no selector selects nothing."""
    if selector is None:
        return False
    wanted: dict[str, str] = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _meets(requirement, labels) for requirement in selector.get("matchExpressions") or []
    )


def _meets(requirement: Object, labels: dict[str, str]) -> bool:
    key, values = requirement.get("key", ""), requirement.get("values") or []
    match requirement.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def shown(selector: Object | None, checks: Checks) -> Verbatim:
    """A selector as the server prints it."""
    return checks.internal("LabelSelector", selector, workloads.schema())
