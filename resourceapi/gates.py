"""Feature gates: in which release each one is in which stage, and which of them are on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from resourceapi.errors import ClaimcheckError
from resourceapi.go_text import BOOLEANS, listed, quote

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

# The minor release (of 1.x) from which on each row holds.  The stages before 1.32 are those of the releases in which
# the gate appeared; older history is left out.
GATES: dict[str, tuple[Stage, ...]] = {
    "AtomicWriteVolumeUserFields": (Stage(37, ALPHA),),
    "ClusterTrustBundle": (Stage(30, ALPHA), Stage(33, BETA), Stage(37, GA, ON)),
    "ClusterTrustBundleProjection": (Stage(30, ALPHA), Stage(33, BETA), Stage(37, GA, ON)),
    "ContainerRestartRules": (Stage(34, ALPHA), Stage(35, BETA, ON)),
    "ContainerStopSignals": (Stage(33, ALPHA),),
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
    "DeclarativeValidation": (Stage(33, BETA, ON), Stage(36, GA, ON, LOCKED)),
    "DeclarativeValidationBeta": (Stage(36, BETA, ON),),
    "DeclarativeValidationTakeover": (
        Stage(33, BETA),
        Stage(36, DEPRECATED),
        Stage(37, DEPRECATED, False, LOCKED),
    ),
    "DynamicResourceAllocation": (
        Stage(30, ALPHA),
        Stage(32, BETA),
        Stage(34, GA, ON),
        Stage(35, GA, ON, LOCKED),
    ),
    "EmptyDirVolumeMode": (Stage(37, ALPHA),),
    "EnvFiles": (Stage(34, ALPHA), Stage(35, BETA, ON)),
    "EvictionRequestAPI": (Stage(37, ALPHA),),
    "GRPCContainerProbeTLS": (Stage(37, ALPHA),),
    "GenericWorkload": (Stage(35, ALPHA), Stage(37, BETA)),
    "H2CContainerProbe": (Stage(37, ALPHA),),
    "HostnameOverride": (Stage(34, ALPHA), Stage(35, BETA, ON), Stage(37, GA, ON, LOCKED)),
    "ImageVolume": (Stage(32, ALPHA), Stage(33, BETA), Stage(35, BETA, ON), Stage(36, GA, ON, LOCKED)),
    "InPlacePodVerticalScaling": (Stage(30, ALPHA), Stage(33, BETA, ON), Stage(35, GA, ON, LOCKED)),
    "MatchLabelKeysInPodAffinity": (Stage(30, ALPHA), Stage(32, BETA, ON), Stage(33, GA, ON, LOCKED)),
    "MatchLabelKeysInPodTopologySpread": (Stage(30, BETA, ON),),
    "NodeDeclaredFeatures": (Stage(35, ALPHA), Stage(36, BETA, ON), Stage(37, GA, ON, LOCKED)),
    "PodCertificateRequest": (Stage(34, ALPHA), Stage(35, BETA), Stage(37, GA, ON)),
    "PodLevelResources": (Stage(32, ALPHA), Stage(34, BETA, ON)),
    "RecursiveReadOnlyMounts": (Stage(30, ALPHA), Stage(32, BETA, ON), Stage(33, GA, ON, LOCKED)),
    "ResourceHealthStatus": (Stage(31, ALPHA), Stage(36, BETA, ON)),
    "SELinuxChangePolicy": (Stage(32, ALPHA), Stage(33, BETA, ON), Stage(36, GA, ON, LOCKED)),
    "SupplementalGroupsPolicy": (Stage(32, ALPHA), Stage(33, BETA, ON), Stage(35, GA, ON, LOCKED)),
    "UserNamespacesSupport": (Stage(30, BETA), Stage(33, BETA, ON), Stage(36, GA, ON, LOCKED)),
    "VolumeBindMountOptions": (Stage(37, ALPHA),),
}

#: Gates of proposals that no release knows, so that Kubernetes' own answers about gates leave them out; whether they are on
#: by default.  Claimcheck's settings take them together with those of the server.
UNRELEASED_GATES: dict[str, bool] = {
    # nothing comes of it where nobody has installed the CRD of ResourceSlicePatch
    "DRAAdminControlledDeviceAttributes": ON
}

# A gate that is on needs these to be on as well; the server refuses to start otherwise.
DEPENDS_ON: dict[str, tuple[str, ...]] = {
    "ClusterTrustBundleProjection": ("ClusterTrustBundle",),
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
    "DeclarativeValidationBeta": ("DeclarativeValidation",),
    "DeclarativeValidationTakeover": ("DeclarativeValidation",),
    "ResourceHealthStatus": ("DynamicResourceAllocation",),
}

_ALL_OF_A_STAGE = {"AllAlpha": ALPHA, "AllBeta": BETA}
_COMPONENT = "kube"  # the only one whose gates a server's flag can set; it may be named before each gate
_CHECKED_SINCE = 35  # servers before it let every gate be set by itself


class GateError(ClaimcheckError):
    """A setting of feature gates that the server would not start with; the text is the server's."""


