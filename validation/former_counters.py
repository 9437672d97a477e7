"""What must hold for the counters of a ResourceSlice up to Kubernetes 1.34 (KEP-4815).

There a slice has its devices and the counters that they consume together, limits hold for sums, and references are checked.
Later releases have them in :mod:`validation.slices`.
"""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi import limits
from resourceapi.field_errors import REQUIRED, Path
from resourceapi.names import LABEL_LENGTH
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks, map_key


def check_consumption(device: Object, spec: Object, path: Path, checks: Checks) -> None:
    """Each counter that a device consumes is one that its slice declares."""
    consumptions, at = device.get("consumesCounters") or (), (*path, "consumesCounters")
    for index, consumption in enumerate(consumptions):
        if not consumption.get("counterSet"):
            checks.report(REQUIRED, (*at, index, "counterSet"))
        check_counters(consumption, (*at, index), checks)
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


def check_shared(spec: Object, checks: Checks) -> None:
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
        check_counters(counter_set, at, checks)
    checks.unique((each.get("name", "") for each in counter_sets), path, below=("name",))


def check_counters(owner: Object, path: Path, checks: Checks, limit: int | None = None) -> None:
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
