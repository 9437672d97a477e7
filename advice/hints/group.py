"""Which objects were meant for ``resource.k8s.io``, and in which version the release takes them."""

from __future__ import annotations

from advice.hints.hint import Problem
from resourceapi.kinds import KINDS, kinds_of
from resourceapi.model.versions import GROUP, MISTAKEN_GROUP
from resourceapi.phrases import nearest
from resourceapi.releases import Profile

#: The kinds of former versions, with the last release (1.x) that served each: facts of ``k8s.io/api``, from v0.26 to v0.33.
LAST_SERVED = {
    "v1alpha1": {"ResourceClass": 26, "ResourceClaim": 26, "ResourceClaimTemplate": 26, "PodScheduling": 26},
    "v1alpha2": {
        "ResourceClass": 30,
        "ResourceClaim": 30,
        "ResourceClaimTemplate": 30,
        "ResourceSlice": 30,
        "ResourceClassParameters": 30,
        "ResourceClaimParameters": 30,
        "PodSchedulingContext": 30,
    },
    "v1alpha3": {
        "DeviceClass": 33,
        "ResourceClaim": 33,
        "ResourceClaimTemplate": 33,
        "ResourceSlice": 33,
        "PodSchedulingContext": 31,
    },
}
#: Kinds that no version has any more.
FORMER_KINDS = frozenset(kind for kinds in LAST_SERVED.values() for kind in kinds if kind not in KINDS)
KINDS_OF_THE_GROUP = frozenset((*KINDS, *FORMER_KINDS))
OTHER_GROUPS = (MISTAKEN_GROUP, "", "apps", "k8s.io", "resources.k8s.io", "resource.kubernetes.io")


def is_of_the_group(api_version: str, kind: str) -> bool:
    """Whether an object that nothing knows was meant for DRA: its group, or its kind in a group of Kubernetes or its projects."""
    group = api_version.rpartition("/")[0]
    if group == GROUP:
        return True
    if kind not in KINDS_OF_THE_GROUP:
        return False
    return group in OTHER_GROUPS or group.endswith(".k8s.io") or bool(nearest(group, (GROUP,)))


def newest_served(kind: str, profile: Profile) -> str:
    """The newest version of a kind that the release serves, or nothing."""
    row = kinds_of(profile).get(kind)
    return "" if row is None else row.newest_served_by(profile)


def or_use_newer(problem: Problem) -> str:
    """The other way out of what v1beta1 has elsewhere: a newer version, if the release serves one."""
    now = newest_served(problem.kind, problem.profile)
    return f", or use apiVersion {GROUP}/{now}" if now not in ("", problem.version) else ""
