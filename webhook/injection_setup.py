"""From a configuration to what keeps the own authorities in webhook configurations and CRDs."""

from __future__ import annotations

from pathlib import Path

from serving import certificate_setup
from serving.api_server import make_client
from serving.certificate_setup import certificates_are_own, own_directory
from serving.certificate_store import CURRENT, Keeper
from serving.certificates import BUNDLE
from serving.config_file import Config
from webhook.injection import COLLECTIONS, Injection, Target


def make_keeper(config: Config, runtime: Path) -> Keeper | None:
    """What makes and renews own certificates, the next authority not before it is injected; None if they are given.

    :param runtime: a directory of this service alone, for as long as it runs.
    :raises ConfigError: as :func:`serving.certificate_setup.make_keeper` and :func:`make_injection`.
    """
    injection = make_injection(config, runtime) if certificates_are_own(config) else None
    is_trusted = None if injection is None else injection.is_everywhere
    return certificate_setup.make_keeper(config, runtime, "webhook", is_trusted)


def injects_itself(config: Config) -> bool:
    """Whether the service itself writes its authorities into objects of the cluster."""
    return bool(config.get("tls", "inject", "by") == "serve")


def make_injection(config: Config, runtime: Path, bundle: Path | None = None) -> Injection | None:
    """What keeps the own authorities in objects of the cluster; None if there are no such objects.

    :param runtime: as for :func:`make_keeper`.
    :param bundle: the file with the authorities, if it is not the service's own.
    :raises ConfigError: if certificates are given, or the API server's authorities cannot be read.
    """
    targets = [
        Target(collection, name)
        for collection in COLLECTIONS
        for name in config.get("tls", "inject", collection)
    ]
    if not targets:
        return None
    if not certificates_are_own(config):
        raise config.error(("tls", "inject"), "tls.inject: only for own certificates (directory or secret)")
    return Injection(
        make_client(config), bundle or own_directory(config, runtime) / CURRENT / BUNDLE, targets
    )
