"""What must hold for a DeviceClass."""

from __future__ import annotations

from resourceapi.equality import equal
from resourceapi.kinds import DEVICE_CLASS
from resourceapi.model import classes as model
from resourceapi.model.formats import LONG_NAME
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.configuration import check_configuration, check_selectors
from validation.kind_rules import ChangeableSpecRules


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
