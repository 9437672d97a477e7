"""What a verdict depends on besides the review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from advice.lints import Facts
from quota.enforcement import QuotaCheck
from resourceapi.field_errors import FieldError
from resourceapi.field_path import Path
from validation.requests import Answer
from validation.server import Server
from webhook.admission_objects import AdmissionObject
from webhook.reviews import AdmissionRequest
from webhook.verdict_cache import VerdictCache

ENFORCE, WARN, OFF = "Enforce", "Warn", "Off"


class Policy(Protocol):
    """A rule of the cluster's owner, beyond the API server's own.

    ``name`` is for audit annotations and metrics; ``mode`` is ``Enforce`` or ``Warn``.
    """

    @property
    def name(self) -> str: ...

    @property
    def mode(self) -> str: ...

    def check(self, obj: AdmissionObject) -> list[FieldError]:
        """The errors for which the policy objects to an object with a new spec; their paths are the hub's."""
        ...


class LabelPolicy(Protocol):
    """Who may label namespaces.  See :class:`webhook.label_guard.LabelGuard`."""

    @property
    def name(self) -> str: ...

    @property
    def mode(self) -> str: ...

    def problems(self, request: AdmissionRequest) -> list[str]: ...

    def refusal(self, request: AdmissionRequest, problems: Sequence[str]) -> Answer: ...


class PodPolicy(Protocol):
    """What becomes of pods.  See :class:`webhook.prescheduled.PreScheduledPods`."""

    @property
    def name(self) -> str: ...

    def treat(self, request: AdmissionRequest) -> Treatment | None: ...


class Treatment(NamedTuple):
    """What becomes of a pod: operations (RFC 6902), what to say, a word for the audit log."""

    patch: list[dict[str, Any]]
    warning: str
    audit: str


class FeasibilityPolicy(Protocol):
    """Whether claims can be satisfied.  See :class:`webhook.feasibility.Feasibility`."""

    @property
    def name(self) -> str: ...

    @property
    def mode(self) -> str: ...

    def problems(self, spec: dict[str, Any], at: Path) -> list[tuple[Path, str]]: ...


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

    __slots__ = (
        "facts",
        "feasibility",
        "labels",
        "pods",
        "policies",
        "quota",
        "rules",
        "server",
        "verdict_cache",
    )

    def __init__(
        self,
        *,
        server: Server,
        rules: bool,
        policies: Sequence[Policy] = (),
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

    @property
    def reads_specs(self) -> bool:
        """Whether others than the API server's rules read the specs of DRA objects."""
        return bool(self.policies) or self.feasibility is not None or self.quota is not None
