"""Who holds allocated devices: the pods that use a claim, or what else it is reserved for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from resourceapi.manifests import full_name
from resourceapi.phrases import and_others, number, some
from resourceapi.records import pod_groups
from resourceapi.records.claims import Claim

OwnerOf = Callable[[str], tuple[str, str, int] | None]
STATEFUL_SET, DAEMON_SET = "StatefulSet", "DaemonSet"
#: Owners that can be told which pod to end first when they are scaled down.
_CHOOSING = ("Deployment", "ReplicaSet", "ReplicationController")
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
#: Holders that are named in one list, and pods or claims that would have to end together.
MAX_NAMED, MAX_ENDED = 3, 8


class Owner(NamedTuple):
    """What has made pods, and makes others for those that have ended.

    :param placed: how many of its pods are on nodes; 0 if that is not known. It gives up those that wait first.
    """

    kind: str
    name: str
    placed: int
    namespace: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"

    def ends_with(self, pod: str, other: str) -> bool:
        """Whether one of its pods has to end so that another does: it gives up pods in an order, or all of them."""
        if self.kind in _CHOOSING:
            return False
        if self.kind == STATEFUL_SET:
            return _ordinal(other) > _ordinal(pod)
        return self.kind != DAEMON_SET


class Holder(NamedTuple):
    """An allocated claim with what uses it.

    :param claim: its `namespace/name`.
    :param pods: the pods it is reserved for, or else the one that it has been created for; `namespace/name`.
    :param others: what else it is reserved for: `PodGroup a/train`.
    :param owners: what replaces each of the pods once it has ended; None for a pod that nothing replaces.
    """

    claim: str
    pods: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    owners: tuple[Owner | None, ...] = ()

    @property
    def owned(self) -> Iterator[tuple[Owner, str]]:
        """The owners with their pods, of the pods that have one."""
        for owner, pod in zip(self.owners, self.pods, strict=False):
            if owner is not None:
                yield owner, pod

    @property
    def text(self) -> str:
        """`pod a/train (claim train-gpu)`, `claim a/shared (pods a/x, a/y and 3 others)`."""
        if len(self.pods) == 1 and not self.others:
            return f"pod {self.pods[0]} (claim {self.claim.rpartition('/')[2]})"
        return f"claim {self.claim} ({self._users() or 'used by no pod'})"

    @property
    def used_by(self) -> str:
        """`used by pod a/train`, `used by pods a/x, a/y and 3 others`, `used by no pod`."""
        return f"used by {self._users() or 'no pod'}"

    def _users(self) -> str:
        users = [f"pod{'s' if len(self.pods) > 1 else ''} {some(self.pods)}"] if self.pods else []
        return ", ".join((*users, *([some(self.others)] if self.others else ())))


def holder(claim: Claim, owner_of: OwnerOf = lambda pod: None) -> Holder:
    """Who holds the devices of an allocated claim.

    :param owner_of: what has made a pod, by `namespace/name`: its kind and name, and how many of its pods are on nodes;
        None for a pod that nothing replaces.
    """
    pods, others = [], []
    for group, kind, name, _ in claim.consumers:
        if kind == "pods" and not group:
            pods.append(full_name(claim.namespace, name))
        elif (group, kind) == (pod_groups.GROUP, pod_groups.RESOURCE):
            others.append(f"{pod_groups.KIND} {full_name(claim.namespace, name)}")
        else:
            others.append(f"{kind} {name}")
    if not pods and not others:
        pods = [full_name(claim.namespace, owner.name) for owner in claim.owners if owner.kind == "Pod"]
        others = [
            f"{owner.kind} {full_name(claim.namespace, owner.name)}"
            for owner in claim.owners
            if owner.kind == pod_groups.KIND
        ]
    made = ((pod, owner_of(pod)) for pod in pods)
    owners = tuple(owner and Owner(*owner, pod.partition("/")[0]) for pod, owner in made)
    return Holder(claim.key, tuple(pods), tuple(others), owners)


def held_by(claims: Sequence[str], holders: Mapping[str, Holder]) -> str:
    """`pod a/x (claim x-gpu)`, `4 pods: a/w, a/x, a/y and 1 other`."""
    found = [holders[claim] for claim in claims]
    if len(found) > 1 and all(len(each.pods) == 1 and not each.others for each in found):
        pods = list(dict.fromkeys(each.pods[0] for each in found))
        if len(pods) > 1:
            return f"{number(len(pods), 'pod')}: {some(pods)}"
    unused = [each.claim for each in found if not each.pods and not each.others]
    if len(found) > 1 and len(unused) == len(found):
        return f"claims {some(unused)} (used by no pod)"
    texts = [each.text for each in found[:MAX_NAMED]]
    return ", ".join(texts) + and_others(len(found))


def ended_with(names: Collection[str], holders: Mapping[str, Holder]) -> list[str]:
    """Claims, and those that cannot but be released with them: of pods that end as soon as those of the claims do."""
    ending = [each for name in names for each in holders[name].owned]
    if not any(owner.kind not in (*_CHOOSING, DAEMON_SET) for owner, _ in ending):
        return list(names)
    more = [
        name
        for name, other in holders.items()
        if any(
            owner == its and owner.ends_with(pod, one) for owner, pod in ending for its, one in other.owned
        )
    ]
    return list(dict.fromkeys((*names, *more)))


def released(holders: Sequence[Holder], *, any_pod: bool = False) -> str:
    """What would have to happen for the devices of claims to be free: `pod a/x ended, which uses claim x-gpu`.

    Pods that have an owner are replaced, and the new ones take devices again: so it is the owner that has to do with fewer.

    :param any_pod: whether it does not matter which of its pods an owner gives up.
    """
    owned: dict[Owner, dict[str, None]] = {}
    for owner, pod in (each for one in holders for each in one.owned):
        owned.setdefault(owner, {})[pod] = None
    parts = [_scaled_down(owner, list(pods), any_pod) for owner, pods in owned.items()]
    others = [
        each._replace(pods=tuple(pod for pod in each.pods if not any(pod in pods for pods in owned.values())))
        for each in holders
    ]
    left = [
        each
        for each, whole in zip(others, holders, strict=True)
        if each.pods or each.others or not whole.pods
    ]
    return ", and if ".join((*parts, *_ended(left)))


def _scaled_down(owner: Owner, pods: Sequence[str], any_pod: bool) -> str:
    left = owner.placed - len(pods)
    scaled = f"{owner} were scaled down {f'to {left}' if left >= 0 else f'by {len(pods)}'}"
    if owner.kind in _CHOOSING:
        return scaled if any_pod else f"{scaled}, {some(pods, MAX_ENDED)} first ({_DELETION_COST})"
    if owner.kind == STATEFUL_SET:
        return scaled
    if owner.kind == DAEMON_SET:
        return f"{owner} were kept off the node{'s' if len(pods) > 1 else ''} of {some(pods, MAX_ENDED)}"
    return f"{owner} ended"


def _ordinal(pod: str) -> int:
    """The number at the end of the name of a StatefulSet's pod."""
    number = pod.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() else 0


def _ended(holders: Sequence[Holder]) -> list[str]:
    """The same for claims of pods that nothing replaces, and of none."""
    used = [each for each in holders if each.pods or each.others]
    unused = [each.claim for each in holders if not each.pods and not each.others]
    pods = list(dict.fromkeys(pod for each in used for pod in each.pods))
    users = [f"pod{'s' if len(pods) > 1 else ''} {some(pods, MAX_ENDED)}"] if pods else []
    others = list(dict.fromkeys(other for each in used for other in each.others))
    users += [some(others, MAX_ENDED)] if others else []
    parts = []
    if users:
        claims = [each.claim for each in used]
        which = f"claim {claims[0].rpartition('/')[2]}" if len(claims) == 1 else number(len(claims), "claim")
        parts.append(f"{' and '.join(users)} ended, which {'uses' if len(pods) == 1 else 'use'} {which}")
    if unused:
        noun = "claims" if len(unused) > 1 else "claim"
        parts.append(f"{noun} {some(unused, MAX_ENDED)} were deleted, which no pod uses")
    return parts
