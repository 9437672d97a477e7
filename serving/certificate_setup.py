"""The certificates that a service's configuration describes: where they are kept, who renews them, and which one is served."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from serving.api_server import make_client, own_namespace
from serving.certificate_store import CURRENT, DirectoryStore, Keeper, SecretStore
from serving.certificates import BUNDLE, LEAF, LEAF_KEY, IsTrusted, Terms
from serving.config_file import Config
from serving.tls import HAS_EXPIRED, CertificateError, ServerTLS, shown

# Seconds for an answer about the Secret: the API server must not keep the supervisor from looking after the workers.
SECRET_SECONDS = 3.0


def certificate_terms(config: Config, service: str, client_name: str = "") -> Terms | None:
    """The names and lifetimes of own certificates; None if certificates are given.

    :param service: which one they are for, as their subjects say it.
    :param client_name: of a client that gets a certificate, too.
    :raises ConfigError: if an authority would end before its successor is trusted.
    """
    if not certificates_are_own(config):
        return None
    terms = Terms(
        tuple(config.get("tls", "names")),
        timedelta(days=config.get("tls", "authorityDays")),
        timedelta(days=config.get("tls", "leafDays")),
        timedelta(hours=config.get("tls", "trustLeadHours")),
        client_name,
        service,
    )
    if terms.trust_lead * 3 >= terms.authority_life:
        raise config.error(
            ("tls", "trustLeadHours"), "tls.trustLeadHours: must be less than a third of tls.authorityDays"
        )
    return terms


def make_keeper(
    config: Config,
    runtime: Path,
    service: str,
    is_trusted: IsTrusted | None = None,
    client_name: str = "",
) -> Keeper | None:
    """What makes and renews own certificates; None if certificates are given.

    :param service: as for :func:`certificate_terms`.
    :param runtime: a directory of this service alone, for as long as it runs.
    :param is_trusted: as for :func:`serving.certificates.advance`; None if it is not known what clients trust.
    :param client_name: as for :func:`certificate_terms`.
    :raises ConfigError: as :func:`certificate_terms`, or if the API server's authorities cannot be read.
    """
    terms = certificate_terms(config, service, client_name)
    if terms is None:
        return None
    is_trusted = is_trusted or _anything
    directory = DirectoryStore(own_directory(config, runtime))
    if config.get("tls", "secret") is None:
        return Keeper(directory, terms, is_trusted=is_trusted)
    api = make_client(config, SECRET_SECONDS)
    namespace = own_namespace(config, "tls", "secret", "namespace")
    store = SecretStore(api, namespace, config.get("tls", "secret", "name"))
    return Keeper(store, terms, directory, is_trusted, api.close)


def _anything(pem: bytes) -> bool:
    """The trust lead has to be enough."""
    return True


def make_tls(config: Config, runtime: Path, *, knows_own_clients: bool = False) -> ServerTLS:
    """The certificate to serve with.

    :param runtime: as for :func:`make_keeper`.
    :param knows_own_clients: whether clients with a certificate of the own authority are known.
    :raises ConfigError: if there is no usable one.
    """
    require_given_files(config)
    given = config.get("tls", "clientAuthorityFile")
    authority = given and config.path(given)
    if certificates_are_own(config):
        current = own_directory(config, runtime) / CURRENT
        files = current / LEAF, current / LEAF_KEY
        authority = current / BUNDLE if knows_own_clients else authority
    else:
        files = (
            config.path(config.get("tls", "certificateFile")),
            config.path(config.get("tls", "keyFile")),
        )
    try:
        return ServerTLS(*files, authority)
    except CertificateError as error:
        raise config.error(("tls",), f"tls: {error}") from None


def check_notes(config: Config) -> list[str]:
    """What to tell of a configuration that is only checked, and can be used.

    :raises ConfigError: if the given certificate has expired, with which a service starts, and waits for another one.
    """
    notes = []
    for name in sorted(config.left_unread):
        notes.append(f"not checked: {config.path(config.get(*name))}, the default of {'.'.join(name)}")
    validity = None if certificates_are_own(config) else make_tls(config, Path()).validity
    doubt = "" if validity is None else validity.doubt(datetime.now(UTC))
    if validity is not None and doubt:
        message = f"tls.certificateFile: {doubt}: {shown(validity.ends)}"
        problem = config.error(("tls", "certificateFile"), message)
        if doubt == HAS_EXPIRED:
            raise problem
        notes.append(str(problem))
    return notes


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


def certificates_are_own(config: Config) -> bool:
    """Whether the service makes and renews its certificates; otherwise files with them are given."""
    return config.get("tls", "certificateFile") is None


def own_directory(config: Config, runtime: Path) -> Path:
    """The directory with the own certificates that workers read."""
    directory = config.get("tls", "directory")
    return runtime / "certificates" if directory is None else config.path(directory)
