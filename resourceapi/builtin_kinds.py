"""The kinds of Kubernetes itself, beside those of ``resource.k8s.io``: which release has which, and in which version.

Facts of ``k8s.io/api``, from v0.30 to v0.37 (types with a client, and their life cycles), and of the servers' discovery. Any other
group is somebody's own: what its kinds are, only a cluster knows.
"""

from __future__ import annotations

from functools import cache

from resourceapi import releases
from resourceapi.model.versions import GROUP
from resourceapi.releases import Profile, split_api_version

# A kind is in all releases, or ``KIND:FIRST-LAST`` (1.FIRST to 1.LAST; either may be left out).
_KINDS = {
    "": {
        "v1": "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod "
        "PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
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
        "v1": "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
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
