"""What must hold for named resources, and for selectors among them."""

from __future__ import annotations

from collections.abc import Callable

from resourceapi import names
from resourceapi.field_errors import DUPLICATE, REQUIRED, Path, Verbatim
from resourceapi.go_text import quote
from resourceapi.model.v1alpha2 import NamedResourcesAttributeValue
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks

_VALUES = [field.name for field in NamedResourcesAttributeValue.fields]


def model_of(owner: Object, path: Path, checks: Checks) -> Object | None:
    """What the owner says about named resources, the only model that there is; without, it breaks a rule."""
    model: Object | None = owner.get("namedResources")
    if model is None:
        checks.report(REQUIRED, path, "", "exactly one structured model field must be set")
    return model


def check_instances(resources: Object, path: Path, checks: Checks) -> None:
    """The instances on a node have names of their own, as their attributes do."""
    _check_named(resources.get("instances"), (*path, "instances"), checks, _check_attributes)


def check_selector(owner: Object, path: Path, checks: Checks, *, stored: bool) -> None:
    """A request or filter has a CEL expression."""
    selector = owner.get("selector", "")
    if selector:
        checks.named_selector(selector, (*path, "selector"), stored=stored)
    else:
        checks.report(REQUIRED, (*path, "selector"))


def check_result(result: Object, path: Path, checks: Checks) -> None:
    """A result names an instance."""
    checks.problems(formats.dns_subdomain(result.get("name", "")), (*path, "name"))


def _check_attributes(instance: Object, path: Path, checks: Checks) -> None:
    _check_named(instance.get("attributes"), (*path, "attributes"), checks, _check_value)


def _check_value(attribute: Object, path: Path, checks: Checks) -> None:
    if "version" in attribute:
        checks.problems(names.semantic_version(attribute["version"]), (*path, "version"))
    given = sorted(name for name in _VALUES if name in attribute)
    if not given:
        checks.report(REQUIRED, path, "", "exactly one value must be set")
    elif len(given) > 1:
        shown = Verbatim(f"[]string{{{', '.join(map(quote, given))}}}")
        checks.invalid(path, shown, "exactly one field must be set, not several")


def _check_named(
    entries: list[Object] | None, path: Path, checks: Checks, check: Callable[[Object, Path, Checks], None]
) -> None:
    """Entries of a list whose names are DNS subdomains, each given once."""
    seen: set[str] = set()
    for index, entry in enumerate(entries or ()):
        name = entry.get("name", "")
        checks.problems(formats.dns_subdomain(name), (*path, index, "name"))
        if name in seen:
            checks.report(DUPLICATE, (*path, index, "name"), name)
        seen.add(name)
        check(entry, (*path, index), checks)
