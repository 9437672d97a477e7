"""How objects of each kind are counted: the names in a quota that concern them, and their usage."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from quota import claims, pods
from quota.names import CLAIM_COUNT, CLASS_SUFFIX, REQUESTS, ExtendedResources, object_count
from resourceapi.kinds import CLAIM, KINDS
from resourceapi.model.versions import GROUP
from resourceapi.model.workloads import RESOURCES
from resourceapi.objects import Object
from resourceapi.quantity import Amounts, Quantity
from resourceapi.records.classes import CLAIMS_CHARGED_SINCE, EXTENDED_RESOURCES_GATE
from resourceapi.releases import Profile

# What the pod of a claim has been charged for it, if the scheduler made the claim for a pod.
ChargedToPod = Callable[[Object], Amounts]
# Kinds whose number a quota may also limit under an older name.
_ALIASES = ("replicationcontrollers",)


class Evaluator(ABC):
    """How objects of one kind are counted; ``resource`` and ``group`` name the kind in messages."""

    resource: str
    group: str
    #: names of a quota that objects must specify
    mandatory: frozenset[str] = frozenset()

    @abstractmethod
    def matching(self, names: Iterable[str]) -> list[str]:
        """Those names of a quota that concern such objects; without any, the quota does not."""

    @abstractmethod
    def usage(self, obj: Object) -> Amounts:
        """What the object counts, also under names that no quota has."""

    def missing(self, obj: Object, required: Iterable[str]) -> str:
        """What the object must specify because a quota limits it, in the server's words; empty if nothing.

        :param required: those of the mandatory names that the quota limits.
        """
        return ""

    def in_scope(self, obj: Object, selector: Object) -> bool:
        """Whether the object belongs to a scope to which a quota is restricted."""
        return False


class ObjectEvaluator(Evaluator):
    """Objects that only count as such."""

    def __init__(self, resource: str, group: str) -> None:
        self.resource, self.group = resource, group
        self._names = {object_count(resource, group)}
        if resource in _ALIASES:
            self._names.add(resource)

    def matching(self, names: Iterable[str]) -> list[str]:
        """The names for the number of these objects."""
        return [name for name in names if name in self._names]

    def usage(self, obj: Object) -> Amounts:
        """One."""
        return dict.fromkeys(self._names, Quantity(1))


class ClaimEvaluator(Evaluator):
    """ResourceClaims (v1 JSON with defaults)."""

    resource, group = "resourceclaims", GROUP

    def __init__(
        self, resources: ExtendedResources | None, charged_to_pod: ChargedToPod | None = None
    ) -> None:
        """Count claims in a cluster.

        :param resources: None where extended resources are switched off.
        """
        self._resources = resources
        self._charged_to_pod = charged_to_pod

    def matching(self, names: Iterable[str]) -> list[str]:
        """The number of claims, devices of classes, and extended resources that stand for devices."""
        return [name for name in names if self._matches(name)]

    def _matches(self, name: str) -> bool:
        if name == CLAIM_COUNT or name.endswith(CLASS_SUFFIX):
            return True
        resources = self._resources
        if resources is None or not pods.is_extended_in_quota(name):
            return False
        return name.removeprefix(REQUESTS) in resources

    def usage(self, obj: Object) -> Amounts:
        """One claim, its devices by class, and as extended resources what its pod has not been charged for."""
        usage = claims.charges(obj)
        if self._resources is not None:
            in_pod = self._charged_to_pod(obj) if self._charged_to_pod else {}
            usage.update(self._resources.charges(usage, in_pod))
        return usage


class PodEvaluator(Evaluator):
    """Pods (JSON with defaults); see :mod:`quota.pods`."""

    resource, group = "pods", ""
    mandatory = pods.MANDATORY

    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def matching(self, names: Iterable[str]) -> list[str]:
        """The number of pods, and compute and extended resources."""
        return [name for name in names if pods.counts_for_pods(name)]

    def usage(self, obj: Object) -> Amounts:
        """The pod's resources; only the object itself once it has ended."""
        return pods.usage(obj, self._profile)

    def missing(self, obj: Object, required: Iterable[str]) -> str:
        """The compute resources that containers must specify."""
        return pods.missing(obj, required, self._profile)

    def in_scope(self, obj: Object, selector: Object) -> bool:
        """Whether the pod has the quality that a scope selects by."""
        return pods.in_scope(obj, selector)


def evaluator_for(
    group: str,
    kind: str,
    profile: Profile,
    resources: ExtendedResources,
    charged_to_pod: ChargedToPod | None = None,
) -> Evaluator | None:
    """How a kind is counted; None for one that is in no namespace or not known here."""
    if group == GROUP:
        if kind == CLAIM.name:
            enabled = EXTENDED_RESOURCES_GATE in profile.gates and profile.minor >= CLAIMS_CHARGED_SINCE
            return ClaimEvaluator(resources if enabled else None, charged_to_pod)
        known = KINDS.get(kind)
        return ObjectEvaluator(known.resource, GROUP) if known is not None and known.namespaced else None
    if (group, kind) == ("", "Pod"):
        return PodEvaluator(profile)
    return ObjectEvaluator(RESOURCES[kind], group) if kind in RESOURCES else None
