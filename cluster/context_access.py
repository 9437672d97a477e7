"""Access to the cluster of a context in a kubeconfig: TLS, proxy and credentials, as kubectl has them."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from errno import EFBIG
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from urllib3 import PoolManager, ProxyManager, disable_warnings, make_headers
from urllib3.exceptions import LocationValueError
from urllib3.util import parse_url

from cluster.access import POOLED_CONNECTIONS, Access, allow_incomplete_certificates
from cluster.credential_plugins import CredentialPlugin, Credentials, Tell
from cluster.kubeconfig import Context, Entry, KubeconfigError

# Which proxy leads to a server, by the variables that kubectl looks at: HTTPS_PROXY, HTTP_PROXY and
# NO_PROXY.

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


# Addresses as they may be shown: without the name and the password that can stand in them.

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def without_credentials(address: str) -> str:
    """An address without what stands before its last ``@``, also where it is malformed or has no scheme."""
    scheme = _SCHEME.match(address)
    start = scheme.end() if scheme else 0
    return address[:start] + address[start:].rpartition("@")[2]


# What may stand in the name of a header; all else of a key is percent-encoded.
_HEADER_PUNCTUATION = "!#$&'*+-.^_`|~"
_SCHEMES = ("http", "https")
# The extension of a cluster that is for credential plugins.
_PLUGIN_EXTENSION = "client.authentication.k8s.io/exec"

Header = tuple[str, str]


class Impersonation(NamedTuple):
    """Whom a user acts as, by options; what is given replaces what the kubeconfig says."""

    user: str = ""
    groups: Sequence[str] = ()
    uid: str = ""


NOBODY_ELSE = Impersonation()


def access_of(
    context: Context,
    *,
    impersonation: Impersonation = NOBODY_ELSE,
    tell: Tell = lambda line: None,
    environment: Mapping[str, str] = os.environ,
) -> Access:
    """Access to the cluster of a context as its user. A credential plugin is run now.

    :param tell: called with each line that a credential plugin writes to stderr.
    :param environment: its variables may name a proxy.
    :raises KubeconfigError: if the context cannot be used.
    """
    cluster, user = context.cluster, context.user
    try:
        secure_context = _trust(cluster)
        identity = _Identity(user, cluster, impersonation, tell)
        secure = identity.present_certificate(secure_context) or _is_secured(cluster)
        server = _server(cluster, secure=secure)
        pool = _pool(server, cluster, secure_context, environment)
    except (OSError, ValueError) as error:  # ValueError: of base64, certificates and URLs
        raise KubeconfigError(_reason(error)) from None
    # nothing is said of certificates that the file says not to check, as by kubectl
    disable_warnings()
    return Access(server, pool, identity.headers)


#: No file with certificates, a key or a token has more.
MAX_CREDENTIAL_BYTES = 4 * 1024 * 1024


class _Identity:
    """Who asks: the credentials of a user, and whom the user acts as."""

    def __init__(self, user: Entry, cluster: Entry, impersonation: Impersonation, tell: Tell) -> None:
        provider = user.value.get("auth-provider")
        if provider:
            name = provider.get("name") if isinstance(provider, dict) else ""
            raise KubeconfigError(
                f"the user names the auth provider {name}, which kubectl has no longer; "
                "its successor is a credential plugin: exec"
            )
        self._user = user
        self._impersonation = list(_impersonation(user.value, impersonation))
        self._token = user.text("token")
        self._username, self._password = user.text("username"), user.text("password")
        self._token_file = user.path("tokenFile")
        self._plugin: CredentialPlugin | None = None
        self._credentials: Credentials | None = None
        if user.value.get("exec") and not self._token and self._token_file is None:
            self._plugin = CredentialPlugin(user, _as_told(cluster), tell)
            self._credentials = self._plugin.run()

    def headers(self) -> list[Header]:
        """The headers that say who asks; a token in a file is read anew, one of a plugin is renewed when it expires.

        :raises OSError: if a token cannot be read.
        """
        return [*self._authorization(), *self._impersonation]

    def present_certificate(self, secure: ssl.SSLContext) -> bool:
        """Have the user's client certificate presented, if there is one."""
        if self._credentials is not None and self._credentials.certificate:
            _load(secure, self._credentials.certificate.encode(), self._credentials.key.encode())
            return True
        certificate = _content(self._user, "client-certificate")
        key = _content(self._user, "client-key")
        if not certificate and not key:
            return False
        if not certificate or not key:
            raise KubeconfigError("client-certificate and client-key belong together; one is missing")
        _load(secure, certificate, key)
        return True

    def _authorization(self) -> Iterator[Header]:
        token = self._token
        if self._token_file is not None:  # one from a file may end in a line break, which no header can hold
            token = _read(self._token_file).decode("utf-8").strip()
        elif self._plugin is not None and self._credentials is not None:
            if self._credentials.are_expired:
                self._credentials = self._renewed(self._plugin)
            token = self._credentials.token
        if token:
            yield "Authorization", f"Bearer {token.strip()}"
        elif self._username:
            pair = f"{self._username}:{self._password}"
            yield "Authorization", f"Basic {b64encode(pair.encode()).decode()}"

    @staticmethod
    def _renewed(plugin: CredentialPlugin) -> Credentials:
        try:
            return plugin.run()
        except KubeconfigError as error:
            raise OSError(str(error)) from None


def _trust(cluster: Entry) -> ssl.SSLContext:
    """A TLS context that trusts the certificates that the cluster's entry says."""
    authority = _content(cluster, "certificate-authority")
    insecure = cluster.value.get("insecure-skip-tls-verify") is True
    if authority and insecure:
        raise KubeconfigError("certificate-authority and insecure-skip-tls-verify contradict each other")
    context = ssl.create_default_context(cadata=authority.decode("ascii", "ignore") if authority else None)
    allow_incomplete_certificates(context)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_secured(cluster: Entry) -> bool:
    """Whether the entry says something of TLS, so that an address without a scheme is one of HTTPS."""
    value = cluster.value
    return bool(
        value.get("certificate-authority")
        or value.get("certificate-authority-data")
        or value.get("insecure-skip-tls-verify")
    )


