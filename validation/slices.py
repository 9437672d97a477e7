"""What must hold for a ResourceSlice: its pool, the nodes it is for, its devices and counters (KEP-4381, KEP-4815)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from resourceapi import limits, names
from resourceapi.equality import equal
from resourceapi.field_errors import REQUIRED, Key, Named, Path, not_found
from resourceapi.go_text import listed, quote
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.model import slices as model
from resourceapi.model.meta import NodeSelector
from resourceapi.names import LABEL_LENGTH
from resourceapi.node_selection import selects, wrong_bounds
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Quantity
from resourceapi.releases import Profile
from resourceapi.schema import Struct
from validation import formats, statuses
from validation.checks import Checks, map_key
from validation.devices import (
    LISTS,
    QUALIFIED_NAME_BYTES,
    check_attribute,
    check_binding_conditions,
    check_capacity,
    check_skipped_operations,
    check_totals,
)
from validation.kind_rules import HUB_LIKE_V1_SINCE, ChangeableSpecRules
from validation.requests import Answer
from validation.selectors import check_node_selector
from validation.taint_rules import check_taint

if TYPE_CHECKING:
    from resourceapi.records.nodes import Node
    from validation.setting import Setting


FEATURE = "DRANodeAllocatableResources"


class UnusableSelector(Exception):
    """A selector of nodes that the plugin cannot use; the text is the answer's message."""


def refuse_slice(resource_slice: Object, nodes: dict[str, Node]) -> str:
    """Why a slice is refused: a device uses resources of nodes that cannot account for it; empty if it is accepted.

    :raises UnusableSelector: if it cannot be told which nodes that are.
    """
    spec = resource_slice.get("spec", EMPTY)
    for device in spec.get("devices") or ():
        if device.get("nodeAllocatableResources"):
            owner = device if spec.get("perDeviceNodeSelection") else spec
            reason = _refuse_device(device.get("name", ""), owner, nodes)
            if reason:
                return reason
    return ""


def _refuse_device(name: str, owner: Object, nodes: dict[str, Node]) -> str:
    """``owner``: the device or the slice, whichever says for which nodes the device is."""
    if node_name := owner.get("nodeName"):
        node = nodes.get(node_name)
        if node is None:
            return f"node {quote(node_name)} not found for device {quote(name)}"
        return _first_without_feature((node,))
    if "nodeSelector" in owner:
        wrong = list(wrong_bounds(owner["nodeSelector"]))
        if wrong:
            raise UnusableSelector(f"failed to create node selector: {listed(wrong)}")
        return _first_without_feature(node for node in nodes.values() if selects(owner["nodeSelector"], node))
    return _first_without_feature(nodes.values())  # the rules leave nothing else but all nodes


def _first_without_feature(nodes: Iterable[Node]) -> str:
    for node in nodes:
        if FEATURE not in node.declared_features:
            return f"node {quote(node.name)} does not support {FEATURE} feature"
    return ""


def _check_former_consumption(device: Object, spec: Object, path: Path, checks: Checks) -> None:
    """Each counter that a device consumes is one that its slice declares.

    Up to 1.34, a slice has its devices and the counters that they consume together, limits hold for sums, and references are
    checked.
    """
    consumptions, at = device.get("consumesCounters") or (), (*path, "consumesCounters")
    for index, consumption in enumerate(consumptions):
        if not consumption.get("counterSet"):
            checks.report(REQUIRED, (*at, index, "counterSet"))
        _check_former_counters(consumption, (*at, index), checks)
    checks.unique((each.get("counterSet", "") for each in consumptions), at, below=("counterSet",))
    total = _total(consumptions)
    if total > limits.FORMER_COUNTERS_PER_DEVICE:
        checks.invalid(
            path, total, f"the total number of counters must not exceed {limits.FORMER_COUNTERS_PER_DEVICE}"
        )
    declared = {
        each.get("name", ""): each.get("counters") or EMPTY for each in spec.get("sharedCounters") or ()
    }
    for index, consumption in enumerate(consumptions):
        name = consumption.get("counterSet", "")
        if name not in declared:
            detail = "must reference a counterSet defined in the ResourceSlice sharedCounters"
            checks.invalid((*at, index, "counterSet"), name, detail)
            continue
        for counter in consumption.get("counters") or ():
            if counter not in declared[name]:
                detail = "must reference a counter defined in the ResourceSlice sharedCounters"
                checks.invalid((*at, index, "counters"), counter, detail)


