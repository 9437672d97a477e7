"""Whether the quotas of a namespace leave room for a new object, and what is used of them then."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quota import amounts
from quota.evaluators import Evaluator
from quota.resource_quotas import ResourceQuota
from resourceapi.objects import Object
from resourceapi.quantity import ZERO, Amounts, Quantity, added


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
    reasons: dict[frozenset[str], str] = {}
    for quota in quotas:
        required = frozenset(name for name in evaluator.mandatory if name in quota.hard)
        if not required or not _is_in_scopes(quota, evaluator, obj):
            continue
        if required not in reasons:
            reasons[required] = evaluator.missing(obj, required)
        if reasons[required]:
            return Verdict(tuple(quotas), f"failed quota: {quota.name}: {reasons[required]}")
    usage = amounts.times(amounts.without_zeros(evaluator.usage(obj)), copies) if quotas else {}
    return charge(quotas, evaluator, obj, usage)


def charge(quotas: Sequence[ResourceQuota], evaluator: Evaluator, obj: Object, usage: Amounts) -> Verdict:
    """Charge what an object uses to every quota that concerns it, or what several objects use that are in the same scopes.

    :param obj: one of them.
    :param usage: that of all of them, without zeros.
    """
    charged: list[ResourceQuota] = []
    for quota in quotas:
        requested = amounts.only(usage, quota.hard)
        if not requested or not _concerns(quota, evaluator, obj, requested):
            charged.append(quota)
            continue
        used = added(quota.used, requested)
        exceeded = amounts.exceeding({name: used[name] for name in requested}, quota.hard)
        if exceeded:
            message, shortages = _message(quota, requested, exceeded), _shortages(quota, requested, exceeded)
            return Verdict(tuple(quotas), message, shortages)
        charged.append(quota._replace(used=used))
    return Verdict(tuple(charged))


def _concerns(quota: ResourceQuota, evaluator: Evaluator, obj: Object, requested: Amounts) -> bool:
    """Whether a quota limits anything of such objects, and the object is in its scopes.

    :param requested: what it limits of the object; looked at first, as a quota may limit thousands of other names.
    """
    limits = evaluator.matching(requested) or evaluator.matching(quota.hard)
    return bool(limits) and _is_in_scopes(quota, evaluator, obj)


def _is_in_scopes(quota: ResourceQuota, evaluator: Evaluator, obj: Object) -> bool:
    return all(evaluator.in_scope(obj, selector) for selector in quota.scopes)


def _message(quota: ResourceQuota, requested: Amounts, exceeded: Sequence[str]) -> str:
    shown = tuple(
        amounts.listed({name: part[name] for name in exceeded if name in part})
        for part in (requested, quota.used, quota.hard)
    )
    return "exceeded quota: {}, requested: {}, used: {}, limited: {}".format(quota.name, *shown)


def _shortages(quota: ResourceQuota, requested: Amounts, exceeded: Iterable[str]) -> tuple[Shortage, ...]:
    return tuple(
        Shortage(quota.name, name, requested[name], quota.used.get(name, ZERO), quota.hard[name])
        for name in exceeded
    )
