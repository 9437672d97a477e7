"""Why there is no answer from a server, in words for people, out of what the libraries raise."""

from __future__ import annotations

import ssl

from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    LocationValueError,
    NameResolutionError,
    NewConnectionError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)

from resourceapi.json_values import JSONError
from resourceapi.shortening import shortened

MAX_REASON = 2_000
MAX_HOST = 253


def reason(error: Exception) -> str:
    """What a request failed for, without the wrapping of the libraries."""
    if isinstance(error, ProxyError):
        return f"the proxy does not answer: {_of_proxy(error.original_error)}"
    quotes = isinstance(error, LocationValueError) or not isinstance(error, (HTTPError, OSError, JSONError))
    if quotes:  # its text may quote credentials
        return "the request has an address or a header that cannot be sent"
    return shortened(_known(error) or _as_the_library_says(error), MAX_REASON)


def _of_proxy(error: Exception) -> str:
    """What a proxy failed for: it may have answered that it cannot or may not reach the server."""
    text = str(error)
    return text.removeprefix("Tunnel connection failed: ") if text.startswith("Tunnel ") else reason(error)


def _known(error: Exception) -> str:
    """The reason, where it is one that people meet."""
    if isinstance(error, NameResolutionError):
        return f"the host {shortened(str(getattr(error, '_host', '')), MAX_HOST)} is not known"
    if isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError):
        return "no connection in time"
    if isinstance(error, ReadTimeoutError):
        return "no complete answer came in time"
    causes = (error, error.__cause__, *error.args)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
            return "it does not speak TLS; is the address one of https?"
    for cause in causes:
        if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and cause.strerror:
            file = f"{cause.filename}: " if isinstance(cause.filename, str) else ""
            return file + cause.strerror.lower()
    return ""


def _as_the_library_says(error: Exception) -> str:
    wrapped = getattr(error, "reason", None)
    lines = str(wrapped if isinstance(wrapped, Exception) else error).strip().splitlines()
    first = lines[0] if lines else type(error).__name__
    if isinstance(error, SSLError) and error.args:
        first = str(error.args[0]).splitlines()[0]
    return first.rpartition("): ")[2] or first
