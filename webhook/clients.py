"""Who may ask for what: API servers show a client certificate, others only get what changes nothing and tells
nothing of the cluster."""

from __future__ import annotations

from typing import Any

from webhook.reviews import WebhookError

NONE_SHOWN = "a client certificate is needed"
SOMEBODY_ELSE = "the client certificate is for somebody else"


class Clients:
    """Clients with a certificate that TLS has verified, and, if there are ``names``, with one of these common names."""

    def __init__(self, names: tuple[str, ...] = (), *, for_all_reviews: bool = True) -> None:
        """
        :param for_all_reviews: whether nobody else is answered at all.
        """
        self._names = frozenset(names)
        self._for_all_reviews = for_all_reviews

    def doubt(self, certificate: Any) -> str:
        """Why a client is none of these; empty if it is one.

        :param certificate: as :meth:`ssl.SSLSocket.getpeercert` describes it; empty for none.
        """
        if not certificate:
            return NONE_SHOWN
        if self._names and self._names.isdisjoint(_common_names(certificate)):
            return SOMEBODY_ELSE
        return ""

    def check(self, certificate: Any) -> str:
        """The doubt about a client that is to be answered.

        :raises WebhookError: if it is not.
        """
        doubt = self.doubt(certificate)
        if doubt and self._for_all_reviews:
            raise WebhookError(doubt, 403)
        return doubt


def _common_names(certificate: Any) -> list[str]:
    return [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
