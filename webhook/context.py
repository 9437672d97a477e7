"""What a verdict depends on besides the review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from advice.lints import Facts
from quota.enforcement import QuotaCheck
from resourceapi.field_errors import FieldError, Path
from resourceapi.model.versions import GROUP
from validation.requests import Answer
from validation.server import Server
from webhook.admission_objects import AdmissionObject, VerdictCache
from webhook.reviews import AdmissionRequest

ENFORCE, WARN, OFF = "Enforce", "Warn", "Off"


class Policy(Protocol):
    """A rule of the cluster's owner, beyond the API server's own."""

    @property
    def name(self) -> str:
        """The name for audit annotations and metrics."""

    @property
    def mode(self) -> str:
        """``Enforce`` or ``Warn``."""


class ObjectPolicy(Policy, Protocol):
    """What DRA objects must be like, such as :class:`webhook.policies.AdminAccess`."""

    def check(self, obj: AdmissionObject) -> list[FieldError]:
        """The errors in an object with a new spec; their paths are the hub's."""


class LabelPolicy(Policy, Protocol):
    """Who may label namespaces; see :class:`webhook.label_guard.LabelGuard`."""

    def problems(self, request: AdmissionRequest) -> list[str]:
        """What a request does that its user may not."""

    def refusal(self, request: AdmissionRequest, problems: Sequence[str]) -> Answer:
        """The answer to a request with problems."""


class PodPolicy(Policy, Protocol):
    """What to change in pods; see :class:`webhook.prescheduled.PreScheduledPods`."""

    def decide(self, request: AdmissionRequest) -> PodDecision | None:
        """What to do about a request; None if the policy is not about it."""


class PodDecision(NamedTuple):
    """What to do about a pod.

    :ivar patch: operations (RFC 6902).
    :ivar warning: the warning for the client.
    :ivar audit: the value of the audit annotation.
    """

    patch: list[dict[str, Any]]
    warning: str
    audit: str


class FeasibilityPolicy(Policy, Protocol):
    """Whether claims can be satisfied; see :class:`webhook.feasibility.Feasibility`."""

    @property
    def is_for_known_clients(self) -> bool:
        """Whether it is only for clients that a certificate identifies."""

    def problems(self, spec: dict[str, Any], at: Path) -> list[tuple[Path, str]]:
        """Why the claim with a spec can never be satisfied, and where in it.

        :param spec: of the hub, in normal form and with its defaults.
        :param at: the path of the spec in its object.
        """


class Context:
    """What the answer to a review depends on besides the review; it is replaced as a whole, never changed.

    :param server: answers as the API server would (``verbatim``, so that raw JSON survives).
    :param rules: whether its rules and defaults are applied: for kinds that CRDs serve.  For built-in kinds the API server
        has done so itself.
    :param policies: the rules of the cluster's owner about DRA objects.
    :param facts: the other objects that lints look at; None for no lints.
    :param quota: the limits on new claims; None for none.  It may wait for the API server.
    :param labels: who may label namespaces; None for no such policy.
    :param pods: what becomes of pods; None for no such policy.
    :param feasibility: whether claims can be satisfied; None for no such policy.
    """

    def __init__(
        self,
        *,
        server: Server,
        rules: bool,
        policies: Sequence[ObjectPolicy] = (),
        facts: Facts | None = None,
        quota: QuotaCheck | None = None,
        labels: LabelPolicy | None = None,
        pods: PodPolicy | None = None,
        feasibility: FeasibilityPolicy | None = None,
    ) -> None:
        self.server = server
        self.verdict_cache = VerdictCache()
        self.rules = rules
        self.policies = tuple(policies)
        self.facts = facts
        self.quota = quota
        self.labels = labels
        self.pods = pods
        self.feasibility = feasibility

    def judges(self, obj: AdmissionObject) -> bool:
        """Whether the rules of an object are applied here: all where CRDs serve the kinds, else those of custom resources."""
        return self.rules or obj.group != GROUP

    @property
    def reads_specs(self) -> bool:
        """Whether others than the API server's rules read the specs of DRA objects."""
        return bool(self.policies) or self.feasibility is not None or self.quota is not None
