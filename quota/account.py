"""What new claims and pods count against the quotas of their namespaces, and whether they fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from quota import amounts
from quota.claims import Demand, demands, devices_by_class
from quota.explanation import explain
from quota.inventory import CLAIM, TEMPLATE, QuotaInventory
from resourceapi.manifests import claim_from_template, displayed_name, group_of, pod_count
from resourceapi.model.versions import GROUP
from resourceapi.model.workloads import TEMPLATES
from resourceapi.objects import Object
from resourceapi.quantity import Amounts
from resourceapi.records.pod_groups import is_pod_group
from resourceapi.records.pods import PodClaim, read_pod
from validation.workloads import template_of

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from quota.admission import Shortage
    from quota.namespace import Namespace
    from quota.resource_quotas import ResourceQuota

FITS, REFUSED, INVALID, STORED, PER_CLAIM = "fits", "does not fit", "invalid", "is there already", "per claim"


class Statement:
    """What one object of the input counts, and whether it fits."""

    def __init__(self, manifest: Manifest, namespace: str, claim: Object, *, template: str = "") -> None:
        self.file, self.line = manifest.file, manifest.line
        self.kind: str = manifest.value["kind"]
        self.namespace = namespace
        self.name = displayed_name(manifest.value)
        #: the template that the claims are created from, if any
        self.template = template
        self.demands: list[Demand] = demands(claim)
        self.devices = devices_by_class(self.demands)
        self.usage: Amounts = {}
        #: the number of claims, and how many of them fit
        self.copies = self.fitting = 1
        #: one of the constants above
        self.verdict = FITS
        #: why it does not fit or is invalid
        self.problems: list[str] = []


class Account:
    """New objects, charged in the order of the input to the quotas of an inventory."""

    def __init__(self, inventory: QuotaInventory) -> None:
        self.inventory = inventory
        self.statements: list[Statement] = []

    def quotas(self) -> Iterator[tuple[str, ResourceQuota, Amounts]]:
        """Every quota with its namespace, and what was used of it before."""
        for namespace, content in self.inventory.namespaces():
            for quota in content.quotas:
                yield namespace, quota, self.inventory.before.get((namespace, quota.name), {})

    def add(self, manifests: list[Manifest]) -> None:
        """Charge new claims and pods, and the claims that are created for pods from templates."""
        for manifest in manifests:
            if manifest.value["kind"] == TEMPLATE:
                self._add_template(manifest)
        for manifest in manifests:
            if manifest.value["kind"] != TEMPLATE:
                self._add(manifest)

    def _add_template(self, manifest: Manifest) -> None:
        obj = self._accepted(manifest)
        if obj is not None:
            namespace = self.inventory.namespace_of(manifest)
            self.inventory.namespace(namespace).store(GROUP, TEMPLATE, obj)
            statement = Statement(manifest, namespace, obj.get("spec", {}))
            statement.verdict = PER_CLAIM
            self.statements.append(statement)

    def _add(self, manifest: Manifest) -> None:
        if is_pod_group(manifest.value):
            self._add_claims_of_group(manifest)
            return
        obj = self._accepted(manifest)
        if obj is None:
            return
        kind, namespace = manifest.value["kind"], self.inventory.namespace_of(manifest)
        content = self.inventory.namespace(namespace)
        if kind in (CLAIM, "Pod"):
            statement = Statement(manifest, namespace, obj if kind == CLAIM else {})
            self._charge(statement, content, group_of(manifest.value), kind, obj)
            if kind == CLAIM or statement.usage:
                self.statements.append(statement)
        if kind == "Pod" or kind in TEMPLATES:
            pod = obj if kind == "Pod" else template_of(kind, obj)
            self._add_created_claims(manifest, content, obj, pod or {})

    def _add_created_claims(self, manifest: Manifest, content: Namespace, obj: Object, pod: Object) -> None:
        """Charge the claims that kube-controller-manager creates for the pods of a workload, each for itself."""
        namespace = self.inventory.namespace_of(manifest)
        record = read_pod({**pod, "status": {}})
        group = self.inventory.pod_groups.get((namespace, record.group))
        for entry in record.claims:
            if group is None or group.shared(entry) is None:
                self._add_created(manifest, content, entry, pod_count(obj))

    def _add_claims_of_group(self, manifest: Manifest) -> None:
        """Charge the claims that kube-controller-manager creates for a PodGroup."""
        namespace = self.inventory.namespace_of(manifest)
        group = self.inventory.pod_groups.get((namespace, displayed_name(manifest.value)))
        for entry in group.claims if group is not None else ():
            self._add_created(manifest, self.inventory.namespace(namespace), entry, 1)

    def _add_created(self, manifest: Manifest, content: Namespace, entry: PodClaim, copies: int) -> None:
        """Charge the claims that are created from the template of an entry, if it names one that is known."""
        known = content.stored(GROUP, TEMPLATE).get(entry.template)
        if known is None:
            return
        namespace = self.inventory.namespace_of(manifest)
        claim = claim_from_template(known, namespace, "")
        statement = Statement(manifest, namespace, claim, template=entry.template)
        statement.copies = copies
        self._charge(statement, content, GROUP, CLAIM, claim)
        self.statements.append(statement)

    def _accepted(self, manifest: Manifest) -> Object | None:
        """The object in v1 as the server would store it; one that it rejects becomes an invalid statement."""
        answer = self.inventory.ask(manifest)
        if answer.accepted and answer.object is not None:
            return self.inventory.in_hub(answer.object)
        if manifest.value["kind"] in (CLAIM, TEMPLATE):
            statement = Statement(manifest, self.inventory.namespace_of(manifest), {})
            statement.verdict, statement.problems = INVALID, [answer.message]
            self.statements.append(statement)
        return None

    def _charge(self, statement: Statement, content: Namespace, group: str, kind: str, obj: Object) -> None:
        evaluator = content.evaluator(group, kind)
        assert evaluator is not None
        usage = amounts.without_zeros(evaluator.usage(obj))
        limited = {
            name for name in evaluator.matching(usage) if any(name in quota.hard for quota in content.quotas)
        }
        statement.usage = usage if kind == CLAIM else amounts.only(usage, limited)
        if not statement.template and statement.name in content.stored(group, kind):
            statement.verdict = STORED
            return
        statement.fitting = most_that_fit(
            statement.copies,
            lambda copies: not content.charge(evaluator, obj, copies=copies, dry_run=True).message,
        )
        content.charge(evaluator, obj, copies=statement.fitting)
        charged = amounts.times(usage, statement.fitting)
        self.inventory.note_user(statement.namespace, statement.kind, statement.name, charged)
        if statement.fitting < statement.copies:
            verdict = content.charge(evaluator, obj, dry_run=True)
            statement.verdict = REFUSED
            shortages = [self._explain(statement, shortage) for shortage in verdict.shortages]
            statement.problems = shortages or [verdict.message]
        elif not statement.template:
            content.store(group, kind, obj)

    def _explain(self, statement: Statement, shortage: Shortage) -> str:
        users = self.inventory.users_of(statement.namespace, shortage.resource)
        return explain(shortage, statement.demands, users, self.inventory.resources)


def most_that_fit(copies: int, fit: Callable[[int], bool]) -> int:
    """How many of so many copies fit, in a few tries: all, none, twice as many as are known to fit, or halfway.

    :param fit: whether so many copies do.
    """
    known, too_many = 0, copies + 1
    tried = copies
    while known < too_many - 1:
        if fit(tried):
            known = tried
        else:
            too_many = tried
        tried = min(2 * known or 1, (known + too_many) // 2)
    return known
