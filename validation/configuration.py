"""Selectors and opaque configuration, which claims and classes share."""

from __future__ import annotations

from resourceapi import limits, names
from resourceapi.field_errors import INVALID, REQUIRED, TOO_LONG, Path, too_long
from resourceapi.json_text import Raw
from resourceapi.model import claims as model
from resourceapi.model import formats
from resourceapi.objects import Object
from validation.checks import Checks

#: The release that does not look at expressions again that are stored.
STORED_ARE_GOOD_SINCE = 37


def check_selectors(
    selectors: list[Object] | None, path: Path, checks: Checks, *, stored: bool = False
) -> None:
    """Every selector is a CEL expression that compiles; stored ones were checked when they were stored."""

    def check(selector: Object, at: Path) -> None:
        cel = selector.get("cel")
        if cel is None:
            checks.report(REQUIRED, (*at, "cel"))
        elif not stored or checks.minor < STORED_ARE_GOOD_SINCE:
            checks.expression(cel.get("expression", ""), (*at, "cel", "expression"), stored=stored)

    checks.entries(model.SELECTORS, selectors, path, check)


def check_configuration(config: Object, path: Path, checks: Checks, *, stored: bool = False) -> None:
    """Configuration is opaque: a driver and an object for it that Kubernetes does not read."""
    opaque = config.get("opaque")
    if opaque is None:
        checks.report(REQUIRED, (*path, "opaque"))
        return
    at = (*path, "opaque")
    check_declared_driver_name(opaque.get("driver", ""), (*at, "driver"), checks)
    parameters = opaque.get("parameters")
    check_raw(parameters, (*at, "parameters"), checks, limits.OPAQUE_PARAMETERS_BYTES, stored=stored)


def check_declared_driver_name(driver: str, path: Path, checks: Checks) -> None:
    """A driver's name in a field that also declares its format, so that each finding has a declarative twin."""
    for kind, value, detail in names.driver_name(driver, checks.wording):
        covered = kind != TOO_LONG or checks.minor >= 36
        checks.report(kind, path, value, detail, origin=_DRIVER_ORIGINS[kind], covered=covered)


_DRIVER_ORIGINS = {REQUIRED: "", TOO_LONG: "maxLength", INVALID: formats.LONG_NAME_CASELESS.origin}


def check_raw(raw: Raw | None, path: Path, checks: Checks, limit: int, *, stored: bool = False) -> None:
    """Arbitrary JSON: there, small enough (what is stored may be larger) and an object."""
    if raw is None:
        checks.report(REQUIRED, path)
    elif not stored and raw.exceeds(limit):
        checks.errors.append(too_long(path, limit))
    elif not isinstance(raw.value, dict):
        detail = "must be a valid JSON object"
        detail = detail if checks.minor >= 34 else f"parameters {detail}"
        checks.report(INVALID, path, "<value omitted>", detail)
