"""Who may label a namespace so that requests in it get admin access.

Whoever can edit namespaces could otherwise grant it.  Subresources count: an update of ``status`` or ``finalize`` can
change labels as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from resourceapi.manifests import labels_of, mapping, name_of, text
from validation.requests import Answer
from validation.statuses import forbidden
from webhook.labels import LabelRule
from webhook.reviews import CREATE, UPDATE, AdmissionRequest

# the label that the API server's own rule requires
BUILT_IN = LabelRule("resource.kubernetes.io/admin-access", "true")


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
        self.labels = tuple(dict.fromkeys((BUILT_IN, *labels)))
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
