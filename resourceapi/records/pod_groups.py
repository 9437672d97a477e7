"""PodGroups (KEP-4671): how many of their pods are scheduled together or not at all, and which claims these share (KEP-5729)."""

from __future__ import annotations

from typing import NamedTuple

from resourceapi.manifests import group_of, mapping, name_of, text, uid_of
from resourceapi.objects import Object
from resourceapi.records.claims import Consumer
from resourceapi.records.pods import PodClaim, claims_of

KIND, RESOURCE = "PodGroup", "podgroups"
GROUP = "scheduling.k8s.io"
#: The versions that some release has, the newest first; they differ in nothing that is read here.
VERSIONS = ("v1beta1", "v1alpha3", "v1alpha2")
#: The gate with which pods can belong to a group, and that with which groups have claims.
GATE, CLAIMS_GATE = "GenericWorkload", "DRAWorkloadResourceClaims"


class PodGroup(NamedTuple):
    """A PodGroup.

    :param min_count: so many pods have to fit, or none is bound; 1 with the policy `basic`.
    :param claims: what its pods share: a pod's entry that is the same means the claim of the group.
    """

    namespace: str
    name: str
    uid: str
    min_count: int
    claims: tuple[PodClaim, ...]

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        """``PodGroup default/train``."""
        return f"{KIND} {self.key}"

    @property
    def consumer(self) -> Consumer:
        """For whom kube-scheduler reserves the claims that its pods share."""
        return Consumer(GROUP, RESOURCE, self.name, self.uid)

    def shared(self, entry: PodClaim) -> PodClaim | None:
        """The entry of the group that a pod's entry repeats: with the same name, and the same claim or template."""
        return next((each for each in self.claims if each.source == entry.source), None)


def is_pod_group(value: Object) -> bool:
    """Whether an object is a PodGroup, of any version."""
    return value.get("kind") == KIND and group_of(value) == GROUP


def read_pod_group(group: Object) -> PodGroup:
    """A PodGroup of any version, also with mistakes."""
    min_count = mapping(group, "spec", "schedulingPolicy", "gang").get("minCount")
    return PodGroup(
        namespace=text(mapping(group, "metadata"), "namespace"),
        name=name_of(group),
        uid=uid_of(group),
        min_count=min_count if isinstance(min_count, int) else 1,
        claims=tuple(claims_of(group)),
    )
