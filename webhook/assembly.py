"""From a configuration to what the webhooks need: server, policies, quota, and the cluster that they depend on."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from advice.lints import Facts
from cluster.access import service_account
from cluster.client import TIMEOUT, Client
from cluster.reflector import SOCKET_SECONDS
from documents.document import Document
from documents.errors import DocumentError
from documents.loading import load
from quota.cluster import ClusterNamespaces
from quota.config_maps import ConfigMapStore
from quota.controller import RecountController
from quota.enforcement import ObservedQuota, QuotaCheck, ReservedQuota, held_for_custom_resources
from quota.reservations import Reservations
from resourceapi.gates import GateError
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from resourceapi.releases import Profile, UnknownRelease
from serving.config_file import Config, ConfigError, misread_keys
from serving.logs import log
from validation.server import Server
from webhook.cluster import DEVICES, PARTS, Cluster, WatchedCluster, with_inventory
from webhook.context import OFF, WARN, Context, Policy
from webhook.feasibility import Feasibility
from webhook.label_guard import LabelGuard
from webhook.labels import LabelRule
from webhook.object_cache import host_name_of
from webhook.policies import AdminAccess, OpaqueParameters, SchemaKey
from webhook.prescheduled import PreScheduledPods
from webhook.schemas import SchemaError, compile_schema

Step = str | int
WATCH = "Watch"
NAMESPACE = "claimcheck-system"
_NO_CLIENTS = (
    "quota.mode: only the API server may ask for it, since that asks the cluster, and tells who uses what: name the "
    "authority of its client certificate in tls.clientAuthorityFile (or set quota.insecureSkipClientVerify: then everybody "
    "who reaches the port can read the quotas of any namespace and, where CRDs serve the kinds, use them up)"
)


def make_context(config: Config, watched: WatchedCluster | None = None) -> Context:
    """The context that a configuration describes; reads the files that it names.

    :param watched: what is watched of the cluster is not taken from the inventory.
    :raises ConfigError: for what a schema cannot tell: unknown releases and gates, unreadable inventories, and others.
    """
    profile = _profile(config)
    watched = watched or WatchedCluster(profile)
    inventory = list(_inventory(config))
    cluster = with_inventory(profile, watched, inventory)
    nodes = [obj for obj in inventory if (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Node")]
    return Context(
        server=Server(
            profile,
            namespaces=cluster.namespaces.objects,
            nodes=[node for node in nodes if name_of(node)],
            verbatim=True,
        ),
        rules=config.get("apiServer", "serves") == "CustomResources",
        policies=list(_policies(config)),
        facts=_facts(profile, inventory) if config.get("lints") == WARN else None,
        quota=_quota(config, profile, watched),
        labels=_label_guard(config),
        pods=_pod_policy(config, cluster),
        feasibility=_feasibility(config, cluster, watched, profile),
    )


def make_cluster(config: Config) -> WatchedCluster:
    """The cluster, to be watched as far as the configuration wants that.

    :raises ConfigError: if the CA certificates cannot be read.
    """
    parts = [part for part in PARTS if config.get("apiServer", part) == WATCH]
    client = make_client(config, SOCKET_SECONDS) if parts else None
    return WatchedCluster(_profile(config), parts, client)


def watched_files(config: Config) -> list[Path]:
    """The files whose change may change the context, the configuration itself among them."""
    watched = [Path(config.document.file)]
    for name in config.get("inventory"):
        path = config.path(name)
        watched += sorted(path.rglob("*")) if path.is_dir() else [path]
    schemas = config.get("policies", "opaqueParameters", "schemas") or ()
    return watched + [config.path(entry["schemaFile"]) for entry in schemas if "schemaFile" in entry]


def _profile(config: Config) -> Profile:
    try:
        return Profile(config.get("apiServer", "release"), config.get("apiServer", "featureGates"))
    except UnknownRelease as error:
        raise config.error(("apiServer", "release"), f"apiServer.release: {error}") from None
    except GateError as error:
        raise config.error(("apiServer", "featureGates"), f"apiServer.featureGates: {error}") from None


def make_client(config: Config, timeout: float = TIMEOUT) -> Client:
    """A client of the configuration's API server.

    :param timeout: seconds for an answer.
    :raises ConfigError: if the CA certificates cannot be read.
    """
    try:
        access = service_account(
            config.get("apiServer", "address"),
            token_file=config.path(config.get("apiServer", "tokenFile")),
            ca_file=config.path(config.get("apiServer", "caFile")),
        )
    except OSError as error:
        raise config.error(("apiServer", "caFile"), f"apiServer.caFile: {error.strerror or error}") from None
    return Client(access, timeout=timeout)


def own_namespace(config: Config, *path: str) -> str:
    """The namespace at a path of the configuration; if there is none, that of the service's pod."""
    named: str | None = config.get(*path)
    if named is not None:
        return named
    try:
        beside = config.path(config.get("apiServer", "tokenFile")).with_name("namespace")
        return beside.read_text("utf-8").strip() or NAMESPACE
    except (OSError, ValueError):
        return NAMESPACE


