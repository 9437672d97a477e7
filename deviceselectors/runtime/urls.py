"""URLs as Go's net/url reads and prints them, with verdicts and error texts that `urllib` does not have.

Strings are handled as UTF-8 bytes in a Latin-1 string, one character per byte.
"""

from __future__ import annotations

from deviceselectors.runtime import effort
from deviceselectors.runtime.addresses import AddressError, parse_address
from deviceselectors.runtime.values import register_type
from resourceapi.go_text import quote

_UNRESERVED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
_PATH = _UNRESERVED | frozenset("$&+,/:;=@")
_HOST = _UNRESERVED | frozenset("!\"$&'()*+,:;<=>[]")
_USER = _UNRESERVED | frozenset("$&+,;=")
_FRAGMENT = _UNRESERVED | frozenset("!$&()*+,/:;=?@")
_VALID_ENCODED_PATH = _PATH | frozenset("!$&'()*+,;=:@[]%")
_VALID_ENCODED_FRAGMENT = _FRAGMENT | frozenset("!$&'()*+,;=:@[]%")
_VALID_USERINFO = _UNRESERVED | frozenset("!$&'()*+,;=:%@")
_HEX = frozenset("0123456789abcdefABCDEF")
_MAX_PARAMETERS = 10_000


class UrlError(ValueError):
    """Go's error for a text that is no URL."""


class URL:
    """A parsed URL; the parts are bytes as Latin-1 strings, unescaped except where the name says otherwise."""

    __slots__ = (
        "force_query", "fragment", "host", "omit_host", "opaque", "password", "path", "raw_fragment", "raw_path",
        "raw_query", "scheme", "size", "user",
    )  # fmt: skip

    def __init__(self) -> None:
        self.scheme = self.opaque = self.host = self.path = self.fragment = ""
        self.raw_path = self.raw_query = self.raw_fragment = ""
        self.user: str | None = None
        self.password: str | None = None
        self.force_query = self.omit_host = False
        #: the length of the text, in bytes
        self.size = 0

    def __str__(self) -> str:
        return decode(_join(self))


register_type(
    URL, "kubernetes.URL", "cel.URL", lambda left, right: str(left) == str(right), native="*url.URL"
)


