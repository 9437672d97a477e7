"""What the rules of all kinds of classic DRA have: of names, parameters and named resources."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from resourceapi import limits, names
from resourceapi.classic_kinds import CLAIM_PARAMETERS, CLASS_PARAMETERS
from resourceapi.equality import equal
from resourceapi.field_errors import (
    DUPLICATE,
    REQUIRED,
    TOO_LONG,
    FieldError,
    Path,
    TooManyErrors,
    Verbatim,
    too_long,
)
from resourceapi.go_text import quote
from resourceapi.measured import CLASSIC_MINOR
from resourceapi.model.v1alpha2 import NamedResourcesAttributeValue
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks
from validation.kind_rules import ResourceKindRules, in_words_of, keep_all_but_status, keep_stored
from validation.object_meta import (
    check_common_metadata,
    check_common_metadata_update,
    check_metadata,
    check_metadata_update,
    check_names_in_url,
)
from validation.requests import STATUS, Request

if TYPE_CHECKING:
    from validation.setting import Setting


class ClassicKindRules(ResourceKindRules):
    """The rules of a kind of v1alpha2; each is a subclass, which states what must hold.

    :cvar checked_twice: an update is checked as a new object is, before it is checked as an update: errors come twice.
    """

    keeps_generation = True
    checked_twice = False

    @abstractmethod
    def check_fields(self, obj: Object, checks: Checks) -> None:
        """All but the metadata and the status of a new or a changed object."""

    def check_change(self, obj: Object, old: Object, checks: Checks) -> None:
        """What must not change; checked after the metadata of an update."""

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed status; for kinds that have one."""
        raise NotImplementedError

    def prepare(self, verb: str, obj: Object, old: Object | None, setting: Setting) -> None:
        """A status is changed through its own URL only, and nothing else is changed there."""
        if verb == STATUS:
            assert old is not None
            keep_all_but_status(obj, old)
        elif self.kind.has_status:
            keep_stored(obj, old, "status")

    def errors(
        self, request: Request, version: str, obj: Object, old: Object | None, setting: Setting
    ) -> list[FieldError]:
        """What is wrong with the object; the same error may come several times."""
        checks = setting.checks()
        with suppress(TooManyErrors):
            self._check(request.verb, obj, old, checks)
        return in_words_of(CLASSIC_MINOR, checks.errors)

    def _check(self, verb: str, obj: Object, old: Object | None, checks: Checks) -> None:
        if old is None:
            self._check_new(obj, checks)
            if not checks.errors:
                check_names_in_url(obj.get("metadata", EMPTY), checks)
            return
        check_common_metadata(obj, checks, namespaced=self.kind.namespaced)
        check_common_metadata_update(obj, old, checks)
        if verb == STATUS:
            check_metadata_update(obj, old, checks)
            self.check_status(obj, old, checks)
        else:
            self._check_update(obj, old, checks)

    def _check_new(self, obj: Object, checks: Checks) -> None:
        check_metadata(obj, checks, namespaced=self.kind.namespaced)
        self.check_fields(obj, checks)

    def _check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        if self.checked_twice:
            self._check_new(obj, checks)
        check_metadata_update(obj, old, checks)
        self.check_change(obj, old, checks)
        self._check_new(obj, checks)


def check_drivers(entries: list[Object] | None, path: Path, checks: Checks) -> Iterator[tuple[Object, Path]]:
    """Entries of a list that are each about another driver; yields each, with its path, for what else must hold."""
    seen: set[str] = set()
    for index, entry in enumerate(entries or ()):
        name = entry.get("driverName", "")
        check_driver_name(name, (*path, index, "driverName"), checks)
        if name in seen:
            checks.report(DUPLICATE, (*path, index, "driverName"), name)
        seen.add(name)
        yield entry, (*path, index)


def check_driver_name(name: str, path: Path, checks: Checks) -> None:
    """A driver is named as a CSI driver is: a DNS subdomain in any case; an empty name breaks two rules."""
    if not name:
        checks.report(REQUIRED, path)
    if names.byte_length(name) > limits.DRIVER_NAME_CHARACTERS:
        checks.errors.append(too_long(path, limits.DRIVER_NAME_CHARACTERS))
    for problem in formats.dns_subdomain(_lower(name)):
        checks.invalid(path, name, problem.detail)


def _lower(name: str) -> str:
    """In lower case, letter by letter as Go does it: one whose lower case takes two letters in Python gets one."""
    return name.replace("\u0130", "i").lower()


def check_node_name(name: str, path: Path, checks: Checks) -> None:
    """A node is named by a DNS subdomain."""
    checks.problems(formats.dns_subdomain(name), path)


def check_node_list(nodes: Sequence[str] | None, path: Path, checks: Checks) -> None:
    """Every node is listed once; a repeated one is reported for nothing else."""
    seen = set()
    for index, name in enumerate(nodes or ()):
        if name in seen:
            checks.report(DUPLICATE, (*path, index), name)
        else:
            check_node_name(name, (*path, index), checks)
            seen.add(name)
    check_length(nodes, limits.CLASSIC_NODES_PER_LIST, path, checks)


def check_length(items: Sequence[Any] | None, limit: int, path: Path, checks: Checks) -> None:
    """A list has at most ``limit`` entries; its entries are checked whatever its length."""
    if items and len(items) > limit:
        checks.report(TOO_LONG, path, "", f"may not be longer than {limit}")


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
        checks.problems(names.namespace_name(reference["namespace"]), (*path, "namespace"))


class ResourceClaimParametersRules(ClassicKindRules):
    """ResourceClaimParameters: all of it may change."""

    kind = CLAIM_PARAMETERS

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """What is asked of each driver."""
        _check_parameters(obj, checks, stored=False)

    def _check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        check_metadata_update(obj, old, checks)
        check_metadata(obj, checks, namespaced=True)
        stored = equal(obj.get("driverRequests"), old.get("driverRequests"))
        _check_parameters(obj, checks, stored=stored)


def _check_parameters(obj: Object, checks: Checks, *, stored: bool) -> None:
    """:param stored: whether the requests are those that the object has had before."""
    check_parameters_reference(obj.get("generatedFrom"), ("generatedFrom",), checks)
    for entry, path in check_drivers(obj.get("driverRequests"), ("driverRequests",), checks):
        _check_requests(entry.get("requests"), (*path, "requests"), checks, stored=stored)


def _check_requests(requests: list[Object] | None, path: Path, checks: Checks, *, stored: bool) -> None:
    for index, request in enumerate(requests or ()):
        model = model_of(request, (*path, index), checks)
        if model is not None:
            check_selector(model, (*path, index, "namedResources"), checks, stored=stored)
    if not requests:
        checks.report(REQUIRED, path, "", "empty entries with no requests are not allowed")


class ResourceClassParametersRules(ClassicKindRules):
    """ResourceClassParameters: all of it may change, and its filters are always checked as new ones."""

    kind = CLASS_PARAMETERS

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """One filter and one set of parameters for each driver."""
        check_class_parameters_reference(obj.get("generatedFrom"), ("generatedFrom",), checks)
        for entry, path in check_drivers(obj.get("filters"), ("filters",), checks):
            model = model_of(entry, path, checks)
            if model is not None:
                check_selector(model, (*path, "namedResources"), checks, stored=False)
        for _ in check_drivers(obj.get("vendorParameters"), ("vendorParameters",), checks):
            pass  # parameters can be any JSON
