"""From a configuration to what verdicts need: server, policies, inventory."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from documents.document import Document
from documents.errors import DocumentError
from documents.loading import load
from quota.cluster import ClusterNamespaces
from quota.configmaps import ConfigMapStore
from quota.controller import RecountController
from quota.enforcement import ObservedQuota, QuotaCheck, ReservedQuota, held_for_custom_resources
from quota.reservations import Reservations
from resourceapi.gates import GateError
from resourceapi.releases import Profile, UnknownRelease
from validation.lints import Facts
from validation.lints.shapes import mapping, name_of
from validation.server import Server
from webhook.apiserver import ApiServer
from webhook.certificates import BUNDLE
from webhook.config import Config, ConfigError
from webhook.context import OFF, WARN, Context, Policy
from webhook.injection import COLLECTIONS, Injection, Target
from webhook.logs import log
from webhook.namespaces import NamespaceWatch
from webhook.policies import AdminAccess, LabelRule, OpaqueParameters, SchemaKey
from webhook.schemas import SchemaError, compile_schema
from webhook.tls import CertificateError, ServerTLS

Step = str | int
WATCH = "Watch"


def make_context(config: Config, namespaces: NamespaceWatch | None = None) -> Context:
    """The context that a configuration describes; reads the files that it names.

    :param namespaces: where labels are known from instead of the inventory.
    :raises ConfigError: for what a schema cannot tell: unknown releases and gates, unreadable inventories, and others.
    """
    profile = _profile(config)
    facts = Facts(profile)
    labels_of: dict[str, Mapping[str, str]] = {} if namespaces is None else namespaces.labels
    nodes: list[dict[str, Any]] = []
    for value in _inventory(config):
        if value.get("apiVersion") == "v1" and value.get("kind") == "Namespace":
            if namespaces is None:
                labels = mapping(value, "metadata", "labels")
                labels_of[name_of(value)] = {
                    key: text for key, text in labels.items() if isinstance(text, str)
                }
        elif value.get("apiVersion") == "v1" and value.get("kind") == "Node" and name_of(value):
            nodes.append(value)
        else:
            facts.learn(value)
    return Context(
        server=Server(profile, namespaces=labels_of, nodes=nodes, verbatim=True),
        rules=config.get("apiServer", "serves") == "CustomResources",
        policies=list(_policies(config)),
        facts=facts if config.get("lints") == WARN else None,
        quota=_quota(config, profile),
    )


def make_namespace_watch(config: Config) -> NamespaceWatch | None:
    """What follows the namespaces of the cluster, None if the inventory has them.

    :raises ConfigError: if the API server's authorities cannot be read.
    """
    if config.get("apiServer", "namespaces") != WATCH:
        return None
    at = ("apiServer", "caFile")
    try:
        return NamespaceWatch(
            config.get("apiServer", "address"),
            token_file=config.path(config.get("apiServer", "tokenFile")),
            ca_file=config.path(config.get(*at)),
        )
    except OSError as error:
        raise config.error(at, f"apiServer.caFile: {error.strerror or error}") from None


def make_injection(config: Config) -> Injection | None:
    """What keeps the own authorities in objects of the cluster, None if there is nothing to do.

    :raises ConfigError: if the API server's authorities cannot be read.
    """
    targets = [
        Target(collection, name)
        for collection in COLLECTIONS
        for name in config.get("tls", "inject", collection)
    ]
    if not targets:
        return None
    api = _api_server(config)
    return Injection(api, certificate_files(config)[0].with_name(BUNDLE), targets)


def watched_files(config: Config) -> list[Path]:
    """The files whose change may change the context, the configuration itself among them."""
    watched = [Path(config.document.file)]
    for name in config.get("inventory"):
        path = config.path(name)
        watched += sorted(path.rglob("*")) if path.is_dir() else [path]
    schemas = config.get("policies", "opaqueParameters", "schemas") or ()
    return watched + [config.path(entry["schemaFile"]) for entry in schemas if "schemaFile" in entry]


def certificate_files(config: Config) -> tuple[Path, Path]:
    """Where the leaf and its key are."""
    directory = config.get("tls", "directory")
    if directory is not None:
        return config.path(directory) / "current" / "tls.crt", config.path(directory) / "current" / "tls.key"
    return config.path(config.get("tls", "certificateFile")), config.path(config.get("tls", "keyFile"))


def make_tls(config: Config) -> ServerTLS:
    """
    :raises ConfigError: if there is no usable certificate.
    """
    authority = config.get("tls", "clientAuthorityFile")
    try:
        return ServerTLS(*certificate_files(config), authority and config.path(authority))
    except CertificateError as error:
        raise config.error(("tls",), f"tls: {error}") from None


def _profile(config: Config) -> Profile:
    try:
        return Profile(config.get("apiServer", "release"), config.get("apiServer", "featureGates"))
    except UnknownRelease as error:
        raise config.error(("apiServer", "release"), f"apiServer.release: {error}") from None
    except GateError as error:
        raise config.error(("apiServer", "featureGates"), f"apiServer.featureGates: {error}") from None


def _api_server(config: Config) -> ApiServer:
    """
    :raises ConfigError: if its authorities cannot be read.
    """
    at = ("apiServer", "caFile")
    try:
        return ApiServer(
            config.get("apiServer", "address"),
            token_file=config.path(config.get("apiServer", "tokenFile")),
            ca_file=config.path(config.get(*at)),
        )
    except OSError as error:
        raise config.error(at, f"apiServer.caFile: {error.strerror or error}") from None


def _quota(config: Config, profile: Profile) -> QuotaCheck | None:
    if config.get("quota", "mode") == OFF:
        return None
    api = _api_server(config)
    namespaces = ClusterNamespaces(api, Server(profile))
    if config.get("apiServer", "serves") == "BuiltIn":
        return ObservedQuota(namespaces)
    store = ConfigMapStore(api, config.get("quota", "namespace"))
    reservations = Reservations(
        store,
        namespaces,
        is_enforced=held_for_custom_resources,
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
    return ReservedQuota(reservations, namespaces, controller)


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


def _policies(config: Config) -> Iterator[Policy]:
    admin = config.get("policies", "adminAccess")
    if admin and admin["mode"] != OFF:
        yield AdminAccess(
            admin["mode"], [LabelRule(label["key"], label.get("value")) for label in admin["labels"]]
        )
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
    return found[0], found[0].value, ()