def _check_former_counter_sets(spec: Object, checks: Checks) -> None:
    """Counter sets have names of their own, and not too many counters together."""
    consumed = sum(_total(device.get("consumesCounters") or ()) for device in spec.get("devices") or ())
    if consumed > limits.FORMER_CONSUMED_COUNTERS:
        detail = f"the total number of counters in devices must not exceed {limits.FORMER_CONSUMED_COUNTERS}"
        checks.invalid(("spec", "devices"), consumed, detail)
    counter_sets, path = spec.get("sharedCounters") or (), ("spec", "sharedCounters")
    total = _total(counter_sets)
    if total > limits.FORMER_SHARED_COUNTERS:
        detail = f"the total number of shared counters must not exceed {limits.FORMER_SHARED_COUNTERS}"
        checks.invalid(path, total, detail)
    for index, counter_set in enumerate(counter_sets):
        name, at = counter_set.get("name", ""), (*path, index)
        if name:
            checks.problems(formats.dns_label(name), (*at, "name"))
        else:
            checks.report(REQUIRED, (*at, "name"))
        _check_former_counters(counter_set, at, checks)
    checks.unique((each.get("name", "") for each in counter_sets), path, below=("name",))


def _check_former_counters(owner: Object, path: Path, checks: Checks, limit: int | None = None) -> None:
    """Counters have names, which errors name up to 1.35."""
    counters, at = owner.get("counters"), (*path, "counters")
    if not counters:
        checks.report(REQUIRED, at)
        return
    if limit is None or checks.at_most(limit, counters, at, origin=""):
        for name in counters:
            checks.problems(formats.dns_label(name), map_key(at, name, LABEL_LENGTH))


def _total(owners: Iterable[Object]) -> int:
    return sum(len(owner.get("counters") or ()) for owner in owners)


SPEC: Path = ("spec",)
FORMER_SLICE_SELECTION = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required"
SLICE_SELECTION = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)
DEVICE_SELECTION = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to"
    " true in the ResourceSlice spec"
)
NO_DEVICE_SELECTION = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the"
    " ResourceSlice spec"
)


class ResourceSliceRules(ChangeableSpecRules):
    """ResourceSlice."""

    kind = RESOURCE_SLICE

    def read(self, obj: Object, version: str, setting: Setting) -> Object:
        """The object in the shape of the hub; a device without `basic`, which 1.32 wants, has it as nothing."""
        hub = super().read(obj, version, setting)
        if setting.profile.minor < HUB_LIKE_V1_SINCE:
            own = obj.get("spec", EMPTY).get("devices") or ()
            for device, read in zip(own, hub.get("spec", EMPTY).get("devices") or (), strict=True):
                if "basic" not in device:
                    read["basic"] = None
        return hub

    def check_either_spec(self, spec: Object, old: Object | None, checks: Checks) -> None:
        """A new or changed slice; devices keep capacities and taints that they had without another check."""
        _check_spec(spec, old, checks)

    def admit(self, obj: Object, setting: Setting) -> Answer | None:
        """Devices that use resources of nodes need nodes that account for them (NodeDeclaredFeatureValidator)."""
        if FEATURE not in setting.profile.gates:
            return None
        try:
            reason = refuse_slice(obj, setting.nodes)
        except UnusableSelector as error:
            return statuses.bad_request(str(error))
        return statuses.forbidden(self.kind.resource, obj["metadata"]["name"], reason) if reason else None

    def warnings(self, verb: str, obj: Object, profile: Profile) -> list[str]:
        """The name of a driver should be in lower case."""
        driver = obj.get("spec", EMPTY).get("driver", "")
        if driver == driver.lower() or profile.minor < 35:
            return []
        return [
            f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase characters"
        ]


