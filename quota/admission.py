"""Whether the quotas of a namespace leave room for a new object, and what is used of them then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from quota import amounts
from quota.amounts import Amounts
from quota.evaluators import Evaluator
from quota.resourcequotas import ResourceQuota

Object = dict[str, Any]


class Shortage(NamedTuple):
    """One limit of a quota that an object would exceed: ``requested`` more than are left of ``limit``."""

    quota: str
    resource: str
    requested: int
    used: int
    limit: int

    @property
    def missing(self) -> int:
        return self.used + self.requested - self.limit


class Verdict(NamedTuple):
    """``quotas``: with the object charged, or as they were if it is refused.

    ``message``: the server's reason for a refusal, or empty.  ``shortages``: the limits that it would exceed.
    """

    quotas: tuple[ResourceQuota, ...]
    message: str = ""
    shortages: tuple[Shortage, ...] = ()


def admit(quotas: Sequence[ResourceQuota], evaluator: Evaluator, obj: Object) -> Verdict:
    """Charge a new object to every quota that concerns it; the first one that it does not fit into refuses it.

    Only limits of what the object uses can be exceeded, even if others are already.
    """
    concerned = [quota for quota in quotas if concerns(quota, evaluator, obj)]
    for quota in concerned:
        reason = evaluator.missing(obj, evaluator.matching(quota.hard))
        if reason:
            return Verdict(tuple(quotas), f"failed quota: {quota.name}: {reason}")
    usage = amounts.without_zeros(evaluator.usage(obj)) if concerned else {}
    charged: list[ResourceQuota] = []
    for quota in quotas:
        if quota not in concerned:
            charged.append(quota)
            continue
        requested = amounts.only(usage, quota.hard)
        used = amounts.added(quota.used, requested)
        exceeded = amounts.exceeding(amounts.only(used, requested), quota.hard)
        if exceeded:
            return Verdict(
                tuple(quotas), _message(quota, requested, exceeded), _shortages(quota, requested, exceeded)
            )
        charged.append(quota._replace(used=used))
    return Verdict(tuple(charged))


def concerns(quota: ResourceQuota, evaluator: Evaluator, obj: Object) -> bool:
    """Whether a quota limits anything of such objects, and the object is in its scopes."""
    in_scopes = all(evaluator.in_scope(obj, selector) for selector in quota.scopes)
    return in_scopes and bool(evaluator.matching(quota.hard))


def _message(quota: ResourceQuota, requested: Amounts, exceeded: Iterable[str]) -> str:
    shown = tuple(
        amounts.listed(amounts.only(part, set(exceeded))) for part in (requested, quota.used, quota.hard)
    )
    return "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(quota.name, *shown)


def _shortages(quota: ResourceQuota, requested: Amounts, exceeded: Iterable[str]) -> tuple[Shortage, ...]:
    parts = (requested, quota.used, quota.hard)
    return tuple(
        Shortage(quota.name, name, *(part[name].value() if name in part else 0 for part in parts))
        for name in exceeded
    )
