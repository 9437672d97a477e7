"""From a configuration to the API server: which one, by whose rights, and as whose release."""

from __future__ import annotations

from urllib3 import PoolManager

from cluster.access import Access, service_account
from cluster.client import TIMEOUT, Client
from resourceapi.gates import GateError
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.releases import Profile, UnknownRelease
from serving.config_file import Config

NAMESPACE = "claimcheck-system"
CUSTOM_RESOURCES = "CustomResources"


def make_profile(config: Config) -> Profile:
    """The release and gates of the configuration's API server.

    :raises ConfigError: if there is no such release or gate.
    """
    try:
        return Profile(
            config.get("apiServer", "release"),
            config.get("apiServer", "featureGates"),
            proposed_kinds=config.get("apiServer", "serves") == CUSTOM_RESOURCES,
        )
    except UnknownRelease as error:
        raise config.error(("apiServer", "release"), f"apiServer.release: {error}") from None
    except GateError as error:
        raise config.error(("apiServer", "featureGates"), f"apiServer.featureGates: {error}") from None


def patch_group(config: Config) -> str:
    """The API group in which the configuration's API server has ResourceSlicePatches."""
    return GROUP if config.get("apiServer", "serves") == CUSTOM_RESOURCES else OWN_GROUP


def make_client(config: Config, timeout: float = TIMEOUT) -> Client:
    """A client of the configuration's API server.

    :param timeout: seconds for an answer.
    :raises ConfigError: if the CA certificates cannot be read.
    """
    if config.is_only_checked and not config.names("apiServer", "caFile"):
        config.left_unread.add(("apiServer", "caFile"))
        return Client(Access(config.get("apiServer", "address"), PoolManager(), list), timeout=timeout)
    try:
        access = service_account(
            config.get("apiServer", "address"),
            token_file=config.path(config.get("apiServer", "tokenFile")),
            ca_file=config.path(config.get("apiServer", "caFile")),
        )
    except OSError as error:
        raise config.file_error(("apiServer", "caFile"), error) from None
    return Client(access, timeout=timeout)


def own_namespace(config: Config, *path: str, suffix: str = "") -> str:
    """The namespace at a path of the configuration; if there is none, that of the service's pod, with a suffix."""
    named: str | None = config.get(*path)
    if named is not None:
        return named
    try:
        beside = config.path(config.get("apiServer", "tokenFile")).with_name("namespace")
        found = beside.read_text("utf-8").strip()
    except (OSError, ValueError):
        found = ""
    return (found or NAMESPACE) + suffix