def _check_spec(spec: Object, old: Object | None, checks: Checks) -> None:
    checks.problems(names.driver_name(spec.get("driver", ""), checks.wording), (*SPEC, "driver"))
    _check_pool(spec.get("pool", EMPTY), checks)
    if old is not None:
        _check_immutable(spec, old, checks)
    _check_slice_nodes(spec, checks)
    former = checks.minor < model.COUNTERS_APART_SINCE
    if "sharedCounters" in spec and "devices" in spec and not former:
        checks.invalid(SPEC, "", "only one of `sharedCounters` or `devices` is allowed")
    _check_devices(spec, old, checks)
    if former:
        _check_former_counter_sets(spec, checks)
    else:
        _check_counter_sets(spec.get("sharedCounters"), checks)
    if "partitionTypeAttribute" in spec:
        _check_partition_type(spec, checks)
    check_skipped_operations(spec.get("skipNodeOperations"), (*SPEC, "skipNodeOperations"), checks)


def _check_pool(pool: Object, checks: Checks) -> None:
    path = (*SPEC, "pool")
    checks.problems(formats.pool_name(pool.get("name", "")), (*path, "name"))
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        checks.invalid((*path, "resourceSliceCount"), count, "must be greater than zero")
    if generation < 0:
        checks.invalid((*path, "generation"), generation, "must be greater than or equal to zero")


def _check_immutable(spec: Object, old: Object, checks: Checks) -> None:
    """A slice stays in its pool, with its driver and on its node."""
    pool, before = spec.get("pool", EMPTY).get("name", ""), old.get("pool", EMPTY).get("name", "")
    if pool != before:
        checks.invalid((*SPEC, "pool", "name"), pool, "field is immutable")
    if spec.get("driver", "") != old.get("driver", ""):
        checks.invalid((*SPEC, "driver"), spec.get("driver", ""), "field is immutable")
    if spec.get("nodeName") != old.get("nodeName"):
        node = spec.get("nodeName")
        shown: object = node or ""
        if checks.minor >= HUB_LIKE_V1_SINCE:
            shown = None if node is None else Named(node)  # a pointer
        checks.invalid((*SPEC, "nodeName"), shown, "field is immutable")


# --- nodes ------------------------------------------------------------------------------------------------------


def _check_slice_nodes(spec: Object, checks: Checks) -> None:
    """A slice says in exactly one way for which nodes it is."""
    chosen = []
    if "nodeName" in spec:
        if spec["nodeName"]:
            chosen.append("nodeName")
            checks.problems(formats.dns_subdomain(spec["nodeName"]), (*SPEC, "nodeName"))
        else:
            checks.invalid((*SPEC, "nodeName"), "", "must be either unset or set to a non-empty string")
    if "nodeSelector" in spec:
        chosen.append("nodeSelector")
        _check_single_term(spec["nodeSelector"], checks)
    for name in ("allNodes", "perDeviceNodeSelection"):
        if name in spec:
            _check_flag(spec, name, SPEC, chosen, checks)
    former = checks.minor < HUB_LIKE_V1_SINCE
    detail = FORMER_SLICE_SELECTION if former else SLICE_SELECTION
    if not chosen:
        checks.report(REQUIRED, SPEC, "", detail)
    elif len(chosen) > 1 and former:
        checks.invalid(SPEC, None, detail)
    elif len(chosen) > 1:
        checks.invalid(SPEC, _set_of(chosen), detail + ", but multiple fields are set")


