"""Whether kubectl knows what an object is: its kind and version, and which documents are lists of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import Any

from resourceapi import releases
from resourceapi.decoding import MAX_PROBLEMS, DecodingError, decode, fields_of
from resourceapi.field_errors import Path
from resourceapi.go_text import json_text, quote
from resourceapi.kinds import kind_of, kinds_of
from resourceapi.model import workloads
from resourceapi.model.meta import METADATA, STRUCTS
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.objects import Object
from resourceapi.releases import Profile, split_api_version
from resourceapi.request_body import scheme_in
from resourceapi.schema import Schema, Struct, Type

# The order in which the keys of an object are sent.


def with_sorted_keys(value: dict[str, Any]) -> dict[str, Any]:
    """The object as kubectl sends it: the keys of every mapping sorted, each once.

    Where the server names only one of several fields that it cannot read, the order of the keys decides which.
    """
    result = _sorted(value)
    pending: list[Any] = [result]
    while pending:  # an object of a cluster may be thousands of levels deep
        container = pending.pop()
        for key, member in container.items() if isinstance(container, dict) else enumerate(container):
            if isinstance(member, dict):
                container[key] = _sorted(member)
            elif isinstance(member, list):
                container[key] = list(member)
            else:
                continue
            pending.append(container[key])
    return result


def _sorted(mapping: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(mapping.items(), key=itemgetter(0)))


_LIST = "List"
_KUBECONFIG = ("v1", "Config")
_KUSTOMIZE_PLUGIN = "builtin"  # the apiVersion of its transformers and generators
_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
# What a CRD can have for its group and version.
_CUSTOM = rf"{_LABEL}(?:\.{_LABEL})+/(?=[a-z]){_LABEL}"
NOT_FOUND = "the server could not find the requested resource"


def _is_custom(api_version: str) -> bool:
    return re.fullmatch(_CUSTOM, api_version, re.ASCII) is not None


def is_typed(value: Object) -> bool:
    """Whether a document says what it is, rightly or not."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    return bool(api_version and kind and isinstance(api_version, str) and isinstance(kind, str))


def is_manifest(value: Object) -> bool:
    """Whether a document was meant for Kubernetes, or looks like it: other tools write ``apiVersion`` and ``kind``, too."""
    if not is_typed(value) or (value["apiVersion"], value["kind"]) == _KUBECONFIG:
        return False
    if value["apiVersion"] == _KUSTOMIZE_PLUGIN:
        return False
    api_version = value["apiVersion"].strip().lower()
    return split_api_version(api_version)[0] in GROUPS or _is_custom(api_version)


def is_of_kubernetes(value: Object) -> bool:
    """Whether a document has a group of Kubernetes itself, or a group or version that no CRD can have."""
    api_version = str(value["apiVersion"])
    return split_api_version(api_version)[0] in GROUPS or not _is_custom(api_version)


def is_known(value: Object, profile: Profile) -> bool:
    """Whether a server has the kind of a typed document; of other groups than Kubernetes' own, everything is taken to be there."""
    api_version, kind = str(value["apiVersion"]), str(value["kind"])
    if not is_of_kubernetes(value):
        return True
    return is_served(api_version, kind, profile)


def is_preview(value: Object) -> bool:
    """Whether a document is in an alpha or beta version, which a cluster may serve or not."""
    return not releases.is_served(split_api_version(str(value["apiVersion"]))[1], "", {})


def refusal(value: Object, profile: Profile) -> tuple[str, Path]:
    """What kubectl says of a document of which it does not know what it is, and the field that this is about."""
    problems = {key: _problem(key, value.get(key)) for key in ("apiVersion", "kind")}
    found = [problem for problem in problems.values() if problem]
    if found:
        field = next(key for key, problem in problems.items() if problem)
        return (found[0] if len(found) == 1 else f"[{', '.join(found)}]"), (field,)
    api_version, kind = str(value["apiVersion"]), str(value["kind"])
    if not kind:
        return f"Object 'Kind' is missing in '{json_text(with_sorted_keys(value))}'", ("kind",)
    if api_version in ("", "/"):
        return NOT_FOUND, ("apiVersion",)
    if meant := _spelt_otherwise(api_version, kind, profile):
        body = f"{kind} in version {quote(split_api_version(api_version)[1])}"
        known = f"no kind {quote(kind)} is registered for version {quote(api_version)} in scheme {quote(scheme_in(profile.minor))}"
        return f"{body} cannot be handled as a {meant}: {known}", ("kind",)
    return f'no matches for kind "{kind}" in version "{api_version}"', ("apiVersion",)


