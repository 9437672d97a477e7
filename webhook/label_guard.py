"""Who may label a namespace so that requests in it get admin access, and whether the API server asks about all such changes.

Whoever can edit namespaces could otherwise grant it.  Subresources count: an update of ``status`` or ``finalize`` can
change labels as well. What the API server asks about stands in a webhook configuration, which may have been made for another
configuration of the service: with `claimcheck manifests --url` and without `--config`, say. Nobody would notice that a label is
not guarded.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from threading import Thread
from typing import NamedTuple

from resourceapi.api_client import NOT_FOUND, Api, Unavailable, get_object
from resourceapi.logs import log
from resourceapi.manifests import entries, labels_of, mapping, name_of, text
from resourceapi.objects import Object
from validation.requests import Answer
from validation.statuses import forbidden
from webhook.reviews import CREATE, UPDATE, AdmissionRequest


class LabelRule(NamedTuple):
    """A label that a namespace must have, with exactly this value; None stands for any."""

    key: str
    value: str | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels of a namespace include this one."""
        return self.key in labels and self.value in (None, labels[self.key])

    def __str__(self) -> str:
        return self.key if self.value is None else f"{self.key}: {self.value}"


# the label that the API server's own rule requires
BUILT_IN_LABEL = LabelRule("resource.kubernetes.io/admin-access", "true")


class LabelGuard:
    """Only some users and groups may change whether a namespace has one of the labels.

    :param mode: ``Enforce`` or ``Warn``.
    :param labels: the labels to guard, in addition to the one of the API server's own rule.
    :param users: user names as the API server has them; for a service account
        ``system:serviceaccount:<namespace>:<name>``.
    """

    name = "admin-access-label"

    def __init__(
        self, mode: str, labels: Sequence[LabelRule], *, users: Collection[str], groups: Collection[str]
    ) -> None:
        self.mode = mode
        self.labels = tuple(dict.fromkeys((BUILT_IN_LABEL, *labels)))
        self._users = frozenset(users)
        self._groups = frozenset(groups)

    def problems(self, request: AdmissionRequest) -> list[str]:
        """The changes of labels in a request that its user may not make; none unless it is about a namespace."""
        if (request.api_version, request.kind) != ("v1", "Namespace"):
            return []
        if request.operation not in (CREATE, UPDATE) or self._may(request):
            return []
        before, after = labels_of(request.old), labels_of(request.object)
        return [
            f"user {request.user!r} may not {'set' if rule.matches(after) else 'remove'} the label `{rule}`, "
            f"which grants admin access to devices{self._who_may()}"
            for rule in self.labels
            if rule.matches(before) != rule.matches(after)
        ]

    def refusal(self, request: AdmissionRequest, problems: Sequence[str]) -> Answer:
        """The answer to a request that has problems."""
        name = (
            request.name
            or name_of(request.object)
            or text(mapping(request.object, "metadata"), "generateName")
        )
        return forbidden("namespaces", name, "; ".join(problems), group="")

    def _may(self, request: AdmissionRequest) -> bool:
        return request.user in self._users or not self._groups.isdisjoint(request.groups)

    def _who_may(self) -> str:
        parts = []
        if self._users:
            parts.append("users " + ", ".join(sorted(self._users)))
        if self._groups:
            parts.append("groups " + ", ".join(sorted(self._groups)))
        return f"; allowed: {' and '.join(parts)}" if parts else ""


#: The condition in it with the labels that are guarded.
CONDITION = "label-changes"
_CONFIGURATION = "claimcheck-namespaces"
_CONFIGURATION_PATH = (
    f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{_CONFIGURATION}"
)
_APPLY = "apply what `claimcheck manifests --config FILE` prints for this configuration"


def in_cel(key: str) -> str:
    """The key of a label in the condition."""
    return "'" + key.replace("\\", "\\\\").replace("'", "\\'") + "'"


def unregistered(configuration: Object, keys: Collection[str]) -> list[str]:
    """The keys of guarded labels of whose changes the API server does not tell.

    :param configuration: the webhook configuration; without the condition the API server tells of all changes.
    """
    for webhook in entries(configuration, "webhooks"):
        for condition in entries(webhook, "matchConditions"):
            if text(condition, "name") == CONDITION:
                listed, _, _ = text(condition, "expression").partition("]")
                return [key for key in keys if in_cel(key) not in listed]
    return []


def check_registration(api: Api, keys: Collection[str]) -> None:
    """Log which guarded labels the API server does not ask about. If the service may not know, nothing is said."""
    try:
        configuration = get_object(api, _CONFIGURATION_PATH, "ValidatingWebhookConfiguration", _CONFIGURATION)
    except Unavailable as error:
        missing = list(keys) if error.code == NOT_FOUND else []
    else:
        missing = unregistered(configuration, keys)
    if missing:
        log(logging.WARNING, "labels are not guarded", labels=missing, webhooks=_CONFIGURATION, hint=_APPLY)


def start_check(api: Api, keys: Collection[str]) -> None:
    """Check in the background: the API server may not answer, and is asked for nothing else here."""
    Thread(target=check_registration, args=(api, keys), name="registration", daemon=True).start()
