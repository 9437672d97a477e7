"""Charges claims and pods to quotas, first those of the inventory, then the new ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from commandline.chosen_cluster import cluster_or_inventory
from commandline.errors import UsageError
from commandline.options import insist_on_paths, profile_of

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Result
    from claimcheck.answers.cluster_context import ClusterContext
    from claimcheck.answers.live_cluster import LiveCluster
    from claimcheck.answers.outcome import Failure
    from documents.manifest import Manifest
    from quota.account import Account
    from quota.inventory import Inventory
    from resourceapi.field_path import Path
    from resourceapi.releases import Profile


class Answer(NamedTuple):
    """What new objects count, and what could not be read; ``is_live``: whether quotas are those of a live cluster."""

    account: Account
    failures: list[Failure]
    is_live: bool = False


def charge(options: Namespace) -> Answer:
    """Charge the objects of the inventory, then the new ones."""
    from claimcheck.answers.namespaces import in_namespace
    from claimcheck.answers.reading import read_files, unusable
    from commandline.namespace_labels import context_of
    from commandline.reading import find, insist_on_one_reader, read_named
    from quota.account import Account
    from quota.inventory import Inventory
    from validation.server import Server

    insist_on_paths(options)
    cluster = cluster_or_inventory(options)
    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory, options.quota)
    context = context_of(options.namespace_labels)
    failures: list[Failure] = []

    def reject(manifest: Manifest, reason: str, path: Path) -> None:
        failures.append(unusable(manifest, reason, path))

    inventory = Inventory(Server(profile, namespaces=context.namespaces), options.namespace, reject)
    given = list(in_namespace(read_files(find(options)), options.namespace_given))
    if cluster is None:
        existing = _learn(read_named("--inventory", options.inventory), inventory, context, failures)
    else:
        existing = _learn(_live(cluster, profile, _namespaces(given, options)), inventory, context, failures)
    _learn(read_named("--quota", options.quota), inventory, context, failures)
    new = _learn(given, inventory, context, failures)
    context.finish()
    inventory.charge(existing)
    inventory.open()
    account = Account(inventory)
    account.add(new)
    return Answer(account, failures, is_live=cluster is not None)


def _namespaces(given: Iterable[Manifest | Result | Failure], options: Namespace) -> list[str]:
    """The namespaces of the objects in files."""
    from resourceapi.manifests import namespace_of

    values = [value for each in given if isinstance(value := getattr(each, "value", None), dict)]
    return list(dict.fromkeys(namespace_of(value, options.namespace) for value in values)) or [
        options.namespace
    ]


def _live(
    cluster: LiveCluster, profile: Profile, namespaces: list[str]
) -> Iterator[Manifest | Result | Failure]:
    """The objects of a live cluster that count in some namespaces.

    :raises UsageError: if the cluster does not answer, or quotas cannot be read.
    """
    from claimcheck.answers.outcome import Failure, Unread
    from cluster.live_objects import CHARGING
    from resourceapi.kinds import DEVICE_CLASS
    from resourceapi.model.quotas import KIND as QUOTA

    for number, namespace in enumerate(namespaces):
        kinds = CHARGING - {DEVICE_CLASS.name} if number else CHARGING
        for each in cluster.objects(profile, namespace, kinds=kinds):
            if isinstance(each, Failure) and (not isinstance(each, Unread) or each.kind == QUOTA):
                raise UsageError(f"{each.file}: {each.message}")
            yield each


def _learn(
    found: Iterable[Manifest | Result | Failure],
    inventory: Inventory,
    context: ClusterContext,
    failures: list[Failure],
) -> list[Manifest]:
    """Add quotas, classes and namespaces; returns the objects that count against quotas."""
    from claimcheck.answers.reading import readable
    from claimcheck.answers.treatment import ASK, CONTEXT, treatment
    from resourceapi.model.quotas import KIND as QUOTA

    validated = []
    for manifest in readable(found, failures):
        if (manifest.value.get("apiVersion"), manifest.value.get("kind")) == ("v1", QUOTA):
            inventory.add_quota(manifest)
        elif (how := treatment(manifest.value)) == CONTEXT:
            context.learn(manifest.value)
        elif how == ASK:
            validated.append(manifest)
    for manifest in validated:
        if manifest.value["kind"] == "DeviceClass":
            inventory.add_class(manifest)
    return [manifest for manifest in validated if manifest.value["kind"] != "DeviceClass"]
