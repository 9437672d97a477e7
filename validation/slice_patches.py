"""What must hold for a ResourceSlicePatch (KEP-5027), which no API server checks.

Where the proposal is silent, what holds for the same field elsewhere holds here: names in the filter as in a
DeviceTaintRule, selectors as in a DeviceClass, values as in a ResourceSlice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from resourceapi import names
from resourceapi.equality import equal
from resourceapi.field_errors import Path
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks, map_key
from validation.configuration import check_selectors
from validation.devices import QUALIFIED_NAME_BYTES, check_attribute, check_capacity, check_totals
from validation.kind_rules import ChangeableSpecRules

if TYPE_CHECKING:
    from validation.setting import Setting

_DEVICES: Path = ("spec", "devices")
_FILTER: Path = (*_DEVICES, "filter")


class SlicePatchRules(ChangeableSpecRules):
    """ResourceSlicePatch; like every custom resource it is only updated from its newest state."""

    kind = RESOURCE_SLICE_PATCH
    unconditional = ()

    def prepare(self, verb: str, obj: Object, old: Object | None, setting: Setting) -> None:
        """The generation counts the specs that an object has had."""
        super().prepare(verb, obj, old, setting)
        if old is None:
            obj["metadata"]["generation"] = 1
        elif not equal(obj.get("spec"), old.get("spec")):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def check_either_spec(self, spec: Object, old: Object | None, checks: Checks) -> None:
        """A new or changed patch; selectors and capacities that stay exactly as they were are not checked again."""
        devices = spec.get("devices", EMPTY)
        before = EMPTY if old is None else old.get("devices", EMPTY)
        _check_filter(devices.get("filter", EMPTY), before.get("filter", EMPTY), checks)
        _check_values(devices, before, checks)


def _check_filter(chosen: Object, before: Object, checks: Checks) -> None:
    """Each criterion may be left out, so that a filter without any is for all devices."""
    if "deviceClassName" in chosen:
        checks.problems(formats.dns_subdomain(chosen["deviceClassName"]), (*_FILTER, "deviceClassName"))
    if "driver" in chosen:
        checks.problems(names.driver_name(chosen["driver"]), (*_FILTER, "driver"))
    if "pool" in chosen:
        checks.problems(formats.pool_name(chosen["pool"]), (*_FILTER, "pool"))
    if "device" in chosen:
        checks.problems(formats.dns_label(chosen["device"]), (*_FILTER, "device"))
    selectors = chosen.get("selectors")
    same = bool(selectors) and equal(selectors, before.get("selectors"))
    check_selectors(selectors, (*_FILTER, "selectors"), checks, stored=same)


def _check_values(devices: Object, before: Object, checks: Checks) -> None:
    """What devices get.  Whether they can be allocated several times, which a policy needs, only their slices say."""
    attributes, capacity = devices.get("attributes") or EMPTY, devices.get("capacity") or EMPTY
    check_totals(attributes, capacity, _DEVICES, checks)
    for name, attribute in attributes.items():
        at = map_key((*_DEVICES, "attributes"), name, QUALIFIED_NAME_BYTES)
        check_attribute(attribute, at, checks, struct="NullableDeviceAttribute")
    if equal(capacity, before.get("capacity")):
        return
    for name, amount in capacity.items():
        check_capacity(
            amount, map_key((*_DEVICES, "capacity"), name, QUALIFIED_NAME_BYTES), checks, shared=True
        )
