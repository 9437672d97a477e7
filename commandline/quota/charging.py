"""Charges claims and pods to quotas, first those of the inventory, then the new ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from commandline.options import insist_on_paths, profile_of

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Result
    from commandline.context import ClusterContext
    from commandline.results import Failure
    from documents.manifest import Manifest
    from quota.account import Account
    from quota.inventory import Inventory


class Answer(NamedTuple):
    """What new objects count, and what could not be read."""

    account: Account
    failures: list[Failure]


def charge(options: Namespace) -> Answer:
    """Charge the objects of the inventory, then the new ones."""
    from commandline.context import ClusterContext
    from commandline.reading import insist_on_one_reader, read, read_named
    from commandline.results import Failure
    from quota.account import Account
    from quota.inventory import Inventory
    from validation.server import Server

    insist_on_paths(options)
    profile = profile_of(options)
    insist_on_one_reader(options.paths, options.inventory, options.quota)
    context = ClusterContext(options.namespace_labels)
    failures: list[Failure] = []

    def reject(manifest: Manifest, reason: str) -> None:
        failures.append(Failure(manifest.file, f"line {manifest.line}: {reason}"))

    inventory = Inventory(Server(profile, namespaces=context.namespaces), options.namespace, reject)
    existing = _learn(read_named("--inventory", options.inventory), inventory, context, failures)
    _learn(read_named("--quota", options.quota), inventory, context, failures)
    new = _learn(read(options.paths), inventory, context, failures)
    context.finish()
    inventory.charge(existing)
    inventory.open()
    account = Account(inventory)
    account.add(new)
    return Answer(account, failures)


def _learn(
    found: Iterable[Manifest | Result | Failure],
    inventory: Inventory,
    context: ClusterContext,
    failures: list[Failure],
) -> list[Manifest]:
    """Add quotas, classes and namespaces; returns the objects that count against quotas."""
    from commandline.reading import readable
    from commandline.treatment import ASK, CONTEXT, treatment
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
