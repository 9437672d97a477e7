"""Whether the quotas of a namespace leave room for a new object, and what is used of them then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quota import amounts
from quota.evaluators import Evaluator
from quota.resource_quotas import ResourceQuota
from resourceapi.amounts import Amounts, added
from resourceapi.objects import Object
from resourceapi.quantity import ZERO, Quantity


class Shortage(NamedTuple):
    """A limit of a quota that an object would exceed: it asks for more of ``resource`` than is left."""

    quota: str
    resource: str
    requested: Quantity
    used: Quantity
    limit: Quantity

    @property
    def missing(self) -> Quantity:
        """The amount by which the object exceeds the limit."""
        return self.used.add(self.requested).sub(self.limit)


class Verdict(NamedTuple):
    """The outcome for a new object.

    ``quotas``: with the object charged, or as they were if it is refused.  ``message``: the server's reason for a
    refusal, or empty.  ``shortages``: the limits that the object would exceed.
    """

    quotas: tuple[ResourceQuota, ...]
    message: str = ""
    shortages: tuple[Shortage, ...] = ()


def admit(quotas: Sequence[ResourceQuota], evaluator: Evaluator, obj: Object, copies: int = 1) -> Verdict:
    """Charge a new object to every quota that concerns it; the first one that it does not fit into refuses it.

    Only limits of what the object uses can be exceeded, even if others are already.

    :param quotas: of the object's namespace, with what is used of them.
    :param obj: in v1 with its defaults.
    :param copies: charge as many objects like this one, all or none.
    """
    concerned = [concerns(quota, evaluator, obj) for quota in quotas]
    for quota, is_concerned in zip(quotas, concerned, strict=True):
        reason = evaluator.missing(obj, evaluator.matching(quota.hard)) if is_concerned else ""
        if reason:
            return Verdict(tuple(quotas), f"failed quota: {quota.name}: {reason}")
    usage = amounts.times(amounts.without_zeros(evaluator.usage(obj)), copies) if any(concerned) else {}
    charged: list[ResourceQuota] = []
    for quota, is_concerned in zip(quotas, concerned, strict=True):
        requested = amounts.only(usage, quota.hard) if is_concerned else {}
        used = added(quota.used, requested)
        exceeded = amounts.exceeding(amounts.only(used, requested), quota.hard)
        if exceeded:
            message, shortages = _message(quota, requested, exceeded), _shortages(quota, requested, exceeded)
            return Verdict(tuple(quotas), message, shortages)
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
    return tuple(
        Shortage(quota.name, name, requested[name], quota.used.get(name, ZERO), quota.hard[name])
        for name in exceeded
    )
