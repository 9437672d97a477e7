"""TLS with the API server: which certificates are trusted, and how strictly they are read."""

from __future__ import annotations

import ssl
from pathlib import Path


def client_context(authority: Path) -> ssl.SSLContext:
    """The TLS context of a client of the API server.

    :param authority: the CA certificates to trust; PEM.
    :raises OSError: (or ssl.SSLError) if they cannot be read.
    """
    context = ssl.create_default_context(cafile=str(authority))
    allow_incomplete_certificates(context)
    return context


def allow_incomplete_certificates(context: ssl.SSLContext) -> None:
    """Accept certificates as Kubernetes does: those of many clusters lack extensions that Python requires from 3.13 on."""
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
