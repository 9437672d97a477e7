"""Rules of ResourceClaims, their templates, and DeviceClasses."""

from __future__ import annotations

from typing import Any, ClassVar

from resourceapi.equality import equal
from resourceapi.field_errors import INVALID
from resourceapi.kinds import CLAIM, CLAIM_TEMPLATE, DEVICE_CLASS
from resourceapi.model import claims as model
from resourceapi.model.formats import LONG_NAME
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.configuration import check_configuration, check_selectors
from validation.device_claims import ADMIN_ACCESS, ADMIN_ACCESS_IN_TEMPLATE, check_device_claim, shown_spec
from validation.kind_rules import ChangeableSpecRules, DeviceKindRules, Labels
from validation.object_meta import check_metadata_update, check_template_metadata

# What the rules of a kind state.  For a new object the server calls only check_spec and the namespace rules: the other
# methods are for updates, and the other names are constants.
_STATED = frozenset(
    {
        "check_changed",
        "check_spec",
        "check_status",
        "declared_since",
        "keeps_generation",
        "kind",
        "least_spec",
        "name_origin",
        "namespace_rules",
        "tidy",
        "tidy_status",
        "unconditional",
    }
)
_ATTRIBUTE_ACCESS = ("__getattribute__", "__setattr__")


class CacheableKindRules(DeviceKindRules):
    """Rules that accept or refuse a new spec by itself, but for :attr:`namespace_rules`.

    A subclass cannot do otherwise: it may override only what the rules of a kind state, of which ``check_spec`` is given
    nothing but the spec, and its instances have no place to keep anything from one step to another.

    :cvar least_spec: a spec that the rules accept and that has no field that it could do without.
    """

    __slots__ = ()
    least_spec: ClassVar[Object]

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Refuse a class whose rules could depend on more than the spec.

        :raises TypeError: naming what it overrides or where it could keep values.
        """
        super().__init_subclass__(**arguments)
        if cls.__dictoffset__ or cls.__basicsize__ != CacheableKindRules.__basicsize__:
            raise TypeError(f"{cls.__name__} must keep nothing: it and its bases need __slots__ = ()")
        for name in _SEALED:
            if _attribute(cls, name) is not _attribute(CacheableKindRules, name):
                raise TypeError(f"{cls.__name__} must not override {name}: specs of its kind are cached")


def _attribute(cls: type, name: str) -> Any:
    """An attribute of a class as it was written: like inspect.getattr_static, but loading inspect takes 5 ms."""
    return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))


_SEALED = sorted(
    {name for name in dir(CacheableKindRules) if not name.startswith(("__", "_abc"))} - _STATED
) + list(_ATTRIBUTE_ACCESS)


class ClaimRules(CacheableKindRules):
    """ResourceClaim."""

    __slots__ = ()
    kind = CLAIM
    keeps_generation = True
    least_spec: ClassVar[Object] = {"devices": {}}
    namespace_rules = (ADMIN_ACCESS,)

    def tidy_status(self, obj: Object, old: Object) -> None:
        """Reports on devices that the update deallocates go with them."""
        from validation.claim_status import drop_deallocated  # only who changes a status needs its rules

        drop_deallocated(obj, old)

    def check_spec(self, spec: Object, checks: Checks) -> None:
        """The spec of a new claim."""
        check_device_claim(spec.get("devices", EMPTY), ("spec", "devices"), checks)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec of a stored claim never changes, so only that is checked; up to 1.34 the rest as well, and twice."""
        self.check_own_metadata(obj, checks)
        spec, again = obj.get("spec", EMPTY), checks.minor < 35
        if again:
            self.check_spec(spec, checks)
        check_metadata_update(obj, old, checks)
        if not equal(obj.get("spec"), old.get("spec")):
            shown = shown_spec("ResourceClaimSpec", spec, checks)
            checks.report(INVALID, ("spec",), shown, "field is immutable", origin="immutable", covered=True)
        if again:
            check_device_claim(spec.get("devices", EMPTY), ("spec", "devices"), checks, stored=True)

    def check_status(self, obj: Object, old: Object, checks: Checks, labels: Labels) -> None:
        """A changed status of a stored claim."""
        from validation.claim_status import check_claim_status

        check_claim_status(obj, old, checks, labels)


class ClaimTemplateRules(CacheableKindRules):
    """ResourceClaimTemplate."""

    __slots__ = ()
    kind = CLAIM_TEMPLATE
    keeps_generation = True
    least_spec: ClassVar[Object] = {"spec": {"devices": {}}}
    namespace_rules = (ADMIN_ACCESS_IN_TEMPLATE,)
    declared_since = 37

    def check_spec(self, spec: Object, checks: Checks, *, stored: bool = False) -> None:
        """Everything that a claim made from the template must satisfy."""
        check_template_metadata(spec.get("metadata", EMPTY), ("spec", "metadata"), checks)
        devices = spec.get("spec", EMPTY).get("devices", EMPTY)
        check_device_claim(devices, ("spec", "spec", "devices"), checks, stored=stored)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec of a stored template never changes either, but all of it is checked again."""
        self.check_own_metadata(obj, checks)
        self.check_spec(obj.get("spec", EMPTY), checks)
        check_metadata_update(obj, old, checks)
        if not equal(obj.get("spec"), old.get("spec")):
            shown = shown_spec("ResourceClaimTemplateSpec", obj.get("spec", EMPTY), checks)
            checks.invalid(("spec",), shown, "field is immutable")
        if checks.minor < 35:
            self.check_spec(obj.get("spec", EMPTY), checks, stored=True)


class DeviceClassRules(ChangeableSpecRules):
    """DeviceClass."""

    kind = DEVICE_CLASS
    name_origin = LONG_NAME.origin

    def check_either_spec(self, spec: Object, old: Object | None, checks: Checks) -> None:
        """A new or changed class; selectors and configs that stay exactly as they were are not compiled or measured again."""
        _check_spec(spec, old, checks)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """The name is checked again; up to 1.34 all of the class as if it were new."""
        self.check_own_metadata(obj, checks)
        if checks.minor < 35:
            self.check_spec(obj.get("spec", EMPTY), checks)
        super().check_changed(obj, old, checks)


def _check_spec(spec: Object, old: Object | None, checks: Checks) -> None:
    selectors, configs = spec.get("selectors"), spec.get("config")
    same_selectors = old is not None and equal(selectors, old.get("selectors"))
    same_configs = old is not None and equal(configs, old.get("config"))
    check_selectors(selectors, ("spec", "selectors"), checks, stored=same_selectors)
    path = ("spec", "config")
    checks.entries(
        model.DeviceClassSpec["config"],
        configs,
        path,
        lambda config, at: check_configuration(config, at, checks, stored=same_configs),
    )
    name = spec.get("extendedResourceName")
    if name is not None:
        checks.declared(model.DeviceClassSpec["extendedResourceName"], name, ("spec", "extendedResourceName"))
