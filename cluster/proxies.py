"""Which proxy leads to a server, by the variables that kubectl looks at: HTTPS_PROXY, HTTP_PROXY and NO_PROXY."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def proxy_of(server: str, environment: Mapping[str, str]) -> str:
    """The URL of the proxy for requests to a server; empty for none. Nothing on this machine is asked through a proxy.

    :param server: the server's URL.
    """
    scheme = urlsplit(server).scheme
    found = _variable(environment, f"{scheme}_proxy")
    if not found or _is_exempt(server, _variable(environment, "no_proxy")):
        return ""
    return found if "://" in found else f"http://{found}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _is_exempt(server: str, exemptions: str) -> bool:
    parts = urlsplit(server)
    host = (parts.hostname or "").rstrip(".")
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    if host == "localhost" or _is_loopback(host):
        return True
    entries = (entry.strip().lower() for entry in exemptions.split(","))
    return any(_matches(entry, host, port) for entry in entries if entry)


def _matches(entry: str, host: str, port: int) -> bool:
    """Whether an entry of NO_PROXY covers a host: ``*``, a network, an address or a domain, the latter two with a port or without."""
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        pass  # one of them is a name, or the entry has a port
    name, colon, only = entry.rpartition(":")
    if colon and only.isdigit():
        if int(only) != port:
            return False
        entry = name.strip("[]")
    entry = entry.removeprefix("*")
    return host == entry or (not _is_address(host) and host.endswith(f".{entry.removeprefix('.')}"))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return _is_address(host) and ip_address(host).is_loopback