def _problem(key: str, value: object) -> str:
    if value is None:
        return f"{key} not set"
    if not isinstance(value, str):
        return f"{key} isn't string type"
    return f"unexpected GroupVersion string: {value}" if key == "apiVersion" and value.count("/") > 1 else ""


def _spelt_otherwise(api_version: str, kind: str, profile: Profile) -> str:
    group, version = split_api_version(api_version)
    if group not in (GROUP, OWN_GROUP):
        return spelt_otherwise(api_version, kind, profile)
    rows = kinds_of(profile).values()
    served = [row.name for row in rows if version in row.versions and row.served_by(version, profile, group)]
    return next((name for name in served if name.lower() == kind), "")


def is_list(value: Object, profile: Profile) -> bool:
    """Whether kubectl takes a document for a list: for that it looks at ``items`` alone, but it has to know the kind."""
    if not is_typed(value):
        return False
    api_version, kind = str(value["apiVersion"]), str(value["kind"])
    listed = kind.removesuffix(_LIST)
    if listed == kind and "items" not in value:
        return False
    if not is_of_kubernetes(value):
        return listed != kind
    if split_api_version(api_version)[0] == GROUP:  # whether it has the version is a question about each item
        return listed in ("", *kinds_of(profile)) or listed != kind
    if not listed:
        return has_version(api_version, profile)
    return is_served(api_version, listed, profile)


# What kubectl looks at before it sends anything: the metadata of every object, and lists, which no server
# checks for it.
# The items of a ``kind: List``, and a typed list such as ``ResourceClaimList`` as a whole, are compared
# with the schemas that the server publishes. So a null among labels, or a number that is missing, is
# refused there, while the server takes both by itself.

_ROOT = "metadataOnlyObject"
_OF_LISTS = frozenset(("apiVersion", "items", "kind", "metadata"))
_OF_THEIR_METADATA = frozenset(("continue", "remainingItemCount", "resourceVersion", "selfLink", "shardInfo"))
_NUMBERS = frozenset(("int32", "int64", "quantity"))

#: What kubectl says, and the field that it is about.
Problem = tuple[Path, str]


def metadata_problem(value: Object) -> Problem | None:
    """Why kubectl cannot read the metadata of an object of any kind, if it cannot."""
    try:
        decode(_metadata_alone(), _ROOT, with_sorted_keys({"metadata": value.get("metadata")}))
    except DecodingError as error:
        return error.path, error.text
    return None


def list_problems(value: Object) -> Iterator[Problem]:
    """What kubectl refuses in a list itself, a hundred problems at most."""
    return islice(_in_list(value), MAX_PROBLEMS)


def _in_list(value: Object) -> Iterator[Problem]:
    if problem := metadata_problem(value):
        yield problem
    kind, (group, version) = value["kind"], split_api_version(value["apiVersion"])
    if kind == _LIST or not kind.endswith(_LIST) or group not in GROUPS:
        return
    model = f"io.k8s.api.{group.split('.')[0] or 'core'}.{version}.{kind}"
    yield from _unknown_fields(value, _OF_LISTS, (), kind, model)
    if isinstance(metadata := value.get("metadata"), dict):
        of_metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
        yield from _unknown_fields(
            metadata, _OF_THEIR_METADATA, ("metadata",), f"{kind}.metadata", of_metadata
        )


def _unknown_fields(
    value: Object, known: frozenset[str], path: Path, name: str, model: str
) -> Iterator[Problem]:
    for key in sorted(value):
        if key not in known and value[key] is not None:
            yield (*path, key), f'ValidationError({name}): unknown field "{key}" in {model}'


def item_problems(value: Object, name: str, profile: Profile) -> Iterator[Problem]:
    """What kubectl refuses in an item of a list, a hundred problems at most, besides what the server refuses itself.

    :param name: what kubectl calls the item.
    """
    return islice(_in_item(value, name, profile), MAX_PROBLEMS)


def _in_item(value: Object, name: str, profile: Profile) -> Iterator[Problem]:
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return
    group, version = split_api_version(api_version)
    if kind_of(api_version, kind) is not None and version in profile.schemas:
        walk = _Walk(profile.schemas[version], f"io.k8s.api.resource.{version}" if group == GROUP else "")
        yield from walk.struct(kind, value, (), name)
    elif (schema := workloads.schema_of(group, version, kind, profile.minor)) is not None:
        yield from _Walk(schema, "").struct(kind, value, (), name)
    else:
        yield from _Walk(_metadata_alone(), "").struct(_ROOT, value, (), name)


