"""Access to a cluster by way of the package ``kubernetes``, which is not imported here: its users have it."""

from __future__ import annotations

from typing import Any

from cluster.access import Access
from resourceapi.errors import Unanswerable


def access_of(api_client: Any) -> Access:
    """The address, the connections and the credentials of a ``kubernetes.client.ApiClient``.

    :raises Unanswerable: if it is none.
    """
    try:
        configuration, pool = api_client.configuration, api_client.rest_client.pool_manager
        server = str(configuration.host).rstrip("/")
        settings = configuration.auth_settings
        others = api_client.default_headers
    except AttributeError as error:
        raise Unanswerable(f"expected a kubernetes.client.ApiClient: {error}") from None
    impersonation = [
        (str(name), str(value))
        for name, value in others.items()
        if str(name).lower().startswith("impersonate-")
    ]

    def headers() -> list[tuple[str, str]]:
        # asked for every request: the client renews its tokens there
        found = [each for each in settings().values() if each.get("in") == "header" and each.get("value")]
        return [*((str(each["key"]), str(each["value"])) for each in found), *impersonation]

    return Access(server, pool, headers)
