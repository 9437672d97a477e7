"""What a pod waits for, and what would help, in words for two kinds of readers: those of the whole cluster, and tenants.

Tenants read events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Words(NamedTuple):
    """Completes the sentence "it would fit …" or "it waits for …".

    :param text: for those who may read everything in the cluster.
    :param for_tenants: for those who may read only what is in the pod's own namespace: no names of what is in others, and no
        values, taints or labels of devices and nodes. They are told nothing of it if this is empty.
    """

    text: str
    for_tenants: str = ""

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return bool(self.text)


NOTHING = Words("")


def for_all(text: str) -> Words:
    """Words that tenants may read as well: they are about the pod and its claims only, or are names that tenants may know."""
    return Words(text, text)


def joined(parts: Sequence[Words], joint: str) -> Words:
    """Several together; tenants are told of them only if they may read each."""
    for_tenants = [each.for_tenants for each in parts]
    return Words(joint.join(each.text for each in parts), joint.join(for_tenants) if all(for_tenants) else "")