class _Walk:
    """Compares values with a schema.

    :param model: where the schema's structs are published; empty if missing numbers are left to the server.
    """

    def __init__(self, schema: Schema, model: str) -> None:
        self._schema = schema
        self._model = model

    def struct(self, struct: str, value: Object, path: Path, name: str) -> Iterator[Problem]:
        fields = fields_of(self._schema, struct)
        for key in sorted(value):
            if key in fields:
                yield from self._value(fields[key].type, value[key], (*path, key), f"{name}.{key}")
        for key in sorted(fields) if self._model else ():
            field = fields[key]
            is_number = field.type.kind in _NUMBERS and not field.pointer and not field.omitempty
            if is_number and value.get(key) is None:
                yield (
                    path,
                    f'ValidationError({name}): missing required field "{key}" in {self._model}.{struct}',
                )

    def _value(self, type: Type, value: object, path: Path, name: str) -> Iterator[Problem]:
        if type.kind == "struct" and isinstance(value, dict):
            yield from self.struct(type.struct, value, path, name)
        elif type.kind in ("map", "raw") and isinstance(value, dict):
            for key in sorted(value):
                if value[key] is None:
                    yield (*path, key), f'unknown object type "nil" in {name}.{key}'
                elif type.element is not None:
                    yield from self._value(type.element, value[key], (*path, key), f"{name}.{key}")
        elif type.kind == "list" and isinstance(value, list) and type.element is not None:
            for index, entry in enumerate(value):
                if entry is None:
                    yield (
                        (*path, index),
                        f'ValidationError({name}): unknown object type "nil" in {name}[{index}]',
                    )
                else:
                    yield from self._value(type.element, entry, (*path, index), f"{name}[{index}]")


@cache
def _metadata_alone() -> Schema:
    return Schema("v1", (Struct(_ROOT, METADATA), *STRUCTS), names_embedded=False)


# The kinds of Kubernetes itself, beside those of ``resource.k8s.io``: which release has which, and in
# which version.
# Facts of ``k8s.io/api``, from v0.30 to v0.37 (types with a client, and their life cycles), and of the
# servers' discovery. Any other group is somebody's own: what its kinds are, only a cluster knows.

