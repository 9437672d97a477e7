"""References to the parameters of a driver."""

from __future__ import annotations

from resourceapi import object_names
from resourceapi.field_errors import REQUIRED
from resourceapi.field_path import Path
from resourceapi.objects import Object
from validation.checks import Checks


def check_parameters_reference(reference: Object | None, path: Path, checks: Checks) -> None:
    """A reference to an object in the namespace of the claim: any group, any kind, any name."""
    if reference is None:
        return
    for name in ("kind", "name"):
        if not reference.get(name):
            checks.report(REQUIRED, (*path, name))


def check_class_parameters_reference(reference: Object | None, path: Path, checks: Checks) -> None:
    """A reference from a class, which may name a namespace."""
    check_parameters_reference(reference, path, checks)
    if reference is not None and reference.get("namespace"):
        checks.problems(object_names.namespace_name(reference["namespace"]), (*path, "namespace"))
