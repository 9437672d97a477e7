"""How an API server is reached: its address, TLS, proxies and credentials."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from urllib3 import PoolManager

# How strictly Kubernetes reads certificates.


def allow_incomplete_certificates(context: ssl.SSLContext) -> None:
    """Accept certificates as Kubernetes does: those of many clusters lack extensions that Python requires from 3.13 on."""
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT


# TLS with the API server: which certificates are trusted.


def client_context(authority: Path) -> ssl.SSLContext:
    """The TLS context of a client of the API server.

    :param authority: the CA certificates to trust; PEM.
    :raises OSError: (or ssl.SSLError) if they cannot be read.
    """
    context = ssl.create_default_context(cafile=str(authority))
    allow_incomplete_certificates(context)
    return context


# One for each thread that asks at the same time; further connections are closed after use.
POOLED_CONNECTIONS = 64
# Where kubelet mounts the credentials of a pod's service account.
POD_CREDENTIALS = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Access(NamedTuple):
    """The way to one API server.

    ``server``: ``https://host[:port]``, without a path or with that of a gateway.  ``pool``: opens connections to it.
    ``headers``: called for every request: the headers that say who asks; raises OSError if credentials cannot be read.
    """

    server: str
    pool: PoolManager
    headers: Callable[[], list[tuple[str, str]]]


def service_account(server: str, *, token_file: Path, ca_file: Path) -> Access:
    """Access with a token and CA certificates in files, as kubelet mounts them into pods.

    :param server: ``https://host[:port]``.
    :param token_file: read for every request, since kubelet renews it.
    :raises OSError: (or ssl.SSLError) if the CA certificates cannot be read.
    """
    pool = PoolManager(ssl_context=client_context(ca_file), maxsize=POOLED_CONNECTIONS)

    def headers() -> list[tuple[str, str]]:
        return [("Authorization", f"Bearer {token_file.read_text('utf-8').strip()}")]

    return Access(server.rstrip("/"), pool, headers)


def in_cluster(
    environment: Mapping[str, str], credentials: Path = POD_CREDENTIALS
) -> tuple[Access, str] | None:
    """Access as the service account of the pod that this program runs in, and the pod's namespace.

    :returns: None outside of a pod.
    :raises OSError: (or ssl.SSLError) if the CA certificates cannot be read.
    """
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    token, namespace = credentials / "token", credentials / "namespace"
    if not host or not port or not token.is_file():
        return None
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    access = service_account(server, token_file=token, ca_file=credentials / "ca.crt")
    return access, namespace.read_text("utf-8").strip() if namespace.is_file() else ""
