"""Which objects were meant for ``resource.k8s.io``, and in which version the release takes them."""

from __future__ import annotations

from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP
from resourceapi.nearness import nearest
from resourceapi.releases import Profile

#: Kinds that no version has any more.
FORMER_KINDS = frozenset(
    (
        "ResourceClass",
        "PodScheduling",
        "PodSchedulingContext",
        "ResourceClassParameters",
        "ResourceClaimParameters",
    )
)
KINDS_OF_THE_GROUP = frozenset((*KINDS, *FORMER_KINDS))
OTHER_GROUPS = ("core.k8s.io", "", "apps", "k8s.io", "resources.k8s.io", "resource.kubernetes.io")


def is_of_the_group(api_version: str, kind: str) -> bool:
    """Whether an object that nothing knows was meant for DRA: its group, or its kind in a group of Kubernetes itself."""
    group = api_version.rpartition("/")[0]
    if group == GROUP:
        return True
    if kind not in KINDS_OF_THE_GROUP:
        return False
    return group in OTHER_GROUPS or bool(nearest(group, (GROUP,)))


def newest_served(kind: str, profile: Profile) -> str:
    """The newest version of a kind that the release serves, or nothing."""
    return KINDS[kind].newest_served_by(profile) if kind in KINDS else ""
