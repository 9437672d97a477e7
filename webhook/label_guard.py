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

# the API server's own rule asks for exactly this
BUILT_IN = LabelRule("resource.kubernetes.io/admin-access", "true")


class LabelGuard:
    """Some users and groups may change whether a namespace has one of the labels; nobody else."""

    name = "admin-access-label"

    def __init__(
        self, mode: str, labels: Sequence[LabelRule], *, users: Collection[str], groups: Collection[str]
    ) -> None:
        """
        :param labels: in addition to that of the API server's own rule.
        :param users: names as API servers have them; of a service account
            ``system:serviceaccount:<namespace>:<name>``.
        """
        self.mode = mode
        self.labels = tuple(dict.fromkeys((BUILT_IN, *labels)))
        self._users = frozenset(users)
        self._groups = frozenset(groups)

    def problems(self, request: AdmissionRequest) -> list[str]:
        """What a request would do that its user may not; nothing for requests about anything else."""
        if (request.api_version, request.kind) != ("v1", "Namespace"):
            return []
        if request.operation not in (CREATE, UPDATE) or self._may(request):
            return []
        before, after = labels_of(request.old), labels_of(request.object)
        return [
            f"user {request.user!r} may not {'set' if rule.matches(after) else 'remove'} the label `{rule}`, "
            f"which grants admin access to devices{self._who()}"
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

    def _who(self) -> str:
        parts = []
        if self._users:
            parts.append("users " + ", ".join(sorted(self._users)))
        if self._groups:
            parts.append("groups " + ", ".join(sorted(self._groups)))
        return f" (that is left to {' and '.join(parts)})" if parts else ""