def _server(cluster: Entry, *, secure: bool) -> str:
    """The server's URL without a slash at its end."""
    given = cluster.text("server").rstrip("/")
    if not given:
        raise KubeconfigError(f'the cluster "{cluster.name}" names no server')
    server = given if "://" in given else f"{'https' if secure else 'http'}://{given}"
    if not _is_reachable(server) or urlsplit(server).query or urlsplit(server).fragment:
        raise KubeconfigError(f"server: {without_credentials(given)} is not the URL of a server")
    return without_credentials(server)


def _is_reachable(url: str) -> bool:
    """Whether it is a URL with a host to connect to, by the rules of all who read it."""
    try:
        parts = urlsplit(url)
        parse_url(url)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except (ValueError, LocationValueError):
        return False


def _pool(server: str, cluster: Entry, secure: ssl.SSLContext, environment: Mapping[str, str]) -> PoolManager:
    options: dict[str, Any] = {"ssl_context": secure, "maxsize": POOLED_CONNECTIONS}
    if name := cluster.text("tls-server-name"):
        options["server_hostname"] = name
    if not secure.check_hostname:
        options["assert_hostname"] = False
    proxy = cluster.text("proxy-url") or proxy_of(server, environment)
    if not proxy:
        return PoolManager(**options)
    if not _is_reachable(proxy):
        kind = "SOCKS proxies are not supported" if proxy.startswith("socks") else "not the URL of a proxy"
        raise KubeconfigError(f"proxy {without_credentials(proxy)}: {kind}")
    parts = urlsplit(proxy)
    headers = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = make_headers(proxy_basic_auth=pair)
    return ProxyManager(proxy, proxy_headers=headers, **options)


def _content(entry: Entry, key: str) -> bytes:
    """What a file contains that an entry names, or the entry itself under ``KEY-data``; empty if there is neither."""
    data = entry.text(f"{key}-data")
    if data:
        try:
            return b64decode(data, validate=True)
        except ValueError:
            raise KubeconfigError(f"{key}-data is not base64") from None
    path = entry.path(key)
    if path is None:
        return b""
    content = _read(path)
    if not content:
        raise KubeconfigError(f"{path}: is empty")
    return content


def _read(path: Path) -> bytes:
    """What a file contains, which may be a device without an end.

    :raises OSError: with the file's name, if it cannot be read or is too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CREDENTIAL_BYTES + 1)
    except OSError as error:
        raise OSError(error.errno, error.strerror or "cannot be read", str(path)) from None
    if len(content) > MAX_CREDENTIAL_BYTES:
        raise OSError(EFBIG, os.strerror(EFBIG), str(path))
    return content


def _load(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a certificate and its key; the library reads them only from a file, which is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="claimcheck-") as directory:  # only its owner may read it
        file = Path(directory, "client.pem")
        file.touch(0o600)
        file.write_bytes(certificate.rstrip() + b"\n" + key)
        try:
            context.load_cert_chain(file, password="")
        except ssl.SSLError as error:
            reason = (
                "does not belong to the key" if error.reason == "KEY_VALUES_MISMATCH" else "cannot be read"
            )
            raise KubeconfigError(f"the client certificate {reason}") from None


def _impersonation(user: Mapping[str, Any], options: Impersonation) -> Iterator[Header]:
    """The headers by which a user acts as another one (Kubernetes docs, "User impersonation").

    :raises KubeconfigError: for values of a wrong type, or attributes of a user without a name.
    """
    name, uid = options.user or user.get("as"), options.uid or user.get("as-uid")
    groups = list(options.groups) or user.get("as-groups") or []
    extra = user.get("as-user-extra") or {}
    if not isinstance(groups, list) or not isinstance(extra, dict):
        raise KubeconfigError("as-groups must be a list, as-user-extra a mapping")
    headers = [("Impersonate-User", name), ("Impersonate-Uid", uid)]
    headers += [("Impersonate-Group", group) for group in groups]
    for key, values in extra.items():
        if not isinstance(values, list):
            raise KubeconfigError("as-user-extra must have a list of strings for each key")
        header = "Impersonate-Extra-" + quote(str(key), safe=_HEADER_PUNCTUATION)
        headers += [(header, value) for value in values]
    given = [(header, value) for header, value in headers if value]
    if given and not name:
        raise KubeconfigError("as-uid, as-groups and as-user-extra need a user: as")
    for header, value in given:
        if not isinstance(value, str):
            raise KubeconfigError(f"{header}: not a string")
        yield header, value


def _as_told(cluster: Entry) -> dict[str, Any]:
    """What a credential plugin is told about the cluster."""
    value = cluster.value
    told: dict[str, Any] = {
        key: value[key]
        for key in (
            "server",
            "tls-server-name",
            "insecure-skip-tls-verify",
            "proxy-url",
            "disable-compression",
        )
        if value.get(key)
    }
    if authority := _content(cluster, "certificate-authority"):
        told["certificate-authority-data"] = b64encode(authority).decode()
    for extension in value.get("extensions") or ():
        if isinstance(extension, dict) and extension.get("name") == _PLUGIN_EXTENSION:
            told["config"] = extension.get("extension")
    return told


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return "the certificate authority cannot be read"
    if isinstance(error, OSError):
        return f"{error.filename}: {(error.strerror or 'cannot be read').lower()}"
    return "an address or a certificate is malformed"  # the error's text may quote a password
