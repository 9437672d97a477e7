"""Who holds allocated devices: the pods that use a claim, or what else it is reserved for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from resourceapi.counting import number
from resourceapi.manifests import full_name
from resourceapi.records.claims import Claim

#: Holders, pods or claims that are named in one list, and those that would have to end together.
MAX_NAMED, MAX_ENDED = 3, 8


class Holder(NamedTuple):
    """An allocated claim with what uses it.

    :param claim: its `namespace/name`.
    :param pods: the pods it is reserved for, or else the one that it has been created for; `namespace/name`.
    :param others: what else it is reserved for: `podgroups train`.
    """

    claim: str
    pods: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

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
        users = [f"pod{'s' if len(self.pods) > 1 else ''} {_some(self.pods)}"] if self.pods else []
        return ", ".join((*users, *self.others))


def holder(claim: Claim) -> Holder:
    """Who holds the devices of an allocated claim."""
    pods, others = [], []
    for group, kind, name, _ in claim.consumers:
        if kind == "pods" and not group:
            pods.append(full_name(claim.namespace, name))
        else:
            others.append(f"{kind} {name}")
    if not pods and not others:
        pods = [full_name(claim.namespace, owner.name) for owner in claim.owners if owner.kind == "Pod"]
    return Holder(claim.key, tuple(pods), tuple(others))


def held_by(claims: Sequence[str], holders: Mapping[str, Holder]) -> str:
    """`pod a/x (claim x-gpu)`, `4 pods: a/w, a/x, a/y and 1 other`."""
    found = [holders[claim] for claim in claims]
    if len(found) > 1 and all(len(each.pods) == 1 and not each.others for each in found):
        pods = list(dict.fromkeys(each.pods[0] for each in found))
        if len(pods) > 1:
            return f"{number(len(pods), 'pod')}: {_some(pods)}"
    unused = [each.claim for each in found if not each.pods and not each.others]
    if len(found) > 1 and len(unused) == len(found):
        return f"claims {_some(unused)} (used by no pod)"
    texts = [each.text for each in found[:MAX_NAMED]]
    return ", ".join(texts) + _more(len(found))


def released(holders: Sequence[Holder]) -> str:
    """What would have to happen for the devices of claims to be free: `pod a/x ended, which uses claim x-gpu`."""
    used = [each for each in holders if each.pods or each.others]
    unused = [each.claim for each in holders if not each.pods and not each.others]
    pods = list(dict.fromkeys(pod for each in used for pod in each.pods))
    users = [f"pod{'s' if len(pods) > 1 else ''} {_some(pods, MAX_ENDED)}"] if pods else []
    users += dict.fromkeys(other for each in used for other in each.others)
    parts = []
    if users:
        claims = [each.claim for each in used]
        which = f"claim {claims[0].rpartition('/')[2]}" if len(claims) == 1 else number(len(claims), "claim")
        parts.append(f"{' and '.join(users)} ended, which {'uses' if len(pods) == 1 else 'use'} {which}")
    if unused:
        noun = "claims" if len(unused) > 1 else "claim"
        parts.append(f"{noun} {_some(unused, MAX_ENDED)} were deleted, which no pod uses")
    return ", and if ".join(parts)


def _some(names: Sequence[str], most: int = MAX_NAMED) -> str:
    return ", ".join(names[:most]) + _more(len(names), most)


def _more(count: int, most: int = MAX_NAMED) -> str:
    return f" and {number(count - most, 'other')}" if count > most else ""