def _quota(config: Config, profile: Profile, watched: WatchedCluster) -> QuotaCheck | None:
    if config.get("quota", "mode") == OFF:
        return None
    reserves = config.get("apiServer", "serves") == "CustomResources"
    trusts_everybody = config.get("quota", "insecureSkipClientVerify")
    if not trusts_everybody and config.get("tls", "clientAuthorityFile") is None:
        raise config.error(("quota", "mode"), _NO_CLIENTS)
    api = make_client(config)
    namespaces = ClusterNamespaces(api, Server(profile))
    if not reserves:
        return ObservedQuota(namespaces, is_for_known_clients=not trusts_everybody)
    store = ConfigMapStore(api, own_namespace(config, "quota", "namespace"))
    reservations = Reservations(
        store,
        namespaces,
        is_enforced=held_for_custom_resources,
        is_deleted=watched.claim_counts.deleted.__contains__,
        grace=config.get("quota", "graceSeconds"),
    )
    controller = RecountController(
        reservations,
        namespaces.namespaces_with_quota,
        interval=config.get("quota", "recountSeconds"),
        report=lambda namespace, error: log(
            logging.WARNING, "quota not recounted", namespace=namespace, reason=str(error)
        ),
    )
    return ReservedQuota(reservations, namespaces, controller, is_for_known_clients=not trusts_everybody)


def _inventory(config: Config) -> Iterator[dict[str, Any]]:
    names = [str(config.path(name)) for name in config.get("inventory")]
    problems: list[DocumentError] = []
    for item in load(names) if names else ():
        if isinstance(item, Document):
            yield item.value
        else:
            problems.append(item)
    if problems:
        raise ConfigError(problems)


def _labels(config: Config, policy: str) -> list[LabelRule]:
    found = config.get("policies", policy)
    return [LabelRule(label["key"], label.get("value")) for label in (found or {}).get("labels", ())]


def _label_guard(config: Config) -> LabelGuard | None:
    guard = config.get("policies", "adminAccessLabels")
    if not guard or guard["mode"] == OFF:
        return None
    return LabelGuard(
        guard["mode"],
        _labels(config, "adminAccessLabels" if "labels" in guard else "adminAccess"),
        users=guard.get("users", ()),
        groups=guard.get("groups", ()),
    )


def _pod_policy(config: Config, cluster: Cluster) -> PreScheduledPods | None:
    policy = config.get("policies", "preScheduledPods")
    if not policy or policy["mode"] == OFF:
        return None
    return PreScheduledPods(policy["mode"], partial(host_name_of, cluster.nodes))


def _feasibility(
    config: Config, cluster: Cluster, watched: WatchedCluster, profile: Profile
) -> Feasibility | None:
    mode = config.get("policies", "feasibility", "mode")
    if mode == OFF or not (DEVICES in watched.parts or cluster.devices.is_known):
        return None
    return Feasibility(mode, cluster.devices, profile.gates)


def _facts(profile: Profile, inventory: Iterable[Object]) -> Facts:
    facts = Facts(profile)
    for obj in inventory:
        facts.learn(obj)
    return facts


def _policies(config: Config) -> Iterator[Policy]:
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
