"""Which claims of workloads ResourceQuotas keep from being made, so that their pods wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from claimcheck.answers.cluster_state import ClusterState
from cluster.objects import CLAIM, TEMPLATE
from cluster.workloads import Workload
from documents.manifest import Manifest
from quota.account import most_that_fit
from quota.amounts import exceeding
from quota.claims import demands
from quota.explanation import explain
from quota.inventory import QuotaInventory
from quota.namespace import Namespace
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
        limited = {name for name, _ in self._inventory.namespaces()}
        for key, claim in state.of(CLAIM).items():
            namespace = key.partition("/")[0]
            if namespace in limited and key not in state.new_claims and pod_served_by(claim) is None:
                self._inventory.hold(namespace, GROUP, CLAIM, claim)
        self._inventory.open()

    def usage(self, namespace: str, claim: Object) -> Amounts:
        """What a claim is charged for."""
        evaluator = self._inventory.namespace(namespace).evaluator(GROUP, CLAIM)
        assert evaluator is not None
        return evaluator.usage(claim) if pod_served_by(claim) is None else {}

    def exceeded(self) -> Iterator[Exceeded]:
        """The quotas of which more is used than they allow."""
        for namespace, content in self._inventory.namespaces():
            for quota in content.quotas:
                for name in exceeding(quota.used, quota.hard):
                    yield Exceeded(
                        full_name(namespace, quota.name), name, str(quota.used[name]), str(quota.hard[name])
                    )

    def alone(self, workload: Workload) -> Grant:
        """What a workload is allowed as if there were no others."""
        content = self._inventory.namespace(workload.namespace)
        before = content.quotas
        try:
            return self._grant(workload, content)
        finally:
            content.quotas = before

    def together(self, workloads: Sequence[Workload]) -> list[Grant]:
        """What each workload is allowed beside those before it."""
        return [self._grant(each, self._inventory.namespace(each.namespace)) for each in workloads]

    def _grant(self, workload: Workload, content: Namespace) -> Grant:
        """Charge the claims that a workload still has to get, as many as fit."""
        have_them = len(workload.running) + self._state.pods_with_claims(workload)
        wanted = workload.copies - have_them
        made_once, made_each = _to_be_made(workload, self._state)
        if wanted <= 0 or not content.quotas or not (made_once or made_each):
            return Grant(workload.copies)
        for claim in made_once:
            if refusal := self._charge(workload, content, [claim], 1):
                return Grant(have_them, refusal)
        allowed = most_that_fit(
            wanted, lambda copies: not self._charge(workload, content, made_each, copies, keep=False)
        )
        self._charge(workload, content, made_each, allowed)
        refusal = self._charge(workload, content, made_each, 1, keep=False) if allowed < wanted else ""
        return Grant(have_them + allowed, refusal)

    def _charge(
        self,
        workload: Workload,
        content: Namespace,
        claims: Sequence[Claim],
        copies: int,
        *,
        keep: bool = True,
    ) -> str:
        """Charge so many of each of some claims if all fit; why they do not."""
        before = content.quotas
        evaluator = content.evaluator(GROUP, CLAIM)
        assert evaluator is not None
        for claim in claims:
            verdict = content.charge(evaluator, claim.object, copies=copies)
            if verdict.message:
                content.quotas = before
                asked, resources = demands(claim.object), self._inventory.resources
                users = self._inventory.users_of
                reasons = [
                    explain(each, asked, users(workload.namespace, each.resource), resources)
                    for each in verdict.shortages
                ]
                return f"quota for {_named(workload, claim)}: {'; '.join(reasons) or verdict.message}"
        if not keep:
            content.quotas = before
        return ""


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


def _named(workload: Workload, claim: Claim) -> str:
    if workload.kind in (CLAIM, TEMPLATE):
        return "it" if workload.kind == CLAIM else "a claim from it"
    template = workload.templates.get(claim.key, "").partition("/")[2]
    return f"its claim from template {template}" if template else f"claim {claim.key}"


def _ignore(manifest: Manifest, reason: str, path: Path) -> None:
    """A quota that no server would store limits nothing."""