def _check_single_term(selector: Object, checks: Checks) -> None:
    """A slice's selector has one term, so that those of several slices can be merged."""
    path = (*SPEC, "nodeSelector")
    check_node_selector(selector, path, checks)
    terms = selector.get("nodeSelectorTerms")
    if len(terms or ()) != 1:
        shown = checks.internal(NodeSelector["nodeSelectorTerms"].type, terms)
        checks.invalid((*path, "nodeSelectorTerms"), shown, "must have exactly one node selector term")


def _check_flag(owner: Object, name: str, path: Path, chosen: list[str], checks: Checks) -> None:
    if owner[name]:
        chosen.append(name)
    else:
        checks.invalid((*path, name), False, "must be either unset or set to true")


def _set_of(chosen: list[str]) -> str:
    return "{" + ", ".join(f"`{name}`" for name in chosen) + "}"


def _check_device_nodes(device: Object, path: Path, per_device: bool, checks: Checks) -> None:
    """Devices say for which nodes they are if, and only if, the slice leaves it to them."""
    if not per_device:
        if any(name in device for name in ("nodeName", "nodeSelector", "allNodes")):
            checks.invalid(path, None, NO_DEVICE_SELECTION)
        return
    chosen: list[str] = []
    if "nodeName" in device:
        if device["nodeName"]:
            chosen.append("nodeName")
            checks.problems(formats.dns_subdomain(device["nodeName"]), (*path, "nodeName"))
        else:
            checks.invalid((*path, "nodeName"), "", "must not be empty")
    if "nodeSelector" in device:
        chosen.append("nodeSelector")
        check_node_selector(device["nodeSelector"], (*path, "nodeSelector"), checks)
    if "allNodes" in device:
        _check_flag(device, "allNodes", path, chosen, checks)
    if not chosen:
        checks.report(REQUIRED, path, "", DEVICE_SELECTION)
    elif len(chosen) > 1:
        checks.invalid(path, _set_of(chosen), DEVICE_SELECTION)


# --- devices ----------------------------------------------------------------------------------------------------


def _check_devices(spec: Object, old: Object | None, checks: Checks) -> None:
    devices, path = spec.get("devices") or [], (*SPEC, "devices")
    former = checks.minor < model.COUNTERS_APART_SINCE
    advanced = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    advanced = (advanced or _has_lists(devices)) and not former
    limit = limits.DEVICES_WITH_ADVANCED_FEATURES if advanced else limits.DEVICES
    if not former and not checks.at_most(limit, devices, path):
        return
    stored: dict[str, Object] = {}
    for device in (old or EMPTY).get("devices") or ():
        stored.setdefault(device.get("name", ""), device)
    for index, device in enumerate(devices):
        _check_device(device, stored.get(device.get("name", "")), (*path, index), spec, checks)
    if former:
        checks.at_most(limit, devices, path)
    names_ = (device.get("name", "") for device in devices)
    checks.unique(names_, path, below=("name",) if former else ())


def _has_lists(devices: list[Object]) -> bool:
    return any(
        name in attribute
        for device in devices
        for attribute in (device.get("attributes") or EMPTY).values()
        for name in LISTS
    )


