"""Charges claims and pods to quotas, first those of the inventory, then the new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from resourceapi.errors import Unanswerable

if TYPE_CHECKING:
    from advice.findings import Result
    from claimcheck.answers.cluster_context import ClusterContext
    from claimcheck.answers.live_cluster import LiveCluster
    from claimcheck.answers.outcome import Failure
    from documents.manifest import Manifest
    from quota.account import Account
    from quota.inventory import QuotaInventory
    from resourceapi.field_errors import Path
    from resourceapi.releases import Profile


class Answer(NamedTuple):
    """What new objects count, and what could not be read; ``is_live``: whether quotas are those of a live cluster."""

    account: Account
    failures: list[Failure]
    is_live: bool = False


def charge(
    new: Iterable[Manifest | Result | Failure],
    existing: Iterable[Manifest | Result | Failure],
    quotas: Iterable[Manifest | Result | Failure],
    context: ClusterContext,
    profile: Profile,
    namespace: str,
    *,
    is_live: bool = False,
) -> Answer:
    """Charge the objects that exist, then the new ones.

    :param quotas: further quotas, with the classes and namespaces that they depend on.
    :param namespace: that of objects which name none.
    :param is_live: whether the objects that exist are those of a live cluster.
    """
    from claimcheck.answers.reading import unusable
    from quota.account import Account
    from quota.inventory import QuotaInventory
    from resourceapi.records.pod_groups import is_pod_group
    from validation.server import Server

    failures: list[Failure] = []

    def reject(manifest: Manifest, reason: str, path: Path) -> None:
        failures.append(unusable(manifest, reason, path))

    inventory = QuotaInventory(Server(profile, namespaces=context.namespaces), namespace, reject)
    before = _learn(existing, inventory, context, failures)
    _learn(quotas, inventory, context, failures)
    added = _learn(new, inventory, context, failures)
    context.finish()
    inventory.charge(each for each in before if not is_pod_group(each.value))
    inventory.open_all()
    account = Account(inventory)
    account.add(added)
    return Answer(account, failures, is_live)


def charging_objects(
    cluster: LiveCluster, profile: Profile, namespaces: list[str]
) -> Iterator[Manifest | Result | Failure]:
    """The objects of a live cluster that count in some namespaces.

    :raises Unanswerable: if the cluster does not answer, or quotas cannot be read.
    """
    from claimcheck.answers.outcome import Failure, Unread
    from cluster.live_objects import CHARGING
    from resourceapi.kinds import DEVICE_CLASS
    from resourceapi.model.quotas import KIND as QUOTA

    for number, namespace in enumerate(namespaces):
        kinds = CHARGING - {DEVICE_CLASS.name} if number else CHARGING
        for each in cluster.objects(profile, namespace, kinds=kinds):
            if isinstance(each, Failure) and (not isinstance(each, Unread) or each.kind == QUOTA):
                raise Unanswerable(f"{each.file}: {each.message}")
            yield each


def _learn(
    found: Iterable[Manifest | Result | Failure],
    inventory: QuotaInventory,
    context: ClusterContext,
    failures: list[Failure],
) -> list[Manifest]:
    """Add quotas, classes and namespaces; returns the objects that count against quotas."""
    from claimcheck.answers.handling import ASK, CONTEXT, handling_of
    from claimcheck.answers.reading import readable
    from resourceapi.model.quotas import KIND as QUOTA
    from resourceapi.records.pod_groups import is_pod_group

    validated = []
    for manifest in readable(found, failures):
        if (manifest.value.get("apiVersion"), manifest.value.get("kind")) == ("v1", QUOTA):
            inventory.add_quota(manifest)
        elif is_pod_group(manifest.value):
            inventory.add_pod_group(manifest)
            validated.append(manifest)
        elif (how := handling_of(manifest.value)) == CONTEXT:
            context.learn(manifest.value)
        elif how == ASK:
            validated.append(manifest)
    for manifest in validated:
        if manifest.value["kind"] == "DeviceClass":
            inventory.add_class(manifest)
    return [manifest for manifest in validated if manifest.value["kind"] != "DeviceClass"]
