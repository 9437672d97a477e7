"""Pod, and the kinds that hold a pod template, with every field that the server knows.

The structs are facts extracted from ``k8s.io/api`` (``make release``), read when a pod or workload is.
A field is ``[name, type, Go name, flags]``; the Go name defaults to the name, capitalised.  Types are written
``string``, ``[]T``, ``map[K]T`` and ``#Struct``; after a space follows the Go name of the innermost type, or with
``=`` that of the whole.  The flags are ``*`` for a pointer, ``!`` for a field that is there even when empty, ``<`` for
an embedded struct.
"""

from __future__ import annotations

from os import path

from resourceapi.measured import NEWEST
from resourceapi.schema import Field, Schema, Struct, Type, list_of, map_of

# The structs of one release, and of each other release those that it has otherwise.
WHOLE = path.join(path.dirname(__file__), "data", "workloads.json")
DATA = path.join(path.dirname(__file__), "data", "workloads")
# Groups and the kinds of their version v1.
KINDS = {
    "": ("Pod", "PodTemplate", "ReplicationController"),
    "apps": ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"),
    "batch": ("Job", "CronJob"),
}
RESOURCES = {
    "Pod": "pods",
    "PodTemplate": "podtemplates",
    "ReplicationController": "replicationcontrollers",
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
    "ReplicaSet": "replicasets",
    "Job": "jobs",
    "CronJob": "cronjobs",
}
# Where a kind holds its pod template.
TEMPLATES = {
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
# The field of the spec with the number of pods that run at a time.
POD_COUNTS = {
    "Deployment": "replicas",
    "StatefulSet": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "Job": "parallelism",
}

_CONTAINER = {"resizePolicy": "InPlacePodVerticalScaling", "restartPolicyRules": "ContainerRestartRules"}
_USER, _DEFAULT_USER = ({name: "AtomicWriteVolumeUserFields"} for name in ("user", "defaultUser"))
# The gates that pods' fields depend on, which servers drop where they are off; those of claims are not among them, which
# they drop in some places only.
_GATES: dict[str, dict[str, str]] = {
    "ClusterTrustBundleProjection": _USER,
    "ConfigMapVolumeSource": _DEFAULT_USER,
    "Container": _CONTAINER,
    "DownwardAPIVolumeFile": _USER,
    "DownwardAPIVolumeSource": _DEFAULT_USER,
    "EmptyDirVolumeSource": {"mode": "EmptyDirVolumeMode"},
    "EnvVarSource": {"fileKeyRef": "EnvFiles"},
    "EphemeralContainerCommon": _CONTAINER,
    "GRPCAction": {"mode": "GRPCContainerProbeTLS"},
    "HTTPGetAction": {"protocol": "H2CContainerProbe"},
    "KeyToPath": _USER,
    "Lifecycle": {"stopSignal": "ContainerStopSignals"},
    "PodAffinityTerm": dict.fromkeys(("matchLabelKeys", "mismatchLabelKeys"), "MatchLabelKeysInPodAffinity"),
    "PodCertificateProjection": _USER,
    "PodSecurityContext": {
        "seLinuxChangePolicy": "SELinuxChangePolicy",
        "supplementalGroupsPolicy": "SupplementalGroupsPolicy",
    },
    "PodSpec": {
        "evictionResponders": "EvictionRequestAPI",
        "hostUsers": "UserNamespacesSupport",
        "hostnameOverride": "HostnameOverride",
        "resources": "PodLevelResources",
        "schedulingGroup": "GenericWorkload",
    },
    "ProjectedVolumeSource": _DEFAULT_USER,
    "SecretVolumeSource": _DEFAULT_USER,
    "ServiceAccountTokenProjection": _USER,
    "TopologySpreadConstraint": {"matchLabelKeys": "MatchLabelKeysInPodTopologySpread"},
    "VolumeMount": {
        "bindMountOptions": "VolumeBindMountOptions",
        "recursiveReadOnly": "RecursiveReadOnlyMounts",
    },
    "VolumeProjection": {
        "clusterTrustBundle": "ClusterTrustBundleProjection",
        "podCertificate": "PodCertificateRequest",
    },
    "VolumeSource": {"image": "ImageVolume"},
}
# What an unset field means where that is not its type's zero.
_DEFAULTS = {"hostUsers": True}
# Types that print themselves as JSON everywhere, with the names that JSON has.
_TAGGED = frozenset(
    (
        "ObjectMeta",
        "TypeMeta",
        "OwnerReference",
        "ManagedFieldsEntry",
        "LabelSelector",
        "LabelSelectorRequirement",
    )
)
_GO_NAMES = {
    "quantity": "resource.Quantity",
    "time": "v1.Time",
    "microtime": "v1.MicroTime",
    "intorstring": "intstr.IntOrString",
}


class WorkloadSchema(Schema):
    """A schema whose structs are made when they are needed."""

    def __init__(self, data: dict[str, list[list[str]]]) -> None:
        super().__init__("v1", ())
        self._data = data

    def __getitem__(self, name: str) -> Struct:
        if name not in self._structs:
            gates = _GATES.get(name, {})
            fields = (_field(entry, gates.get(entry[0], "")) for entry in self._data[name])
            self._structs[name] = Struct(name, *fields, tagged=name in _TAGGED)
        return self._structs[name]

    def __contains__(self, name: str) -> bool:
        return name in self._data


_loaded: dict[int, WorkloadSchema] = {}


def schema(minor: int = NEWEST) -> WorkloadSchema:
    """The structs of all these kinds in release 1.``minor``."""
    if minor not in _loaded:
        _loaded[minor] = WorkloadSchema(_read(WHOLE) | _read(path.join(DATA, f"1.{minor}.json")))
    return _loaded[minor]


def schema_of(group: str, version: str, kind: str, minor: int = NEWEST) -> Schema | None:
    """The schema of a kind in release 1.``minor``, if it is one of these."""
    return schema(minor) if version == "v1" and kind in KINDS.get(group, ()) else None


def _read(file: str) -> dict[str, list[list[str]]]:
    import json

    with open(file, encoding="utf-8") as opened:
        structs: dict[str, list[list[str]]] = json.load(opened)
    return structs


def _field(entry: list[str], gate: str) -> Field:
    name, notation, go, flags = [*entry, "", ""][:4]
    return Field(
        name,
        _type(notation),
        go=go,
        pointer="*" in flags,
        omitempty="!" not in flags,
        inline="<" in flags,
        gates=(gate,) if gate else (),
        default=_DEFAULTS.get(name),
    )


def _type(notation: str) -> Type:
    text, _, go = notation.partition(" ")
    if not go.startswith("="):
        return _plain_type(text, go)
    made = _plain_type(text, "")
    made.go = go[1:]
    return made


def _plain_type(text: str, go: str) -> Type:
    """A type without a name of its own; ``go`` is that of the innermost element."""
    if text.startswith("[]"):
        return list_of(_plain_type(text[2:], go))
    if text.startswith("map["):
        key, _, element = text[4:].partition("]")
        return map_of(_plain_type(element, go), key=key)
    if text.startswith("#"):
        return Type("struct", go or "v1." + text[1:], struct=text[1:])
    return Type(text, go or _GO_NAMES.get(text, text))
