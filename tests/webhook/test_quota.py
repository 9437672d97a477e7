"""The validating webhook asks about quota last, and only about new claims."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

import pytest

from deviceselectors.request_budget import RequestBudget
from quota.claims import demands
from quota.reservations import Busy
from resourceapi.api_client import Unavailable
from serving.routes import Caller
from tests.webhook.examples import admission, claim, context
from validation import statuses
from validation.requests import Answer
from webhook.context import Context
from webhook.reviews import WebhookError
from webhook.validating import validate


class Asked:
    """A quota check that remembers what it was asked, and answers as told."""

    def __init__(
        self, answer: Answer | Exception | None = None, *, is_for_known_clients: bool = False
    ) -> None:
        self.answer = answer
        self.is_for_known_clients = is_for_known_clients
        self.claims: list[tuple[str, dict[str, Any], bool]] = []

    def check(
        self, namespace: str, claim: dict[str, Any], *, dry_run: bool, is_wanted: Callable[[], bool]
    ) -> Answer | None:
        self.claims.append((namespace, claim, dry_run))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def run(self, stop: Event) -> None:
        """Nothing."""


def with_quota(asked: Asked) -> Context:
    plain = context()
    return Context(server=plain.server, rules=True, quota=asked)


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_new_claims_are_charged(version: str) -> None:
    """A claim of any version is charged as it would be stored, defaults included, under the uid that it was given."""
    asked = Asked()
    new = claim(version)
    new["metadata"]["uid"] = "u"
    assert validate(admission(new, dryRun=True), with_quota(asked))["response"]["allowed"]
    ((namespace, charged, dry_run),) = asked.claims
    assert (namespace, charged["metadata"]["uid"], dry_run) == ("team", "u", True)
    assert [(demand.name, demand.devices) for demand in demands(charged)] == [("main", 1)]


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(admission(claim(count=-1)), id="refused-by-the-rules"),
        pytest.param(
            admission(
                claim(allocationMode="ExactCount", count=1), claim(allocationMode="ExactCount", count=1)
            ),
            id="update",
        ),
        pytest.param(admission(None, claim()), id="deletion"),
        pytest.param(
            admission({**claim(), "kind": "ResourceClaimTemplate", "spec": {"spec": claim()["spec"]}}),
            id="template",
        ),
    ],
)
def test_nothing_else_is_charged(review: dict[str, Any]) -> None:
    """What is refused anyway, changed, deleted or no claim is not charged, since nothing is given back."""
    asked = Asked()
    validate(review, with_quota(asked))
    assert asked.claims == []


def test_refusal_is_passed_on() -> None:
    """The refusal comes with its code and message, and is noted for the audit log."""
    refusal = statuses.forbidden("resourceclaims", "claim", "exceeded quota: …")
    response = validate(admission(claim()), with_quota(Asked(refusal)))["response"]
    assert not response["allowed"]
    assert (response["status"]["code"], response["status"]["message"]) == (
        403,
        'resourceclaims.resource.k8s.io "claim" is forbidden: exceeded quota: …',
    )
    assert response["auditAnnotations"] == {"quota": "refused"}


@pytest.mark.parametrize(
    "error", [Busy("too many"), Unavailable("connection refused")], ids=["busy", "unavailable"]
)
def test_undecided(error: Exception) -> None:
    """If it cannot be told whether a claim fits, the failurePolicy decides: it is no answer."""
    with pytest.raises(WebhookError, match="quota cannot be checked now") as raised:
        validate(admission(claim()), with_quota(Asked(error)))
    assert raised.value.code == 503


@pytest.mark.parametrize("dry_run", [False, True], ids=["stored", "dry-run"])
def test_strangers_learn_nothing_of_quotas(dry_run: bool) -> None:
    """Whoever is not known as the API server gets nothing asked, whatever enforces the limits."""
    asked = Asked(statuses.forbidden("resourceclaims", "claim", "used by ..."), is_for_known_clients=True)
    stranger = Caller("a client certificate is needed", RequestBudget(60.0, 1_000_000))
    response = validate(admission(claim(), dryRun=dry_run), with_quota(asked), stranger)["response"]
    assert asked.claims == []
    assert (response["allowed"], response["status"]["code"]) == (False, 403)
    assert response["status"]["message"].endswith(
        "quota is checked only for an API server that shows its certificate: a client certificate is needed"
    )
    assert response["auditAnnotations"] == {"quota": "unknown client"}
