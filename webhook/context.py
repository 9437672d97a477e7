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
from webhook.admission_objects import Subject
from webhook.reviews import AdmissionRequest
from webhook.verdict_cache import KnownSpecs

ENFORCE, WARN, OFF = "Enforce", "Warn", "Off"


class Policy(Protocol):
    """A rule of the cluster's owner, beyond the API server's own.

    ``name`` is for audit annotations and metrics; ``mode`` is ``Enforce`` or ``Warn``.
    """

    @property
    def name(self) -> str: ...

    @property
    def mode(self) -> str: ...

    def check(self, subject: Subject) -> list[FieldError]:
        """What the policy has against an object; the paths are the hub's."""
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
    """Everything that verdicts need; it is replaced as a whole, never changed.

    ``server`` answers as the API server would (``verbatim``, so that raw JSON survives).  ``rules``: whether its rules
    and defaults are applied, which is for kinds that CRDs serve; for built-in kinds the API server has done so itself.
    ``facts``: what lints know of other objects, None for no lints.  ``quota``: what new claims must fit into, None for
    no limits; it may wait for others.  ``labels``, ``pods`` and ``feasibility``: None for no such policy.  ``known``: specs
    that the rules have nothing against.
    """

    __slots__ = ("facts", "feasibility", "known", "labels", "pods", "policies", "quota", "rules", "server")

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
        self.known = KnownSpecs()
        self.rules = rules
        self.policies = tuple(policies)
        self.facts = facts
        self.quota = quota
        self.labels = labels
        self.pods = pods
        self.feasibility = feasibility
