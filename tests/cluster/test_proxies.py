"""Which proxy leads to a server: as Go's http.ProxyFromEnvironment, which kubectl uses."""

from __future__ import annotations

import pytest

from cluster.context_access import proxy_of

PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    ("server", "environment", "expected"),
    [
        ("https://a.example.com", {}, ""),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY}, PROXY),
        ("https://a.example.com", {"https_proxy": PROXY}, PROXY),
        ("https://a.example.com", {"HTTPS_PROXY": "proxy:1"}, "http://proxy:1"),
        ("https://a.example.com", {"HTTP_PROXY": PROXY}, ""),
        ("http://a.example.com", {"HTTP_PROXY": PROXY}, PROXY),
        ("https://localhost:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://127.0.0.3:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://[::1]:6443", {"HTTPS_PROXY": PROXY}, ""),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*"}, ""),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": "b.org, example.com"}, ""),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".example.com"}, ""),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": "*.example.com"}, ""),
        ("https://example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": ".example.com"}, PROXY),
        ("https://another-example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": "example.com"}, PROXY),
        ("https://a.example.com:6443", {"HTTPS_PROXY": PROXY, "no_proxy": "a.example.com:6443"}, ""),
        ("https://a.example.com:6443", {"HTTPS_PROXY": PROXY, "no_proxy": "a.example.com:443"}, PROXY),
        ("https://10.1.2.3", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.0.0.0/8"}, ""),
        ("https://10.1.2.3", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.1.2.3"}, ""),
        ("https://10.1.2.3", {"HTTPS_PROXY": PROXY, "NO_PROXY": "10.1.2.3:443"}, ""),
        ("https://10.1.2.3", {"HTTPS_PROXY": PROXY, "NO_PROXY": "1.2.3"}, PROXY),
        ("https://[fd00::1]:6443", {"HTTPS_PROXY": PROXY, "NO_PROXY": "fd00::/8"}, ""),
        ("https://a.example.com", {"HTTPS_PROXY": PROXY, "NO_PROXY": ",, :x"}, PROXY),
    ],
)
def test_proxy(server: str, environment: dict[str, str], expected: str) -> None:
    """Variables in either case, exemptions by domain, address, network and port; this machine never through a proxy."""
    assert proxy_of(server, environment) == expected
