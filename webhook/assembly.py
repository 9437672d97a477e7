"""From a configuration to what the webhooks need: server, policies, quota, and the cluster that they depend on."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from advice.lints import Facts
from cluster.reflector import SOCKET_SECONDS
from conversion.hub import hub_object
from documents import load
from documents.document import Document
from documents.errors import DocumentError
from quota.cluster import ClusterNamespaces
from quota.enforcement import ObservedQuota, QuotaCheck, ReservedQuota, held_for_custom_resources
from quota.reservations import RecountController, Reservations, Times
from quota.store import ConfigMapStore
from resourceapi.decoding import DecodingError
from resourceapi.errors import ClaimcheckError
from resourceapi.kinds import DEVICE_CLASS, kind_of
from resourceapi.logs import log
from resourceapi.manifests import text
from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.records.nodes import read_node
from resourceapi.releases import Profile
from serving.api_server import CUSTOM_RESOURCES, make_client, make_profile, own_namespace, patch_group
from serving.config_file import Config, ConfigError, misread_keys
from validation.server import Server
from webhook.cluster import DEVICES, PARTS, Cluster, WatchedCluster, with_inventory
from webhook.context import ENFORCE, OFF, WARN, Context, ObjectPolicy
from webhook.feasibility import Feasibility
from webhook.label_guard import LabelGuard, LabelRule
from webhook.object_cache import host_name_of
from webhook.policies import AdminAccess, OpaqueParameters, SchemaKey
from webhook.prescheduled import PreScheduledPods
from webhook.schemas import SchemaError, compile_schema

Step = str | int


def _labels(config: Config, policy: str) -> list[LabelRule]:
    found = config.get("policies", policy)
    return [LabelRule(label["key"], label.get("value")) for label in (found or {}).get("labels", ())]


def make_label_guard(config: Config) -> LabelGuard | None:
    """What guards the labels that allow admin access, None if that is off."""
    guard = config.get("policies", "adminAccessLabels")
    if not guard or guard["mode"] == OFF:
        return None
    return LabelGuard(
        guard["mode"],
        _labels(config, "adminAccessLabels" if "labels" in guard else "adminAccess"),
        users=guard.get("users", ()),
        groups=guard.get("groups", ()),
    )


def make_policies(config: Config) -> Iterator[ObjectPolicy]:
    """The policies that are not off.

    :raises ConfigError: for schemas that cannot be read or compiled, or that are there twice.
    """
    admin = config.get("policies", "adminAccess")
    if admin and admin["mode"] != OFF:
        yield AdminAccess(admin["mode"], _labels(config, "adminAccess"))
    opaque = config.get("policies", "opaqueParameters")
    if opaque and opaque["mode"] != OFF:
        at = ("policies", "opaqueParameters", "schemas")
        validators = {}
        for index, entry in enumerate(opaque["schemas"]):
            key = SchemaKey(entry["driver"], entry["apiVersion"], entry["kind"])
            if key in validators:
                raise config.error(
                    (*at, index), "there is a schema for this driver, apiVersion and kind above"
                )
            document, schema, path = _schema(config, entry, (*at, index))
            try:
                validators[key] = compile_schema(schema)
            except SchemaError as error:
                raise ConfigError([document.error((*path, *error.path), error.message)]) from None
        yield OpaqueParameters(opaque["mode"], validators)


def _schema(
    config: Config, entry: dict[str, Any], path: tuple[Step, ...]
) -> tuple[Document, Any, tuple[Step, ...]]:
    """A schema with the document and the place in which it stands."""
    if "schemaFile" not in entry:
        return config.document, entry["schema"], (*path, "schema")
    found = list(load([str(config.path(entry["schemaFile"]))]))
    if len(found) != 1:
        raise config.error((*path, "schemaFile"), f"expected one document in the file, found {len(found)}")
    if isinstance(found[0], DocumentError):
        raise ConfigError([found[0]])
    misread = list(misread_keys(found[0]))
    if misread:
        raise ConfigError(misread)
    return found[0], found[0].value, ()


_NO_CLIENTS_OF_QUOTA = (
    "quota.mode: only the API server may ask for it, since that asks the cluster, and tells who uses what: name the "
    "authority of its client certificate in tls.clientAuthorityFile (or set quota.insecureSkipClientVerify: then everybody "
    "who reaches the port can read the quotas of any namespace and, where CRDs serve the kinds, use them up)"
)


def make_quota(config: Config, profile: Profile, watched: WatchedCluster) -> QuotaCheck | None:
    """The quota check that a configuration asks for; None if it is off.

    :raises ConfigError: if anybody could ask for it, or the API server's CA certificates cannot be read.
    """
    if config.get("quota", "mode") == OFF:
        return None
    reserves = config.get("apiServer", "serves") == "CustomResources"
    trusts_everybody = config.get("quota", "insecureSkipClientVerify")
    if not trusts_everybody and config.get("tls", "clientAuthorityFile") is None:
        raise config.error(("quota", "mode"), _NO_CLIENTS_OF_QUOTA)
    api = make_client(config)
    namespaces = ClusterNamespaces(api, Server(profile), reserves=reserves)
    if not reserves:
        return ObservedQuota(namespaces, is_for_known_clients=not trusts_everybody)
    store = ConfigMapStore(api, ledger_namespace(config))
    reservations = Reservations(
        store,
        namespaces,
        is_enforced=held_for_custom_resources,
        is_deleted=watched.claim_counts.deleted.__contains__,
        times=Times(grace=config.get("quota", "graceSeconds")),
    )
    controller = RecountController(
        reservations,
        namespaces.namespaces_with_quota,
        interval=config.get("quota", "recountSeconds"),
        report=lambda namespace, error: log(
            logging.WARNING, "quota not recounted", namespace=namespace, reason=_reason(error)
        ),
    )
    return ReservedQuota(reservations, namespaces, controller, is_for_known_clients=not trusts_everybody)


def ledger_namespace(config: Config) -> str:
    """Where ledgers are: not beside configurations, as the service may write all ConfigMaps there."""
    return own_namespace(config, "quota", "namespace", suffix="-ledgers")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ClaimcheckError) else f"{type(error).__name__}: {error}"


WATCH = "Watch"
_NO_CLIENTS = (
    "only the API server may ask for it, since that takes time and tells of devices: name the authority of its client "
    "certificate in tls.clientAuthorityFile (or set policies.feasibility.insecureSkipClientVerify: then everybody who "
    "reaches the port can ask)"
)


def make_context(config: Config, watched: WatchedCluster | None = None) -> Context:
    """The context that a configuration describes; reads the files that it names.

    :param watched: what is watched of the cluster is not taken from the inventory.
    :raises ConfigError: for what a schema cannot tell: unknown releases and gates, unreadable inventories, and others.
    """
    profile = make_profile(config)
    watched = watched or WatchedCluster(profile)
    inventory = list(_inventory(config))
    cluster = with_inventory(profile, watched, inventory)
    nodes = (obj for obj in inventory if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Node"))
    return Context(
        server=Server(
            profile,
            namespaces=cluster.namespaces.objects,
            nodes=filter(None, map(read_node, nodes)),
            verbatim=True,
        ),
        rules=config.get("apiServer", "serves") == CUSTOM_RESOURCES,
        policies=list(make_policies(config)),
        facts=_facts(profile, inventory) if config.get("lints") == WARN else None,
        quota=make_quota(config, profile, watched),
        labels=make_label_guard(config),
        pods=_pod_policy(config, cluster),
        feasibility=_feasibility(config, cluster, watched, profile),
    )


def watches(config: Config) -> bool:
    """Whether the service watches an API server, so that it is known which one that is."""
    return bool(_watched_parts(config))


def _watched_parts(config: Config) -> list[str]:
    return [part for part in PARTS if config.get("apiServer", part) == WATCH]


def make_cluster(config: Config) -> WatchedCluster:
    """The cluster, to be watched as far as the configuration wants that.

    :raises ConfigError: if the CA certificates cannot be read.
    """
    parts = _watched_parts(config)
    client = make_client(config, SOCKET_SECONDS) if parts else None
    return WatchedCluster(make_profile(config), parts, client, patch_group(config))


def watched_files(config: Config) -> list[Path]:
    """The files whose change may change the context, the configuration itself among them."""
    watched = [Path(config.document.file)]
    for name in config.get("inventory"):
        path = config.path(name)
        watched += sorted(path.rglob("*")) if path.is_dir() else [path]
    schemas = config.get("policies", "opaqueParameters", "schemas") or ()
    return watched + [config.path(entry["schemaFile"]) for entry in schemas if "schemaFile" in entry]


def _inventory(config: Config) -> Iterator[dict[str, Any]]:
    problems: list[DocumentError] = []
    for index, name in enumerate(config.get("inventory")):
        for item in load([str(config.path(name))]):
            if isinstance(item, Document):
                problem = _unreadable(item)
                if problem is None:
                    yield item.value
                else:
                    problems.append(problem)
            elif item.line:
                problems.append(item)
            else:
                path = ("inventory", index)
                problems.append(config.document.error(path, f"inventory[{index}]: {item}"))
    if problems:
        raise ConfigError(problems)


def _unreadable(document: Document) -> DocumentError | None:
    """Why a server could not read an object of the group; None if it can, and for other objects."""
    if kind_of(document.value.get("apiVersion"), document.value.get("kind")) is None:
        return None
    try:
        hub_object(document.value, SCHEMAS_WITH_PROPOSALS, defaults=None)
    except DecodingError as error:
        return document.error(error.path, error.text)
    return None


def _pod_policy(config: Config, cluster: Cluster) -> PreScheduledPods | None:
    policy = config.get("policies", "preScheduledPods")
    if not policy or policy["mode"] == OFF:
        return None
    return PreScheduledPods(policy["mode"], partial(host_name_of, cluster.nodes))


def _feasibility(
    config: Config, cluster: Cluster, watched: WatchedCluster, profile: Profile
) -> Feasibility | None:
    mode = config.get("policies", "feasibility", "mode")
    has_devices = DEVICES in watched.parts or cluster.devices.is_known
    if mode == OFF or not (has_devices or config.get("apiServer", "devices") == WATCH):
        return None
    trusts_everybody = config.get("policies", "feasibility", "insecureSkipClientVerify")
    if not trusts_everybody and config.get("tls", "clientAuthorityFile") is None:
        if mode == ENFORCE:
            raise config.error(
                ("policies", "feasibility", "mode"), f"policies.feasibility.mode: {_NO_CLIENTS}"
            )
        return None
    if not has_devices:  # the cluster is followed by workers only
        return None
    return Feasibility(mode, cluster.devices, profile, is_for_known_clients=not trusts_everybody)


def left_out(config: Config) -> str:
    """What is not answered for want of certificates, and what to do about it; empty if nothing."""
    get = config.get
    is_wanted = get("policies", "feasibility", "mode") == WARN and (
        get("apiServer", "devices") == WATCH or get("inventory")
    )
    is_answered = get("policies", "feasibility", "insecureSkipClientVerify") or get(
        "tls", "clientAuthorityFile"
    )
    return (
        f"no warnings about claims that no device can satisfy: {_NO_CLIENTS}"
        if is_wanted and not is_answered
        else ""
    )


def _facts(profile: Profile, inventory: Iterable[Object]) -> Facts:
    objects = list(inventory)
    has_classes = any(text(obj, "kind") == DEVICE_CLASS.name for obj in objects)
    facts = Facts(profile, complete=[DEVICE_CLASS.name] if has_classes else ())
    for obj in objects:
        facts.learn(obj)
    return facts
