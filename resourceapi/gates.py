"""Feature gates: in which release each one is in which stage, and which of them are on.

The table says what kube-apiserver 1.37 knows when it answers as an older release (``--emulated-version``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from resourceapi.gotext import quote

ALPHA, BETA, GA, DEPRECATED = "ALPHA", "BETA", "GA", "DEPRECATED"


class Stage:
    """What a gate is from one release on: its stage, whether it is on by default and whether it can be set."""

    __slots__ = ("default", "locked", "minor", "stage")

    def __init__(self, minor: int, stage: str, default: bool = False, locked: bool = False) -> None:
        self.minor = minor
        self.stage = stage
        self.default = default
        self.locked = locked


ON, LOCKED = True, True

# The minor release (of 1.x) from which on each row holds.  The stages before 1.34 are those of the releases in which
# the gate appeared; older history is left out.
GATES: dict[str, tuple[Stage, ...]] = {
    "DRAAdminAccess": (Stage(32, ALPHA), Stage(34, BETA, ON), Stage(36, GA, ON, LOCKED)),
    "DRAConsumableCapacity": (Stage(34, ALPHA), Stage(36, BETA, ON)),
    "DRADerivedAttributes": (Stage(37, ALPHA),),
    "DRADeviceBindingConditions": (Stage(34, ALPHA), Stage(36, BETA, ON)),
    "DRADeviceCompatibilityGroups": (Stage(37, ALPHA),),
    "DRADeviceTaintRules": (Stage(35, ALPHA), Stage(36, BETA), Stage(37, GA, ON)),
    "DRADeviceTaints": (Stage(33, ALPHA), Stage(36, BETA, ON), Stage(37, GA, ON)),
    "DRAExtendedResource": (Stage(34, ALPHA), Stage(36, BETA, ON), Stage(37, GA, ON, LOCKED)),
    # on by default only where every server of the cluster is known to be 1.37 (--min-compatibility-version)
    "DRAFractionalCapacityRange": (Stage(37, BETA),),
    "DRAListTypeAttributes": (Stage(36, ALPHA),),
    "DRANodeAllocatableResources": (Stage(36, ALPHA),),
    "DRAOptionalNodeOperations": (Stage(37, ALPHA),),
    "DRAPartitionableDevices": (Stage(33, ALPHA), Stage(36, BETA, ON)),
    "DRAPartitionableDevicesType": (Stage(37, ALPHA),),
    "DRAPrioritizedList": (
        Stage(33, ALPHA),
        Stage(34, BETA, ON),
        Stage(36, GA, ON),
        Stage(37, GA, ON, LOCKED),
    ),
    "DRAResourceClaimDeviceStatus": (Stage(32, ALPHA), Stage(33, BETA, ON), Stage(37, GA, ON, LOCKED)),
    "DRAResourceClaimGranularStatusAuthorization": (Stage(36, BETA, ON),),
    "DRAResourcePoolStatus": (Stage(36, ALPHA),),
    "DRASchedulerFilterTimeout": (Stage(34, BETA, ON),),
    "DRAWorkloadResourceClaims": (Stage(36, ALPHA), Stage(37, BETA)),
    "DeclarativeValidation": (Stage(33, BETA, ON), Stage(36, GA, ON)),
    "DeclarativeValidationBeta": (Stage(36, BETA, ON),),
    "DynamicResourceAllocation": (Stage(30, ALPHA), Stage(34, GA, ON), Stage(35, GA, ON, LOCKED)),
    "GenericWorkload": (Stage(35, ALPHA), Stage(37, BETA)),
    "NodeDeclaredFeatures": (Stage(35, ALPHA), Stage(36, BETA, ON), Stage(37, GA, ON, LOCKED)),
    "PodLevelResources": (Stage(32, ALPHA), Stage(34, BETA, ON)),
    "ResourceHealthStatus": (Stage(31, ALPHA), Stage(36, BETA, ON)),
}

# A gate that is on needs these to be on as well; the server refuses to start otherwise.
DEPENDS_ON: dict[str, tuple[str, ...]] = {
    "DRAAdminAccess": ("DynamicResourceAllocation",),
    "DRAConsumableCapacity": ("DynamicResourceAllocation",),
    "DRADerivedAttributes": ("DynamicResourceAllocation",),
    "DRADeviceBindingConditions": ("DynamicResourceAllocation", "DRAResourceClaimDeviceStatus"),
    "DRADeviceCompatibilityGroups": ("DynamicResourceAllocation", "DRAPartitionableDevices"),
    "DRADeviceTaintRules": ("DRADeviceTaints",),
    "DRADeviceTaints": ("DynamicResourceAllocation",),
    "DRAExtendedResource": ("DynamicResourceAllocation",),
    "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
    "DRAListTypeAttributes": ("DynamicResourceAllocation",),
    "DRANodeAllocatableResources": ("DynamicResourceAllocation",),
    "DRAOptionalNodeOperations": ("DynamicResourceAllocation", "NodeDeclaredFeatures"),
    "DRAPartitionableDevices": ("DynamicResourceAllocation",),
    "DRAPartitionableDevicesType": (
        "DynamicResourceAllocation",
        "DRAPartitionableDevices",
        "DRAResourcePoolStatus",
    ),
    "DRAPrioritizedList": ("DynamicResourceAllocation",),
    "DRAResourceClaimGranularStatusAuthorization": (
        "DynamicResourceAllocation",
        "DRAResourceClaimDeviceStatus",
    ),
    "DRAResourcePoolStatus": ("DynamicResourceAllocation",),
    "DRASchedulerFilterTimeout": ("DynamicResourceAllocation",),
    "DRAWorkloadResourceClaims": ("DynamicResourceAllocation", "GenericWorkload"),
}

_ALL_OF_A_STAGE = {"AllAlpha": ALPHA, "AllBeta": BETA}
_BOOLEANS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


class GateError(Exception):
    """A setting of feature gates that the server would not start with; the text is the server's."""


