"""Which claims of workloads ResourceQuotas keep from being made, so that their pods wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allocator.time_limit import UNLIMITED, TimeLimit
from claimcheck.answers.cluster_state import ClusterState
from cluster.objects import CLAIM, TEMPLATE
from cluster.workloads import Workload
from documents.manifest import Manifest
from quota.account import most_that_fit
from quota.admission import Verdict, charge
from quota.amounts import exceeding, times, without_zeros
from quota.claims import demands
from quota.counted_parts import may_limit_claims
from quota.evaluators import Evaluator
from quota.explanation import explain
from quota.inventory import QuotaInventory
from quota.namespace import Namespace
from quota.resource_quotas import ResourceQuota
from resourceapi.field_errors import Path
from resourceapi.manifests import full_name
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.quantity import Amounts
from resourceapi.records.claims import Claim, pod_served_by


class Grant(NamedTuple):
    """How many pods of a workload have their claims or may get them, and what the next one waits for; empty if there is none."""

    copies: int
    refusal: str = ""


def grants(state: ClusterState, workloads: Sequence[Workload]) -> list[Grant]:
    """What quotas allow each workload beside those before it."""
    return (
        ClaimQuotas(state).together(workloads) if state.quotas else [Grant(each.copies) for each in workloads]
    )


class Exceeded(NamedTuple):
    """A ResourceQuota (namespace and name) of which more is used than it allows, so that nothing new gets any of the resource."""

    quota: str
    resource: str
    used: str
    hard: str


class ClaimQuotas:
    """The quotas of a cluster, charged with the claims that are there.

    What pods are charged for is only known from the status of a quota: a pod that waits for its claims has been admitted.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._inventory = QuotaInventory(state.server, state.default_namespace, _ignore)
        for manifest in state.quotas:
            self._inventory.add_quota(manifest)
        for device_class in state.classes.values():
            self._inventory.resources.add(device_class)
        limiting = {name: _may_limit_claims(content) for name, content in self._inventory.namespaces()}
        #: the claims that are still to be charged, of the namespaces that nobody has asked about
        self._unread: dict[str, list[Object]] = {name: [] for name in limiting}
        for key, claim in state.of(CLAIM).items():
            namespace = key.partition("/")[0]
            if limiting.get(namespace) and key not in state.new_claims and pod_served_by(claim) is None:
                self._unread[namespace].append(claim)

    def _opened(self, namespace: str, limit: TimeLimit = UNLIMITED) -> Namespace:
        """A namespace whose claims have been charged.

        :raises OutOfTime: if that takes longer; it goes on there the next time.
        """
        unread = self._unread.get(namespace)
        while unread:
            limit.check()
            self._inventory.hold(namespace, GROUP, CLAIM, unread.pop())
        if unread is not None:
            self._inventory.open(namespace)
            del self._unread[namespace]
        return self._inventory.namespace(namespace)

    def usage(self, namespace: str, claim: Object) -> Amounts:
        """What a claim is charged for."""
        evaluator = self._inventory.namespace(namespace).evaluator(GROUP, CLAIM)
        assert evaluator is not None
        return evaluator.usage(claim) if pod_served_by(claim) is None else {}

    def exceeded(self) -> Iterator[Exceeded]:
        """The quotas of which more is used than they allow."""
        for namespace, _ in self._inventory.namespaces():
            for quota in self._opened(namespace).quotas:
                for name in exceeding(quota.used, quota.hard):
                    yield Exceeded(
                        full_name(namespace, quota.name), name, str(quota.used[name]), str(quota.hard[name])
                    )

    def alone(self, workload: Workload, limit: TimeLimit) -> Grant:
        """What a workload is allowed as if there were no others.

        :raises OutOfTime: if its namespace has more claims than can be read in time.
        """
        content = self._opened(workload.namespace, limit)
        before = content.quotas
        try:
            return self._grant(workload, content)
        finally:
            content.quotas = before

    def together(self, workloads: Sequence[Workload]) -> list[Grant]:
        """What each workload is allowed beside those before it."""
        return [self._grant(each, self._opened(each.namespace)) for each in workloads]

    def _grant(self, workload: Workload, content: Namespace) -> Grant:
        """Charge the claims that a workload still has to get, as many as fit."""
        have_them = len(workload.running) + self._state.pods_with_claims(workload)
        wanted = workload.copies - have_them
        evaluator = content.evaluator(GROUP, CLAIM)
        assert evaluator is not None
        once, each = (_Claims(claims, evaluator) for claims in _to_be_made(workload, self._state))
        if wanted <= 0 or not content.quotas or not (once.claims or each.claims):
            return Grant(workload.copies)
        if refusal := self._charge(workload, content, once):
            return Grant(have_them, refusal)
        allowed = most_that_fit(wanted, lambda copies: not each.charged(content.quotas, copies).message)
        after = content.quotas = each.charged(content.quotas, allowed).quotas
        refusal = self._charge(workload, content, each) if allowed < wanted else ""
        content.quotas = after
        return Grant(have_them + allowed, refusal)

    def _charge(self, workload: Workload, content: Namespace, claims: _Claims) -> str:
        """Charge claims in their order, as far as they fit; why the next one does not."""
        quotas, number = content.quotas, len(claims.claims)
        fitting = most_that_fit(number, lambda first: not claims.charged(quotas, first=first).message)
        content.quotas = claims.charged(quotas, first=fitting).quotas
        if fitting == number:
            return ""
        claim = claims.claims[fitting]
        verdict = content.charge(claims.evaluator, claim.object, dry_run=True)
        asked, resources = demands(claim.object), self._inventory.resources
        users = self._inventory.users_of
        reasons = [
            explain(each, asked, users(workload.namespace, each.resource), resources)
            for each in verdict.shortages
        ]
        return f"quota for {_named(workload, claim)}: {'; '.join(reasons) or verdict.message}"


