"""A namespace as the server fills it: objects are created one by one and charged to its quotas."""

from __future__ import annotations

from collections.abc import Iterable

from quota.admission import Verdict, admit
from quota.counted_parts import is_charged_to_pod
from quota.evaluators import Evaluator, evaluator_for
from quota.names import ExtendedResources
from quota.resource_quotas import ResourceQuota
from resourceapi.kinds import CLAIM
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.quantity import Amounts
from resourceapi.records.claims import pod_served_by
from resourceapi.releases import split_api_version
from validation import statuses
from validation.requests import Answer, Request
from validation.server import Server

HUB = f"{GROUP}/v1"
_NO_OBJECTS: dict[str, Object] = {}


class Namespace:
    """The objects stored in one namespace, and the usage of its quotas."""

    def __init__(
        self, server: Server, resources: ExtendedResources, quotas: Iterable[ResourceQuota] = ()
    ) -> None:
        self.server = server
        self.resources = resources
        self.quotas = tuple(quotas)
        self._objects: dict[tuple[str, str], dict[str, Object]] = {}

    def create(self, request: Request, *, dry_run: bool = False) -> Answer:
        """The server's answer; an object that it accepts is stored and charged unless the request is a dry run.

        As in the server, quotas come after all other checks and before the object is stored, so that one that exists
        already is charged once more until usage is counted anew.
        """
        answer = self.server.handle(request)
        if not answer.accepted or answer.object is None:
            return answer
        group = split_api_version(request.api_version)[0]
        obj = self.server.read(answer.object, HUB) if group == GROUP else answer.object
        evaluator = self.evaluator(group, request.kind)
        if evaluator is None:
            return answer
        verdict = self.charge(evaluator, obj, dry_run=dry_run)
        name = obj["metadata"]["name"]
        if verdict.message:
            refusal = statuses.forbidden(evaluator.resource, name, verdict.message, group)
        elif name in self.stored(group, request.kind):
            refusal = statuses.already_exists(evaluator.resource, name, group)
        else:
            if not dry_run:
                self.store(group, request.kind, obj)
            return answer
        refusal.warnings = answer.warnings
        return refusal

    def charge(self, evaluator: Evaluator, obj: Object, *, copies: int = 1, dry_run: bool = False) -> Verdict:
        """Charge an object (v1) to the quotas, if it (in so many copies) fits."""
        verdict = admit(self.quotas, evaluator, obj, copies)
        if not dry_run:
            self.quotas = verdict.quotas
        return verdict

    def evaluator(self, group: str, kind: str) -> Evaluator | None:
        """How objects of a kind are counted here."""
        return evaluator_for(group, kind, self.server.profile, self.resources, self._charged_to_pod)

    def store(self, group: str, kind: str, obj: Object) -> None:
        """Note an object (v1) as being there, without charging it."""
        self._objects.setdefault((group, kind), {})[obj["metadata"].get("name", "")] = obj

    def stored(self, group: str, kind: str) -> dict[str, Object]:
        """The objects of a kind by name."""
        return self._objects.get((group, kind), _NO_OBJECTS)

    def _charged_to_pod(self, claim: Object) -> Amounts:
        owner = pod_served_by(claim)
        pod = self.stored("", "Pod").get(owner[0]) if owner else None
        pods = self.evaluator("", "Pod")
        if pod is None or pods is None:
            return {}
        claims = self.stored(GROUP, CLAIM.name).values()
        return pods.usage(pod) if is_charged_to_pod(claim, pod, claims) else {}
