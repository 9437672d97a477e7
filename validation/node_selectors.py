"""What must hold for a node selector."""

from __future__ import annotations

from resourceapi import names
from resourceapi.field_errors import FORBIDDEN, REQUIRED, Named, Path
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks

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
