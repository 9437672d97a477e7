"""TLS with the API server: which certificates are trusted."""

from __future__ import annotations

import ssl
from pathlib import Path

from resourceapi.tls import allow_incomplete_certificates


def client_context(authority: Path) -> ssl.SSLContext:
    """The TLS context of a client of the API server.

    :param authority: the CA certificates to trust; PEM.
    :raises OSError: (or ssl.SSLError) if they cannot be read.
    """
    context = ssl.create_default_context(cafile=str(authority))
    allow_incomplete_certificates(context)
    return context