# A kind is in all releases, or ``KIND:FIRST-LAST`` (1.FIRST to 1.LAST; either may be left out).
_KINDS = {
    "": {
        "v1": "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod "
        "PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"
    },
    "admissionregistration.k8s.io": {
        "v1": "MutatingAdmissionPolicy:36- MutatingAdmissionPolicyBinding:36- MutatingWebhookConfiguration ValidatingAdmissionPolicy "
        "ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration",
        "v1beta1": "MutatingAdmissionPolicy:34- MutatingAdmissionPolicyBinding:34- ValidatingAdmissionPolicy:-33 "
        "ValidatingAdmissionPolicyBinding:-33",
        "v1alpha1": "MutatingAdmissionPolicy:32- MutatingAdmissionPolicyBinding:32- ValidatingAdmissionPolicy:-31 "
        "ValidatingAdmissionPolicyBinding:-31",
    },
    "apiextensions.k8s.io": {"v1": "CustomResourceDefinition"},
    "apiregistration.k8s.io": {"v1": "APIService"},
    "apps": {"v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"},
    "authentication.k8s.io": {
        "v1": "SelfSubjectReview TokenReview",
        "v1beta1": "SelfSubjectReview:-32",
        "v1alpha1": "SelfSubjectReview:-31",
    },
    "authorization.k8s.io": {
        "v1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
    },
    "autoscaling": {"v2": "HorizontalPodAutoscaler", "v1": "HorizontalPodAutoscaler"},
    "batch": {"v1": "CronJob Job"},
    "certificates.k8s.io": {
        "v1": "CertificateSigningRequest ClusterTrustBundle:37- PodCertificateRequest:37-",
        "v1beta1": "ClusterTrustBundle:33- PodCertificateRequest:35-",
        "v1alpha1": "ClusterTrustBundle:-36 PodCertificateRequest:34-34",
    },
    "coordination.k8s.io": {
        "v1": "Lease",
        "v1beta1": "LeaseCandidate:33-",
        "v1alpha2": "LeaseCandidate:32-",
        "v1alpha1": "LeaseCandidate:31-31",
    },
    "discovery.k8s.io": {"v1": "EndpointSlice"},
    "events.k8s.io": {"v1": "Event"},
    "extensions": {},  # until 1.21, with the first Deployments and Ingresses
    "flowcontrol.apiserver.k8s.io": {
        "v1": "FlowSchema PriorityLevelConfiguration",
        "v1beta3": "FlowSchema:-31 PriorityLevelConfiguration:-31",
    },
    "internal.apiserver.k8s.io": {"v1alpha1": "StorageVersion"},
    "lifecycle.k8s.io": {"v1alpha1": "Eviction:37- EvictionRequest:37-"},
    "networking.k8s.io": {
        "v1": "IPAddress:33- Ingress IngressClass NetworkPolicy ServiceCIDR:33-",
        "v1beta1": "IPAddress:31-36 ServiceCIDR:31-36",
        "v1alpha1": "IPAddress:-31 ServiceCIDR:-31",
    },
    "node.k8s.io": {"v1": "RuntimeClass"},
    "policy": {"v1": "PodDisruptionBudget"},
    "rbac.authorization.k8s.io": {"v1": "ClusterRole ClusterRoleBinding Role RoleBinding"},
    "scheduling.k8s.io": {
        "v1": "PriorityClass",
        "v1beta1": "PodGroup:37- Workload:37-",
        "v1alpha3": "CompositePodGroup:37- PodGroup:37- Workload:37-",
        "v1alpha2": "PodGroup:36-36 Workload:36-36",
        "v1alpha1": "Workload:35-35",
    },
    "storage.k8s.io": {
        "v1": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass:34-",
        "v1beta1": "VolumeAttributesClass:31-36",
        "v1alpha1": "VolumeAttributesClass:-34",
    },
    "storagemigration.k8s.io": {
        "v1": "StorageVersionMigration:37-",
        "v1beta1": "StorageVersionMigration:35-",
        "v1alpha1": "StorageVersionMigration:-34",
    },
}
GROUPS = frozenset((*_KINDS, GROUP))
# Before 1.24 a new beta version was served by default.
_SERVED_BY_DEFAULT = frozenset((("flowcontrol.apiserver.k8s.io", "v1beta3"),))


def is_served(api_version: str, kind: str, profile: Profile) -> bool:
    """Whether a server has a kind of one of these groups, by its very name."""
    return kind in _served(*split_api_version(api_version), profile.minor) and _version_is_served(
        *split_api_version(api_version), profile
    )


def has_version(api_version: str, profile: Profile) -> bool:
    """Whether a server has any kind in a version of one of these groups."""
    group, version = split_api_version(api_version)
    return bool(_served(group, version, profile.minor)) and _version_is_served(group, version, profile)


def spelt_otherwise(api_version: str, kind: str, profile: Profile) -> str:
    """The kind that kubectl takes a name in lower case for; "" if there is none."""
    kinds = _served(*split_api_version(api_version), profile.minor)
    return next((known for known in kinds if known.lower() == kind), "")


def api_versions_of(kind: str, profile: Profile) -> list[str]:
    """The API versions in which a server has a kind, the best first."""
    return [
        f"{group}/{version}" if group else version
        for group, versions in _KINDS.items()
        for version in versions
        if kind in _served(group, version, profile.minor) and _version_is_served(group, version, profile)
    ]


def kinds_of_any_group(profile: Profile) -> list[str]:
    """Every kind that a server has in these groups."""
    return sorted(
        {
            kind
            for group, versions in _KINDS.items()
            for version in versions
            for kind in _served(group, version, profile.minor)
        }
    )


def kinds_by_version(minor: int) -> dict[str, frozenset[str]]:
    """By API version the kinds that release 1.``minor`` has in these groups."""
    return {
        f"{group}/{version}" if group else version: kinds
        for group, versions in _KINDS.items()
        for version in versions
        if (kinds := _served(group, version, minor))
    }


def _version_is_served(group: str, version: str, profile: Profile) -> bool:
    by_default = (group, version) in _SERVED_BY_DEFAULT
    return by_default or releases.is_served(version, "", profile.apis, group=group)


@cache
def _served(group: str, version: str, minor: int) -> frozenset[str]:
    found = set()
    for entry in _KINDS.get(group, {}).get(version, "").split():
        kind, _, releases = entry.partition(":")
        first, _, last = releases.partition("-")
        if int(first or 0) <= minor <= int(last or minor):
            found.add(kind)
    return frozenset(found)
