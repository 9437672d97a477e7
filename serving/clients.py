"""Which clients may ask for what, by their TLS certificates."""

from __future__ import annotations

from typing import Any

from serving.routes import HTTPError

NO_CERTIFICATE = "a client certificate is needed"
OTHER_CLIENT = "the client certificate is for somebody else"


class Clients:
    """The clients that may ask for everything: those with a certificate that TLS has verified.

    :param names: if there are any, the certificate must have one of these common names.
    :param for_all_requests: whether other clients are refused altogether.
    """

    def __init__(self, names: tuple[str, ...] = (), *, for_all_requests: bool = True) -> None:
        self._names = frozenset(names)
        self._for_all_requests = for_all_requests

    def doubt(self, certificate: Any) -> str:
        """Why a client is none of these; empty if it is one.

        :param certificate: as :meth:`ssl.SSLSocket.getpeercert` describes it; empty for none.
        """
        if not certificate:
            return NO_CERTIFICATE
        if self._names and self._names.isdisjoint(_common_names(certificate)):
            return OTHER_CLIENT
        return ""

    def check(self, certificate: Any) -> str:
        """The doubt about a client whose requests are answered.

        :param certificate: as for :meth:`doubt`.
        :raises HTTPError: if it is refused.
        """
        doubt = self.doubt(certificate)
        if doubt and self._for_all_requests:
            raise HTTPError(doubt, 403)
        return doubt


def _common_names(certificate: Any) -> list[str]:
    return [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