def stage_of(gate: str, minor: int) -> Stage | None:
    """What ``gate`` is in release 1.``minor``, or None if that release does not know it yet."""
    known = [stage for stage in GATES[gate] if stage.minor <= minor]
    return known[-1] if known else None


def parse(text: str) -> dict[str, bool]:
    """``A=true,B=false`` as a mapping.

    :raises GateError: as the server's flag does.
    """
    settings: dict[str, bool] = {}
    for part in filter(None, text.split(",")):
        name, separator, value = part.partition("=")
        name, value = name.strip(), value.strip()
        if not separator:
            raise GateError(f"missing bool value for {name}")
        if value not in _BOOLEANS:
            raise GateError(
                f"invalid value of {name}={value}, err: strconv.ParseBool: parsing {quote(value)}: invalid syntax"
            )
        settings[name] = _BOOLEANS[value]
    return settings


def effective(minor: int, settings: Mapping[str, bool], *, defaults_on: Iterable[str] = ()) -> frozenset[str]:
    """The gates that are on in release 1.``minor`` with these settings.

    ``defaults_on``: gates that a profile of ours has on by default.

    :raises GateError: for a gate that is unknown, locked or not there yet, or on without what it depends on.
    """
    stages = {gate: stage for gate in GATES if (stage := stage_of(gate, minor)) is not None}
    state = {gate: stage.default for gate, stage in stages.items()}
    state.update(dict.fromkeys(defaults_on, True))
    for name, value in settings.items():
        if name in _ALL_OF_A_STAGE:
            state.update(
                (gate, value)
                for gate, stage in stages.items()
                if stage.stage == _ALL_OF_A_STAGE[name] and gate not in settings
            )
            continue
        _refuse_unsettable(name, value, stages, minor)
        state[name] = value
    on = frozenset(gate for gate, enabled in state.items() if enabled)
    _refuse_unmet_dependencies(on)
    return on


def _refuse_unsettable(name: str, value: bool, stages: Mapping[str, Stage], minor: int) -> None:
    if name not in GATES:
        raise GateError(f"unrecognized feature gate: {name}")
    setting = f"cannot set feature gate {name} to {str(value).lower()}"
    stage = stages.get(name)
    if stage is None:
        raise GateError(
            f"{setting}, feature is PreAlpha at emulated version 1.{minor}, min compatibility version 1.{minor - 1}"
        )
    if stage.locked and stage.default is not value:
        raise GateError(f"{setting}, feature is locked to {str(stage.default).lower()}")


def _refuse_unmet_dependencies(on: frozenset[str]) -> None:
    for gate, needed in DEPENDS_ON.items():
        missing = [other for other in needed if other not in on] if gate in on else []
        if missing:
            raise GateError(
                f"{gate} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
            )