def _check_device(device: Object, old: Object | None, path: Path, spec: Object, checks: Checks) -> None:
    checks.problems(formats.dns_label(device.get("name", "")), (*path, "name"))
    former = checks.minor < HUB_LIKE_V1_SINCE
    if former and "basic" in device:
        checks.report(REQUIRED, (*path, "basic"))
        return
    attributes, capacity = device.get("attributes") or EMPTY, device.get("capacity") or EMPTY
    if not former:
        check_totals(attributes, capacity, path, checks)
    for name, attribute in attributes.items():
        check_attribute(attribute, _check_key(name, (*path, "attributes"), checks), checks)
    if old is None or checks.minor < 37 or not equal(old.get("capacity"), capacity):
        shared = bool(device.get("allowMultipleAllocations"))
        for name, amount in capacity.items():
            check_capacity(amount, _check_key(name, (*path, "capacity"), checks), checks, shared=shared)
    taints, at = device.get("taints"), (*path, "taints")
    if checks.minor < model.COUNTERS_APART_SINCE:
        checks.each(taints, at, check_taint)
        checks.at_most(limits.FORMER_TAINTS, taints, at)
        _check_former_consumption(device, spec, path, checks)
    else:
        changed = old is None or not equal(old.get("taints"), taints)
        if changed and checks.at_most(limits.TAINTS, taints, at):
            checks.each(taints, at, check_taint)
        if consumptions := device.get("consumesCounters"):
            _check_consumption(consumptions, (*path, "consumesCounters"), checks)
    if former:
        check_totals(attributes, capacity, (*path, "basic"), checks)
        return
    _check_device_nodes(device, path, bool(spec.get("perDeviceNodeSelection")), checks)
    check_binding_conditions(device, path, checks)
    _check_node_resources(device, path, checks)
    if mappings := device.get("nodeAllocatableResourceMappings"):
        _check_former_mappings(mappings, device.get("capacity") or EMPTY, path, checks)


def _check_key(name: str, path: Path, checks: Checks) -> Path:
    """The path of an entry of a map; errors about its key are about the map, and since 1.36 they say so."""
    at = map_key(path, name, QUALIFIED_NAME_BYTES)
    if problems := names.qualified_name(name, checks.wording):
        checks.problems(problems, path if checks.minor >= 36 else at)
    return at


# --- counters ---------------------------------------------------------------------------------------------------


def _check_counter_sets(counter_sets: list[Object] | None, checks: Checks) -> None:
    def check(counter_set: Object, at: Path) -> None:
        checks.declared(model.CounterSet["name"], counter_set.get("name", ""), (*at, "name"))
        _check_counters(model.CounterSet, counter_set, limits.COUNTERS_PER_SET, at, checks)

    checks.entries(model.ResourceSliceSpec["sharedCounters"], counter_sets, (*SPEC, "sharedCounters"), check)


def _check_consumption(consumptions: list[Object], path: Path, checks: Checks) -> None:
    fields = model.DeviceCounterConsumption

    def check(consumption: Object, at: Path) -> None:
        checks.declared(fields["counterSet"], consumption.get("counterSet", ""), (*at, "counterSet"))
        _check_counters(fields, consumption, limits.COUNTERS_PER_CONSUMPTION, at, checks)

    checks.entries(model.Device["consumesCounters"], consumptions, path, check)


def _check_counters(fields: Struct, owner: Object, limit: int, path: Path, checks: Checks) -> None:
    if checks.minor < 36:
        _check_former_counters(owner, path, checks, limit)
        return
    counters, at = owner.get("counters"), (*path, "counters")
    if checks.at_most(limit, counters, at, origin=""):
        checks.declared(fields["counters"], counters, at)


# --- partition types and node resources -------------------------------------------------------------------------


def _check_partition_type(spec: Object, checks: Checks) -> None:
    """The attribute that tells partitions apart is one that every device with counters has, as a string."""
    name, devices = spec["partitionTypeAttribute"], spec.get("devices") or []
    if not any(device.get("consumesCounters") for device in devices):
        detail = "may only be set on a slice which declares devices that consume counters"
        checks.invalid((*SPEC, "partitionTypeAttribute"), name, detail)
        return
    if names.fully_qualified_name(name):
        return  # declared to be wrong; no device can have it
    own_name = name.removeprefix(spec.get("driver", "") + "/")
    for index, device in enumerate(devices):
        if not device.get("consumesCounters"):
            continue
        attributes = device.get("attributes") or EMPTY
        attribute = attributes.get(name, attributes.get(own_name))
        path = (*SPEC, "devices", index, "attributes", Key(name))
        if attribute is None:
            detail = "device consumes counters and `partitionTypeAttribute` names this attribute, so it must be set"
            checks.report(REQUIRED, path, "", detail)
        elif "string" not in attribute:
            shown = checks.internal("DeviceAttribute", attribute)
            checks.invalid(
                path, shown, "must be a string value because `partitionTypeAttribute` names this attribute"
            )


