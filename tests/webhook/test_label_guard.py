"""Who may label a namespace for admin access."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.examples import ADMIN, admission, server
from webhook.context import Context
from webhook.label_guard import LabelGuard, LabelRule
from webhook.validating import validate

DOCS = "admin-access.dra.example.com"
LABELS = [LabelRule(DOCS), LabelRule("team", "admins")]
DEPLOYER = "system:serviceaccount:infra:deployer"
GUARD = LabelGuard("Enforce", LABELS, users=["admin", DEPLOYER], groups=["cluster-admins"])


def namespace(labels: dict[str, str] | None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "team"}
    if labels is not None:
        metadata["labels"] = labels
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def response(
    after: dict[str, str] | None,
    before: dict[str, str] | None = None,
    *,
    create: bool = False,
    guard: LabelGuard = GUARD,
    **request: Any,
) -> dict[str, Any]:
    old = None if create else namespace(before)
    review = admission(namespace(after), old, **request)
    answer: dict[str, Any] = validate(review, Context(server=server(), rules=False, labels=guard))["response"]
    return answer


def user(name: str, *groups: str) -> dict[str, Any]:
    return {"userInfo": {"username": name, "groups": list(groups)}}


CHANGES = {
    "set-built-in": (ADMIN, None, "may not set the label `resource.kubernetes.io/admin-access: true`"),
    "remove-built-in": (None, ADMIN, "may not remove the label `resource.kubernetes.io/admin-access: true`"),
    "built-in-becomes-true": (
        ADMIN,
        {"resource.kubernetes.io/admin-access": "false"},
        "may not set the label `resource.kubernetes.io/admin-access: true`",
    ),
    "set-by-existence": ({DOCS: ""}, None, f"may not set the label `{DOCS}`"),
    "remove-by-existence": ({"a": "b"}, {DOCS: "x", "a": "b"}, f"may not remove the label `{DOCS}`"),
    "set-by-value": ({"team": "admins"}, {"team": "users"}, "may not set the label `team: admins`"),
}
HARMLESS = {
    "other-labels": ({"a": "b"}, {"c": "d"}),
    "stays": ({**ADMIN, "a": "b"}, ADMIN),
    "built-in-with-another-value": ({"resource.kubernetes.io/admin-access": "True"}, None),
    "existing-key-gets-another-value": ({DOCS: "x"}, {DOCS: ""}),
    "other-value": ({"team": "users"}, None),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("subresource", ["", "status", "finalize"])
def test_others_may_not_change_it(name: str, subresource: str) -> None:
    """A change that grants or takes away admin access is forbidden, however it is made; the message says who
    may."""
    after, before, what = CHANGES[name]
    refused = response(after, before, subresource=subresource)
    assert not refused["allowed"]
    status = refused["status"]
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert status["message"] == (
        f"namespaces \"team\" is forbidden: user 'jane' {what}, which grants admin access to devices; "
        f"allowed: users admin, {DEPLOYER} and groups cluster-admins"
    )
    assert refused["auditAnnotations"] == {"admin-access-label": "refused"}


def test_new_namespaces_count() -> None:
    """A namespace cannot be created with the label either; all labels are reported at once."""
    message = response({**ADMIN, DOCS: ""}, create=True)["status"]["message"]
    assert message.count("may not set") == 2


@pytest.mark.parametrize("name", HARMLESS)
def test_other_changes_are_free(name: str) -> None:
    """What neither grants nor takes away admin access is nobody's business here."""
    after, before = HARMLESS[name]
    assert response(after, before)["allowed"]


@pytest.mark.parametrize(
    "who", [user("admin"), user(DEPLOYER), user("joe", "developers", "cluster-admins")], ids=str
)
def test_some_may(who: dict[str, Any]) -> None:
    """Named users, service accounts among them, and members of named groups."""
    assert response(ADMIN, **who)["allowed"]


def test_deletion_is_not_looked_at() -> None:
    """A namespace that goes takes its label with it."""
    review = admission(None, namespace(ADMIN))
    assert validate(review, Context(server=server(), rules=False, labels=GUARD))["response"]["allowed"]


def test_warn_mode_admits() -> None:
    """Warn: the label is set, and a warning says who may do so."""
    guard = LabelGuard("Warn", [], users=[], groups=[])
    admitted = response(ADMIN, guard=guard)
    assert admitted["allowed"]
    assert admitted["warnings"] == [
        "user 'jane' may not set the label `resource.kubernetes.io/admin-access: true`, which grants admin access to devices"
    ]
    assert admitted["auditAnnotations"] == {"admin-access-label": "warned"}
