"""Kubernetes' library of URLs."""

from __future__ import annotations

from deviceselectors.libraries import actual_costs, max_sizes
from deviceselectors.libraries.estimates import transforms
from deviceselectors.libraries.function import Function, Overload, Run
from deviceselectors.libraries.max_sizes import MaxSize
from deviceselectors.runtime import effort, urls
from deviceselectors.runtime.urls import URL, UrlError
from deviceselectors.runtime.values import CelError


def parse(text: str) -> URL:
    """`url(text)`.

    :raises CelError: if it is none
    """
    try:
        return urls.parse(text)
    except UrlError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    # unlike url() it costs the same for any string
    effort.spend(len(text))
    try:
        urls.check_request_uri(text)
    except UrlError:
        return False
    return True


def _scheme(url: URL) -> str:
    effort.spend(url.size)
    return urls.decode(url.scheme)


def _host(url: URL) -> str:
    effort.spend(url.size)
    return urls.decode(url.host)


def _hostname(url: URL) -> str:
    effort.spend(url.size)
    return urls.decode(urls.split_port(url)[0])


def _port(url: URL) -> str:
    effort.spend(url.size)
    return urls.split_port(url)[1]


def _escaped_path(url: URL) -> str:
    effort.spend(url.size)
    return urls.decode(urls.escaped_path(url))


def _query(url: URL) -> dict[str, list[str]]:
    effort.spend(url.size)
    return urls.query_values(url)


def _part(name: str, overload: str, run: Run) -> Function:
    """The row of a part of a URL, which is no longer than that."""
    return Function(name, Overload(f".{overload} URL > string", run), result_size=max_sizes.of_first)


FUNCTIONS = (
    Function(
        "url",
        Overload("string_to_url string > URL", parse),
        estimate=transforms,
        cost=actual_costs.reads_target(),
        result_size=max_sizes.of_first,
    ),
    Function("isURL", Overload("is_url_string string > bool", _is_url)),
    _part("getScheme", "url_get_scheme", _scheme),
    _part("getHost", "url_get_host", _host),
    _part("getHostname", "url_get_hostname", _hostname),
    _part("getPort", "url_get_port", _port),
    Function(
        "getEscapedPath",
        Overload(".url_get_escaped_path URL > string", _escaped_path),
        # each byte of a character beyond ASCII becomes an escape
        result_size=lambda sizes: MaxSize(sizes[0].count * 12),
    ),
    Function("getQuery", Overload(".url_get_query URL > map(string, list(string))", _query)),
)
