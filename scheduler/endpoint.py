"""Which replica the Service leads to: the EndpointSlice of a Service without selector, written by the replica that leads.

Readiness is not used for that, since a replica that does not lead is as it should be: were it unready, a Deployment could
never replace its pods one after the other.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from threading import Event

from cluster.leading import Fence, NotLeading
from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, Unavailable, expect, expect_object
from resourceapi.logs import log
from resourceapi.manifests import mapping, text
from resourceapi.objects import Object

COLLECTION = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"
PORT_NAME = "https"
CHECK_SECONDS = 10.0
ATTEMPTS = 5


class Endpoint:
    """The replica itself as the only endpoint of a Service."""

    def __init__(self, api: Api, namespace: str, service: str, address: str, port: int) -> None:
        """Describe it; nothing is requested yet.

        :param service: its name, which is that of the EndpointSlice, too; for IPv6 addresses with ``-ipv6`` after it, as an
            EndpointSlice has addresses of one type for ever.
        :param address: an IP address of this replica.
        """
        is_ipv6 = isinstance(ip_address(address), IPv6Address)
        name = f"{service}-ipv6" if is_ipv6 else service
        self._api = api
        self._collection = COLLECTION.format(namespace)
        self._path = f"{self._collection}/{name}"
        self._name = name
        self._wanted: Object = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {
                    "kubernetes.io/service-name": service,
                    "endpointslice.kubernetes.io/managed-by": "claimcheck",
                },
            },
            "addressType": "IPv6" if is_ipv6 else "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [{"name": PORT_NAME, "port": port, "protocol": "TCP"}],
        }

    def take(self, fence: Fence) -> None:
        """Let the Service lead here.

        :param fence: called right before each write: a replica that led before must not come in between.
        :raises Unavailable: if that could not be written.
        :raises NotLeading: as the fence.
        """
        for _ in range(ATTEMPTS):
            found = self._look()
            if found and self._is_so(found):
                return
            fence()
            if self._write(found):
                return
        raise Unavailable(f"{self._path} changed {ATTEMPTS} times in a row")

    def keep(self, fence: Callable[[], Fence], ending: Event) -> None:
        """See to it that it stays so while this replica leads, whoever changes or deletes the object.

        :param fence: the fence of the current term; raises NotLeading if there is none.
        """
        while not ending.wait(CHECK_SECONDS):
            try:
                self.take(fence())
            except NotLeading:
                continue
            except Unavailable as error:
                log(logging.WARNING, "the Service may lead to another replica", reason=error.reason)

    def _look(self) -> Object:
        """What there is; empty for nothing."""
        answer = self._api.request("GET", self._path)
        if answer[0] == NOT_FOUND:
            return {}
        return expect_object(answer, f"GET {self._path}", "EndpointSlice", self._name)

    def _is_so(self, found: Object) -> bool:
        """Whether it is as wanted."""
        endpoints = found.get("endpoints")
        return (
            all(found.get(key) == self._wanted[key] for key in ("addressType", "ports"))
            and isinstance(endpoints, list)
            and [_essence(each) for each in endpoints]
            == [_essence(each) for each in self._wanted["endpoints"]]
        )

    def _write(self, found: Object) -> bool:
        """Write it in place of what was found, with its labels; whether nobody else has written meanwhile."""
        if not found:
            answer = self._api.request("POST", self._collection, self._wanted)
        else:
            before, own = mapping(found, "metadata"), self._wanted["metadata"]
            labels = {**mapping(before, "labels"), **own["labels"]}
            metadata = {**own, "labels": labels, "resourceVersion": text(before, "resourceVersion")}
            answer = self._api.request("PUT", self._path, {**self._wanted, "metadata": metadata})
        if answer[0] in (CONFLICT, NOT_FOUND):
            return False
        expect(answer, f"writing {self._path}", OK, CREATED)
        return True


def _essence(endpoint: object) -> tuple[object, object]:
    """What of an endpoint counts here."""
    if not isinstance(endpoint, dict):
        return None, None
    conditions = endpoint.get("conditions")
    return endpoint.get("addresses"), conditions.get("ready") if isinstance(conditions, dict) else None
