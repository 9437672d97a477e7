"""What must hold for a DeviceClass."""

from __future__ import annotations

from resourceapi.equality import equal
from resourceapi.kinds import DEVICE_CLASS
from resourceapi.model import classes as model
from resourceapi.model.formats import LONG_NAME
from resourceapi.objects import EMPTY, Object
from validation.checks import Checks
from validation.configuration import check_configuration, check_selectors
from validation.kind_rules import DeviceKindRules
from validation.object_meta import check_metadata_update


class DeviceClassRules(DeviceKindRules):
    """DeviceClass."""

    kind = DEVICE_CLASS
    name_origin = LONG_NAME.origin

    def check_spec(self, spec: Object, checks: Checks) -> None:
        """The spec of a new class."""
        _check_spec(spec, None, checks)

    def check_changed(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed class; selectors and configs that stay exactly as they were are not compiled or measured again."""
        self.check_own_metadata(obj, checks)
        check_metadata_update(obj, old, checks)
        _check_spec(obj.get("spec", EMPTY), old.get("spec", EMPTY), checks)


def _check_spec(spec: Object, old: Object | None, checks: Checks) -> None:
    selectors, configs = spec.get("selectors"), spec.get("config")
    same_selectors = old is not None and equal(selectors, old.get("selectors"))
    same_configs = old is not None and equal(configs, old.get("config"))
    check_selectors(selectors, ("spec", "selectors"), checks, stored=same_selectors)
    path = ("spec", "config")
    if checks.declared(model.DeviceClassSpec["config"], configs, path):
        for index, config in enumerate(configs or ()):
            check_configuration(config, (*path, index), checks, stored=same_configs)
    name = spec.get("extendedResourceName")
    if name is not None:
        checks.declared(model.DeviceClassSpec["extendedResourceName"], name, ("spec", "extendedResourceName"))
