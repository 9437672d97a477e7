"""The certificates that a configuration describes: where they are kept, who renews them, and which one is served."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from serving.certificate_secret import SecretStore
from serving.certificate_store import CURRENT, DirectoryStore, Keeper
from serving.certificates import BUNDLE, LEAF, LEAF_KEY, Terms
from serving.config_file import Config
from serving.tls import CertificateError, ServerTLS
from webhook.cluster_setup import make_client, own_namespace
from webhook.injection import COLLECTIONS, Injection, Target

# Seconds for an answer about the Secret: the API server must not keep the supervisor from looking after the workers.
SECRET_SECONDS = 3.0


def certificate_terms(config: Config) -> Terms | None:
    """The names and lifetimes of own certificates; None if certificates are given.

    :raises ConfigError: if an authority would end before its successor is trusted.
    """
    if not certificates_are_own(config):
        return None
    terms = Terms(
        tuple(config.get("tls", "names")),
        timedelta(days=config.get("tls", "authorityDays")),
        timedelta(days=config.get("tls", "leafDays")),
        timedelta(hours=config.get("tls", "trustLeadHours")),
    )
    if terms.trust_lead * 3 >= terms.authority_life:
        raise config.error(
            ("tls", "trustLeadHours"), "tls.trustLeadHours: must be less than a third of tls.authorityDays"
        )
    return terms


def make_keeper(config: Config, runtime: Path) -> Keeper | None:
    """What makes and renews own certificates; None if certificates are given.

    :param runtime: a directory of this service alone, for as long as it runs.
    :raises ConfigError: as :func:`certificate_terms`, or if the API server's authorities cannot be read.
    """
    terms = certificate_terms(config)
    if terms is None:
        return None
    injection = make_injection(config, runtime)
    is_trusted = _anything if injection is None else injection.is_everywhere
    directory = DirectoryStore(_directory(config, runtime))
    if config.get("tls", "secret") is None:
        return Keeper(directory, terms, is_trusted=is_trusted)
    api = make_client(config, SECRET_SECONDS)
    namespace = own_namespace(config, "tls", "secret", "namespace")
    store = SecretStore(api, namespace, config.get("tls", "secret", "name"))
    return Keeper(store, terms, directory, is_trusted, api.close)


def _anything(pem: bytes) -> bool:
    """Where nothing is injected, it is not known what clients trust: the trust lead has to be enough."""
    return True


def make_tls(config: Config, runtime: Path) -> ServerTLS:
    """The certificate to serve with.

    :param runtime: as for :func:`make_keeper`.
    :raises ConfigError: if there is no usable one.
    """
    require_given_files(config)
    authority = config.get("tls", "clientAuthorityFile")
    if certificates_are_own(config):
        current = _directory(config, runtime) / CURRENT
        files = current / LEAF, current / LEAF_KEY
    else:
        files = (
            config.path(config.get("tls", "certificateFile")),
            config.path(config.get("tls", "keyFile")),
        )
    try:
        return ServerTLS(*files, authority and config.path(authority))
    except CertificateError as error:
        raise config.error(("tls",), f"tls: {error}") from None


def require_given_files(config: Config) -> None:
    """Insist that the files with certificates and keys which the configuration names can be read.

    :raises ConfigError: for the first that cannot.
    """
    for name in ("certificateFile", "keyFile", "clientAuthorityFile"):
        file = config.get("tls", name)
        if file is not None:
            try:
                config.path(file).read_bytes()
            except OSError as error:
                raise config.file_error(("tls", name), error) from None


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
    return Injection(make_client(config), bundle or _directory(config, runtime) / CURRENT / BUNDLE, targets)


def certificates_are_own(config: Config) -> bool:
    """Whether the service makes and renews its certificates; otherwise files with them are given."""
    return config.get("tls", "certificateFile") is None


def _directory(config: Config, runtime: Path) -> Path:
    """The directory with the own certificates that workers read."""
    directory = config.get("tls", "directory")
    return runtime / "certificates" if directory is None else config.path(directory)
