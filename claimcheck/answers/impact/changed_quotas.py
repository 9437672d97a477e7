"""What is used of ResourceQuotas after a change."""

from __future__ import annotations

from claimcheck.answers.claim_quotas import ClaimQuotas
from claimcheck.answers.cluster_state import CLAIM, ClusterState
from claimcheck.answers.impact.change import ChangedObjects, ObjectId
from quota.amounts import written
from quota.resource_quotas import from_object, review
from resourceapi.manifests import mapping
from resourceapi.model.quotas import KIND as QUOTA
from resourceapi.quantity import ZERO, Amounts, added


def give_back(objects: ChangedObjects, before: ClusterState) -> None:
    """Take from what is used of quotas what claims used that are gone, as kube-controller-manager counts soon after.

    It may be called again once more are gone.

    :param before: the cluster before the change.
    """
    if not before.quotas:
        return
    quotas = ClaimQuotas(before)
    used: dict[str, Amounts] = {}
    for key, claim in before.of(CLAIM).items():
        namespace, _, name = key.partition("/")
        if objects.get(ObjectId(CLAIM, namespace, name)) is None:
            used[namespace] = added(used.get(namespace, {}), quotas.usage(namespace, claim))
    known = {ObjectId.of(each.value, before.default_namespace): each.value for each in before.quotas}
    for id, value in objects.of(QUOTA):
        gone = used.get(id.namespace)
        if gone and review(before.server, value, id.namespace).accepted:
            counted = from_object(known.get(id, value)).used
            left = {name: amount.sub(gone.get(name, ZERO)) for name, amount in counted.items()}
            left = {name: amount if amount.sign() > 0 else ZERO for name, amount in left.items()}
            objects.replace(id, {**value, "status": {**mapping(value, "status"), "used": written(left)}})