def _encode(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def decode(text: str) -> str:
    """The string of UTF-8 bytes in a Latin-1 string."""
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


# ---------------------------------------------------------------- parsing


def check_request_uri(text: str) -> None:
    """Check that a string is an absolute URI or an absolute path.

    :raises UrlError: if it is neither
    """
    _parse_or_error(_encode(text), via_request=True)


def _parse_or_error(raw: str, via_request: bool) -> URL:
    try:
        return _parse(raw, via_request)
    except UrlError as error:
        raise UrlError(f"parse {quote(decode(raw))}: {error}") from None


def parse(text: str) -> URL:
    """The URL of an absolute URI or an absolute path, with or without a fragment.

    :raises UrlError: if it is neither
    """
    raw = _encode(text)
    _parse_or_error(raw, via_request=True)
    before, _, fragment = raw.partition("#")
    url = _parse_or_error(before, via_request=False)
    url.size = len(raw)
    if fragment:
        _set_fragment(url, fragment, raw)
    return url


def _set_fragment(url: URL, fragment: str, raw: str) -> None:
    try:
        url.fragment = _unescape(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quote(decode(raw))}: {error}") from None
    if _escape(url.fragment, _FRAGMENT) != fragment:
        url.raw_fragment = fragment


def _parse(raw: str, via_request: bool) -> URL:
    if any(c < " " or c == "\x7f" for c in raw):
        raise UrlError("net/url: invalid control character in URL")
    if not raw and via_request:
        raise UrlError("empty url")
    url = URL()
    if raw == "*":
        url.path = "*"
        return url
    scheme, rest = _split_scheme(raw)
    url.scheme = scheme.lower()
    if rest.endswith("?") and rest.count("?") == 1:
        url.force_query = True
        rest = rest[:-1]
    else:
        rest, _, url.raw_query = rest.partition("?")
    if not rest.startswith("/"):
        if url.scheme:
            url.opaque = rest
            return url
        if via_request:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (url.scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        _set_authority(url, authority)
    elif url.scheme and rest.startswith("/"):
        url.omit_host = True
    url.path = _unescape(rest)
    if _escape(url.path, _PATH) != rest:
        url.raw_path = rest
    return url


def _split_scheme(raw: str) -> tuple[str, str]:
    for i, c in enumerate(raw):
        if "a" <= c <= "z" or "A" <= c <= "Z":
            continue
        if "0" <= c <= "9" or c in "+-.":
            if i == 0:
                return "", raw
        elif c == ":":
            if i == 0:
                raise UrlError("missing protocol scheme")
            return raw[:i], raw[i + 1 :]
        else:
            return "", raw
    return "", raw


def _set_authority(url: URL, authority: str) -> None:
    userinfo, at, host = authority.rpartition("@")
    url.host = _parse_host(url.scheme, host)
    if not at:
        return
    if not _VALID_USERINFO.issuperset(userinfo):
        raise UrlError("net/url: invalid userinfo")
    user, colon, password = userinfo.partition(":")
    url.user = _unescape(user)
    if colon:
        url.password = _unescape(password)


def _parse_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _parse_ip_literal(host)
    colon = host.find(":")
    if colon >= 0:
        last = host.rfind(":")
        if last != colon and scheme not in ("http", "https"):
            colon = last
        _check_port(host[colon:])
    return _unescape(host, _HOST)


def _parse_ip_literal(host: str) -> str:
    end = host.rfind("]")
    if end < 0:
        raise UrlError("missing ']' in host")
    port = host[end + 1 :]
    _check_port(port)
    port = _unescape(port, _HOST)
    name = host[1:end]
    zone = name.find("%25")
    if zone >= 0:
        address = _unescape(name[:zone], _HOST) + _unescape(name[zone:], _HOST, in_zone=True)
    else:
        address = _unescape(name, _HOST)
    try:
        ip = parse_address(decode(address))
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    if ip.bits == 32:
        raise UrlError("invalid IP-literal")
    return f"[{address}]{port}"


def _is_port(text: str) -> bool:
    return not text or (text[0] == ":" and (text == ":" or (text[1:].isascii() and text[1:].isdigit())))


def _check_port(text: str) -> None:
    if not _is_port(text):
        raise UrlError(f"invalid port {quote(decode(text))} after host")


def _unescape(
    text: str, allowed: frozenset[str] | None = None, *, in_zone: bool = False, plus_is_space: bool = False
) -> str:
    """Percent escapes resolved. In a host (`allowed` given) few characters may stand, and few be escaped."""
    i = 0
    while i < len(text):
        c = text[i]
        if c == "%":
            escape = text[i : i + 3]
            if len(escape) < 3 or escape[1] not in _HEX or escape[2] not in _HEX:
                raise UrlError(f"invalid URL escape {quote(decode(escape))}")
            if allowed is not None and escape != "%25":
                byte = chr(int(escape[1:], 16))
                if not in_zone and byte < "\x80":
                    raise UrlError(f"invalid URL escape {quote(escape)}")
                if in_zone and byte != " " and byte not in allowed:
                    raise UrlError(f"invalid URL escape {quote(escape)}")
            i += 3
            continue
        if allowed is not None and c < "\x80" and c not in allowed:
            raise UrlError(f"invalid character {quote(c)} in host name")
        i += 1
    if plus_is_space:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    first, *rest = text.split("%")
    return first + "".join([chr(int(part[:2], 16)) + part[2:] for part in rest])


def _escape(text: str, allowed: frozenset[str]) -> str:
    if allowed.issuperset(text):
        return text
    return "".join([c if c in allowed else f"%{ord(c):02X}" for c in text])


# ---------------------------------------------------------------- functions


def escaped_path(url: URL) -> str:
    """The path as it was written, if its escapes are valid, or with escapes where it needs them."""
    if url.raw_path and _VALID_ENCODED_PATH.issuperset(url.raw_path):
        return url.raw_path
    return "*" if url.path == "*" else _escape(url.path, _PATH)


def _escaped_fragment(url: URL) -> str:
    if url.raw_fragment and _VALID_ENCODED_FRAGMENT.issuperset(url.raw_fragment):
        return url.raw_fragment
    return _escape(url.fragment, _FRAGMENT)


def _join(url: URL) -> str:
    effort.spend(url.size)
    text = f"{url.scheme}:" if url.scheme else ""
    if url.opaque:
        text += url.opaque
    else:
        text += _authority(url)
        path = escaped_path(url)
        if path and path[0] != "/" and url.host:
            text += "/"
        if not text and ":" in path.partition("/")[0]:
            text = "./"
        text += path
    if url.force_query or url.raw_query:
        text += "?" + url.raw_query
    if url.fragment:
        text += "#" + _escaped_fragment(url)
    return text


def _authority(url: URL) -> str:
    if not (url.scheme or url.host or url.user is not None):
        return ""
    if url.omit_host and not url.host and url.user is None:
        return ""
    text = "//" if url.host or url.path or url.user is not None else ""
    if url.user is not None:
        text += _escape(url.user, _USER)
        if url.password is not None:
            text += ":" + _escape(url.password, _USER)
        text += "@"
    return text + _escape(url.host, _HOST)


def split_port(url: URL) -> tuple[str, str]:
    """The host without its port and the brackets of an address, and the port."""
    name, port = url.host, ""
    colon = name.rfind(":")
    if colon >= 0 and _is_port(name[colon:]):
        name, port = name[:colon], name[colon + 1 :]
    if name.startswith("[") and name.endswith("]"):
        name = name[1:-1]
    return name, port


def query_values(url: URL) -> dict[str, list[str]]:
    """The values per name in the query; parts that are no proper escapes, or contain `;`, are left out."""
    # an entry of the map takes memory as some hundred characters do
    effort.spend(128 * min(url.raw_query.count("&"), _MAX_PARAMETERS))
    values: dict[str, list[str]] = {}
    parts = url.raw_query.split("&")
    if len(parts) > _MAX_PARAMETERS:
        return values
    for part in parts:
        if not part or ";" in part:
            continue
        name, _, value = part.partition("=")
        try:
            name = decode(_unescape(name, plus_is_space=True))
            value = decode(_unescape(value, plus_is_space=True))
        except UrlError:
            continue
        values.setdefault(name, []).append(value)
    return values
