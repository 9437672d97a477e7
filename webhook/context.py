"""What a verdict depends on besides the review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from quota.enforcement import QuotaCheck
from resourceapi.fielderrors import FieldError
from validation.lints import Facts
from validation.server import Server
from webhook.subjects import Subject

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


class Context:
    """Everything that verdicts need; it is replaced as a whole, never changed.

    ``server`` answers as the API server would (``verbatim``, so that raw JSON survives).  ``rules``: whether its rules and defaults are applied, which is for
    kinds that CRDs serve; for built-in kinds the API server has done so itself.  ``facts``: what lints know of other
    objects, None for no lints.  ``quota``: what new claims must fit into, None for no limits; it may wait for others.
    """

    __slots__ = ("facts", "policies", "quota", "rules", "server")

    def __init__(
        self,
        *,
        server: Server,
        rules: bool,
        policies: Sequence[Policy] = (),
        facts: Facts | None = None,
        quota: QuotaCheck | None = None,
    ) -> None:
        self.server = server
        self.rules = rules
        self.policies = tuple(policies)
        self.facts = facts
        self.quota = quota