def stage_of(gate: str, minor: int) -> Stage | None:
    """What ``gate`` is in release 1.``minor``, or None if that release does not know it yet."""
    known = [stage for stage in GATES[gate] if stage.minor <= minor]
    return known[-1] if known else None


def switchable(minor: int, on: Collection[str]) -> dict[str, frozenset[str]]:
    """The gates that are off and that release 1.``minor`` lets one turn on, each with those to turn on for it."""
    found = {}
    for gate in known(minor) - set(on):
        needed = _with_dependencies(gate) - set(on)
        stages = [stage_of(each, minor) for each in needed]
        if all(stage is not None and not stage.locked for stage in stages):
            found[gate] = needed
    return found


def _with_dependencies(gate: str) -> frozenset[str]:
    return frozenset((gate,)).union(*(_with_dependencies(each) for each in DEPENDS_ON.get(gate, ())))


def known(minor: int) -> frozenset[str]:
    """The gates that release 1.``minor`` knows, on or off."""
    return frozenset(gate for gate in GATES if stage_of(gate, minor) is not None)


def parse(text: str) -> dict[str, bool]:
    """``A=true,B=false`` as a mapping.

    :raises GateError: as the server's flag does.
    """
    settings: dict[str, bool] = {}
    for part in _of_one_component(text):
        name, separator, value = part.partition("=")
        name, value = name.strip(), value.strip()
        if not separator:
            raise GateError(f"missing bool value for {name}")
        if value not in BOOLEANS:
            raise GateError(
                f"invalid value of {name}={value}, err: strconv.ParseBool: parsing {quote(value)}: invalid syntax"
            )
        settings[name] = BOOLEANS[value]
    return settings


def _of_one_component(text: str) -> list[str]:
    """The settings in the text, without the component that they may name (``kube:A=true``)."""
    parts: list[str] = []
    components = set()
    for part in text.split(","):
        if not part:
            continue
        component, separator, setting = part.partition(":")
        components.add(component.strip() if separator else "")
        parts.append((setting if separator else part).strip())
    if components >= {"", _COMPONENT}:
        raise GateError(
            f"set kube feature gates with default empty prefix or {_COMPONENT}: prefix consistently, do not mix use"
        )
    strangers = sorted(components - {"", _COMPONENT})
    if strangers:
        raise GateError(f"component not registered: {strangers[0]}")
    return [part for part in parts if part]


def effective(minor: int, settings: Mapping[str, bool], *, defaults_on: Iterable[str] = ()) -> frozenset[str]:
    """The gates of ``GATES`` that are on in release 1.``minor`` with these settings, which may be about any gate.

    ``defaults_on``: gates that a profile of ours has on by default.

    :raises GateError: for a gate that is unknown, locked or not there yet, or on without what it depends on.
    """
    stages = {gate: stage for gate in GATES if (stage := stage_of(gate, minor)) is not None}
    state = {gate: stage.default for gate, stage in stages.items()}
    state.update(dict.fromkeys(defaults_on, True))
    if settings:
        _apply(settings, minor, stages, state)
    return frozenset(gate for gate in GATES if state.get(gate))


def _apply(
    settings: Mapping[str, bool], minor: int, stages: dict[str, Stage], state: dict[str, bool]
) -> None:
    """Change ``state`` by the settings, for all gates that the server knows."""
    from resourceapi import other_gates

    others = other_gates.of_release(minor)
    _refuse_unknown(settings, stages.keys() | others.stages.keys() | _ALL_OF_A_STAGE.keys())
    for gate, text in others.stages.items():
        stage, default, *locked = text.split()
        stages[gate] = Stage(minor, stage, default == "on", bool(locked))
        state[gate] = stages[gate].default
    _refuse_locked(settings, stages)
    for name, value in settings.items():
        if name in _ALL_OF_A_STAGE:
            concerned = (gate for gate, stage in stages.items() if stage.stage == _ALL_OF_A_STAGE[name])
            state.update((gate, value) for gate in concerned if gate not in settings)
        else:
            state[name] = value
    if minor >= _CHECKED_SINCE:
        _refuse_unmet_dependencies(state, dict(DEPENDS_ON) | dict(others.depends_on))


def _refuse_unknown(settings: Iterable[str], known: Collection[str]) -> None:
    """One unknown gate is enough for the server."""
    for name in settings:
        if name not in known:
            raise GateError(f"unrecognized feature gate: {name}")


def _refuse_locked(settings: Mapping[str, bool], stages: Mapping[str, Stage]) -> None:
    _refuse(
        [
            f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {str(stage.default).lower()}"
            for name, value in settings.items()
            if (stage := stages.get(name)) is not None and stage.locked and stage.default is not value
        ]
    )


def _refuse_unmet_dependencies(state: Mapping[str, bool], dependencies: Mapping[str, Sequence[str]]) -> None:
    reasons = []
    for gate, needed in dependencies.items():
        missing = [other for other in needed if not state.get(other)] if state.get(gate) else []
        if missing:
            reasons.append(
                f"{gate} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
            )
    _refuse(reasons)


def _refuse(reasons: list[str]) -> None:
    """Refuse for all reasons at once; the server lists several in no particular order."""
    if reasons:
        raise GateError(listed(reasons))