def _check_node_resources(device: Object, path: Path, checks: Checks) -> None:
    """A device may use up cpu, memory or huge pages of its node, by a formula over its capacity or as overhead."""
    for name, resource in (device.get("nodeAllocatableResources") or EMPTY).items():
        at = (*path, "nodeAllocatableResources", Key(name))
        if not formats.is_node_allocatable(name):
            checks.invalid(at, Named(name), formats.NOT_ALLOCATABLE)
        if "mapping" not in resource and "overhead" not in resource:
            checks.report(REQUIRED, at, "", "at least one of mapping or overhead must be set")
        if "mapping" in resource:
            _check_mapping(resource["mapping"], device.get("capacity") or EMPTY, (*at, "mapping"), checks)
        if "overhead" in resource:
            _check_overhead(resource["overhead"], (*at, "overhead"), checks)


def _check_former_mappings(mappings: dict[str, Object], capacity: Object, path: Path, checks: Checks) -> None:
    """In 1.36 a device may use up any resource of its node whose name has no domain, by a factor or a capacity."""
    for name, mapping in mappings.items():
        at = (*path, "nodeAllocatableResourceMappings", Key(name))
        if "/" in name and "kubernetes.io/" not in name:
            checks.invalid(at, Named(name), formats.NOT_ALLOCATABLE)
        key, multiplier = mapping.get("capacityKey"), mapping.get("allocationMultiplier")
        if multiplier is None and key is None:
            checks.invalid(at, "", "at least one of allocationMultiplier or capacityKey must be set")
        if multiplier is not None:
            _check_positive(multiplier, (*at, "allocationMultiplier"), checks)
        if key is not None:
            _check_capacity_key(key, capacity, at, checks)


def _check_capacity_key(key: str, capacity: Object, path: Path, checks: Checks) -> None:
    """A name of a capacity that the device has."""
    if not key:
        checks.invalid((*path, "capacityKey"), "", "capacityKey must not be an empty string")
    elif key not in capacity:
        checks.errors.append(not_found((*path, "capacityKey"), Named(key)))


def _check_mapping(mapping: Object, capacity: Object, path: Path, checks: Checks) -> None:
    key, multiplier = mapping.get("capacityKey"), mapping.get("capacityMultiplier")
    if key is not None:
        _check_capacity_key(key, capacity, path, checks)
        if multiplier is None:
            _dependent(path, "capacityMultiplier", "capacityKey", checks)
        else:
            _check_positive(multiplier, (*path, "capacityMultiplier"), checks)
    if "deviceMultiplier" in mapping:
        _check_positive(mapping["deviceMultiplier"], (*path, "deviceMultiplier"), checks)
    if multiplier is not None and key is None:
        _dependent(path, "capacityKey", "capacityMultiplier", checks)


def _dependent(path: Path, name: str, other: str, checks: Checks) -> None:
    checks.report(REQUIRED, (*path, name), "", f"{name} is required when {other} is set")


def _check_positive(quantity: Quantity, path: Path, checks: Checks) -> None:
    if quantity.sign() <= 0:
        checks.invalid(path, str(quantity), "must be positive")


def _check_overhead(overhead: Object, path: Path, checks: Checks) -> None:
    if "perPod" not in overhead and "perContainer" not in overhead:
        checks.invalid(path, "", "at least one of perPod or perContainer must be set")
    for name in ("perPod", "perContainer"):
        if name in overhead and overhead[name].sign() < 0:
            checks.invalid((*path, name), str(overhead[name]), formats.NON_NEGATIVE)