class _Claims:
    """Claims that are charged together: what each of them uses is found out once, and no quota is looked at for each of them."""

    def __init__(self, claims: Sequence[Claim], evaluator: Evaluator) -> None:
        self.claims = claims
        self.evaluator = evaluator
        self._usages = [without_zeros(evaluator.usage(each.object)) for each in claims]

    def charged(
        self, quotas: tuple[ResourceQuota, ...], copies: int = 1, *, first: int | None = None
    ) -> Verdict:
        """The verdict for so many copies of each of them, or of the first ones."""
        usage: Amounts = {}
        for each in self._usages[:first]:
            for name, amount in each.items():
                usage[name] = usage[name].add(amount) if name in usage else amount
        if not usage:
            return Verdict(quotas)
        return charge(quotas, self.evaluator, self.claims[0].object, times(usage, copies))


def _to_be_made(workload: Workload, state: ClusterState) -> tuple[list[Claim], list[Claim]]:
    """The claims that do not exist yet: those of all pods of a workload together, and those that each pod gets.

    kube-scheduler makes the claim for extended resources itself, for which the pod has been charged.
    """
    once, each = [], []
    for index, claim in enumerate(workload.claims):
        if pod_served_by(claim.object) is not None or (
            workload.classes and index == len(workload.claims) - 1
        ):
            continue
        if index in workload.from_templates:
            each.append(claim)
        elif claim.key in state.new_claims or claim.key not in state.of(CLAIM):
            once.append(claim)
    return once, each


def _may_limit_claims(content: Namespace) -> bool:
    return any(may_limit_claims(name) for quota in content.quotas for name in quota.hard)


def _named(workload: Workload, claim: Claim) -> str:
    if workload.kind in (CLAIM, TEMPLATE):
        return "it" if workload.kind == CLAIM else "a claim from it"
    template = workload.templates.get(claim.key, "").partition("/")[2]
    return f"its claim from template {template}" if template else f"claim {claim.key}"


def _ignore(manifest: Manifest, reason: str, path: Path) -> None:
    """A quota that no server would store limits nothing."""
