"""From a configuration to the quota check."""

from __future__ import annotations

import logging

from quota.cluster import ClusterNamespaces
from quota.config_maps import ConfigMapStore
from quota.controller import RecountController
from quota.enforcement import ObservedQuota, QuotaCheck, ReservedQuota, held_for_custom_resources
from quota.reservations import Reservations
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import log
from resourceapi.releases import Profile
from serving.api_server import make_client, own_namespace
from serving.config_file import Config
from validation.server import Server
from webhook.cluster import WatchedCluster
from webhook.context import OFF

_NO_CLIENTS = (
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
        raise config.error(("quota", "mode"), _NO_CLIENTS)
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
        grace=config.get("quota", "graceSeconds"),
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
