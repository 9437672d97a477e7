"""The quota check of the webhook: refuses a new claim that does not fit, and says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event
from typing import Protocol

from quota.admission import Verdict, admit
from quota.claims import demands
from quota.cluster import ClusterNamespaces
from quota.explanation import User, explain
from quota.ledger import Charged
from quota.names import CLAIM_COUNT, ExtendedResources
from quota.reservations import NameTaken, RecountController, Reservations
from resourceapi.api_client import Unavailable
from resourceapi.kinds import CLAIM
from resourceapi.objects import Object
from validation import statuses
from validation.requests import Answer

RESOURCE = "resourceclaims"


class QuotaCheck(Protocol):
    """Checks a claim that is to be created, after all other checks have passed."""

    @property
    def is_for_known_clients(self) -> bool:
        """Whether only the API server may ask: an answer costs it requests, reserves, or names who uses what."""

    def check(
        self, namespace: str, claim: Object, *, dry_run: bool, is_wanted: Callable[[], bool]
    ) -> Answer | None:
        """The refusal, or None for a claim that fits.

        :param claim: v1 with its defaults.
        :param is_wanted: whether somebody still waits for the answer; otherwise nothing is reserved.
        :raises resourceapi.api_client.Unavailable: (or :class:`quota.reservations.Busy`) if that cannot be told now.
        """

    def run(self, stop: Event) -> None:
        """Do the work in the background, until told to stop."""


class ReservedQuota:
    """Where CRDs serve the claims: a claim that fits is reserved, so that limits hold."""

    def __init__(
        self,
        reservations: Reservations,
        namespaces: ClusterNamespaces,
        controller: RecountController,
        *,
        is_for_known_clients: bool = True,
    ) -> None:
        self.is_for_known_clients = is_for_known_clients
        self._reservations = reservations
        self._namespaces = namespaces
        self._controller = controller

    def run(self, stop: Event) -> None:
        """Recount regularly."""
        self._controller.run(stop)

    def check(
        self, namespace: str, claim: Object, *, dry_run: bool, is_wanted: Callable[[], bool] = lambda: True
    ) -> Answer | None:
        """Reserve what the claim counts; the refusal if that does not fit."""
        try:
            verdict, ledger = self._reservations.reserve(
                namespace, claim, dry_run=dry_run, is_wanted=is_wanted
            )
        except NameTaken:
            return statuses.already_exists(RESOURCE, claim["metadata"]["name"])
        return refusal(claim, verdict, ledger.users_of, self._namespaces.resources())


class ObservedQuota:
    """Where the API server enforces quotas itself, after the webhooks: the same refusal a moment earlier, with reasons.

    What is used is what the quotas' status says, so nothing is refused that the API server would take a moment later,
    unless usage has gone down within the ``lifetime`` of the cached quotas.
    """

    def __init__(self, namespaces: ClusterNamespaces, *, is_for_known_clients: bool = True) -> None:
        self.is_for_known_clients = is_for_known_clients
        self._namespaces = namespaces

    def run(self, stop: Event) -> None:
        """Nothing to do: kube-controller-manager keeps the quotas' status."""

    def check(
        self, namespace: str, claim: Object, *, dry_run: bool, is_wanted: Callable[[], bool] = lambda: True
    ) -> Answer | None:
        """Compare what the claim counts with the quotas' status."""
        evaluator = self._namespaces.evaluator(namespace)
        verdict = admit(self._namespaces.quotas(namespace), evaluator, claim)
        if not verdict.message:
            return None
        users: list[Charged] = []
        with suppress(Unavailable):  # the refusal is certain; only the names of users are missing
            users = self._namespaces.users(namespace)
        return refusal(claim, verdict, lambda resource: users, self._namespaces.resources())


def refusal(
    claim: Object,
    verdict: Verdict,
    users_of: Callable[[str], Iterable[Charged]],
    resources: ExtendedResources,
) -> Answer | None:
    """The answer to a claim that does not fit: the server's own message, then a sentence for each exceeded limit.

    :param users_of: who is charged for a resource.
    """
    if not verdict.message:
        return None
    found = demands(claim)
    sentences = []
    for shortage in verdict.shortages:
        users = (
            User(
                "claim" if entry.kind == CLAIM.name else entry.kind,
                entry.name,
                entry.usage[shortage.resource],
            )
            for entry in users_of(shortage.resource)
            if shortage.resource in entry.usage
        )
        sentences.append(explain(shortage, found, users, resources))
    why = ": ".join(part for part in (verdict.message, "; ".join(sentences)) if part)
    return statuses.forbidden(RESOURCE, claim["metadata"].get("name", ""), why)


def held_for_custom_resources(name: str) -> bool:
    """Whether reservations enforce a limit where CRDs serve the claims: the API server counts objects itself."""
    return name != CLAIM_COUNT
