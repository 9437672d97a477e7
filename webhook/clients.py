"""Who may ask for reviews: API servers that show a client certificate."""

from __future__ import annotations

from typing import Any

from webhook.reviews import WebhookError


class Clients:
    """Clients with a certificate that TLS has verified, and, if there are ``names``, with one of these common names."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self._names = frozenset(names)

    def check(self, certificate: Any) -> None:
        """
        :param certificate: as :meth:`ssl.SSLSocket.getpeercert` describes it; empty for none.
        :raises WebhookError: if that is none of the clients.
        """
        if not certificate:
            raise WebhookError("a client certificate is needed", 403)
        if self._names and self._names.isdisjoint(_common_names(certificate)):
            raise WebhookError("the client certificate is for somebody else", 403)


def _common_names(certificate: Any) -> list[str]:
    return [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
