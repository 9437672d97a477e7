"""Valid objects of classic DRA (v1alpha2), and pods of Kubernetes 1.30, put together at random."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from resourceapi.model.versions import CLASSIC_API_VERSION
from resourceapi.objects import Object
from tests.corpus.parts import Parts
from tests.corpus.tables import SELECTORS
from tests.deviceselectors.runtime.named_expressions import random_selector

_PARAMETERS: list[Any] = [{}, {"a": 1}, {"apiVersion": "v1", "kind": "X"}, [], "x", 5, None, True]
_NODES = ("node-a", "node-b", "n", "a.b.c", "node-9")
_TYPES = ("quantity", "bool", "int", "intSlice", "string", "stringSlice", "version")


class ClassicParts:
    """Makes valid parts of objects; everything random comes from the source of `parts`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._source: random.Random = parts.source
        self._chance, self._maybe, self._few = parts.chance, parts.maybe, parts.few
        self._is_to_be_stored = False
        self._choice: Callable[[Any], Any] = parts.source.choice

    def object(self, kind: str, *, with_status: bool, name: str) -> Object:
        """An object of the kind in which nothing is wrong but perhaps selectors, if it has no name given to it."""
        self._is_to_be_stored = bool(name)
        version = "v1" if kind == "Pod" else CLASSIC_API_VERSION
        made: Object = {"apiVersion": version, "kind": kind, "metadata": self._parts.metadata(name)}
        makers: dict[str, Callable[[], Object]] = {
            "ResourceClass": self._resource_class,
            "ResourceClaim": lambda: {"spec": self._claim_spec()},
            "ResourceClaimTemplate": self._template,
            "PodSchedulingContext": lambda: {"spec": self._scheduling_spec()},
            "ResourceClaimParameters": self._claim_parameters,
            "ResourceClassParameters": self._class_parameters,
            "ResourceSlice": self._slice,
            "Pod": lambda: {"spec": self._pod_spec()},
        }
        made |= makers[kind]()
        if with_status and kind in STATUSES:
            made["status"] = self.status(kind)
        return made

    def status(self, kind: str) -> Object:
        """A status that an object of the kind can get."""
        return self._claim_status() if kind == "ResourceClaim" else self._scheduling_status()

    # Classes, claims

    def _resource_class(self) -> Object:
        made: Object = {"driverName": self._driver()}
        self._maybe(0.4, made, "parametersRef", lambda: self._reference(of_class=True))
        self._maybe(0.3, made, "suitableNodes", self._parts.node_selector)
        self._maybe(0.3, made, "structuredParameters", lambda: self._chance(0.7))
        return made

    def _driver(self) -> str:
        return self._choice((self._parts.driver(), "GPU.Example.com", "nodots"))  # type: ignore[no-any-return]

    def _reference(self, *, of_class: bool = False) -> Object:
        made: Object = {"kind": self._choice(("ConfigMap", "GpuClaim", "x")), "name": self._parts.word()}
        self._maybe(0.6, made, "apiGroup", lambda: self._choice(("gpu.example.com", "", "any thing")))
        if of_class:
            self._maybe(0.5, made, "namespace", lambda: self._choice(("default", "drivers")))
        return made

    def _claim_spec(self) -> Object:
        made: Object = {"resourceClassName": self._choice(("gpu", "gpu.example.com", "a.b.c"))}
        self._maybe(0.4, made, "parametersRef", self._reference)
        modes = ("Immediate", "WaitForFirstConsumer", "")
        self._maybe(0.5, made, "allocationMode", lambda: self._choice(modes))
        return made

    def _template(self) -> Object:
        made: Object = {"spec": self._claim_spec()}
        labels: Object = {"labels": {"app": "x"}, "annotations": {"note": "y"}}
        self._maybe(0.3, made, "metadata", lambda: labels)
        return {"spec": made}

    def _claim_status(self) -> Object:
        made: Object = {"driverName": self._driver()}
        if self._chance(0.8):
            made["allocation"] = allocation = self._allocation()
            shared = allocation.get("shareable", False)
            most = 3 if shared else 1
            self._maybe(0.6, made, "reservedFor", lambda: self._few(1, most, self._consumer)[:most])
            if "reservedFor" not in made:
                self._maybe(0.3, made, "deallocationRequested", lambda: True)
        return made

    def _allocation(self) -> Object:
        made: Object = {}
        self._maybe(0.8, made, "resourceHandles", lambda: self._few(1, 32, lambda _: self._handle()))
        self._maybe(0.4, made, "availableOnNodes", self._parts.node_selector)
        self._maybe(0.5, made, "shareable", lambda: self._chance(0.8))
        return made

    def _handle(self) -> Object:
        made: Object = {"driverName": self._driver()}
        if self._chance(0.4):
            made["data"] = self._choice(("x", "", '{"gpu": "0"}', "é" * 8192, "x" * 16384))
        elif self._chance(0.7):
            made["structuredData"] = self._structured()
        return made

    def _structured(self) -> Object:
        made: Object = {"results": self._few(0, 4, lambda n: self._result(n))}
        self._maybe(0.5, made, "nodeName", lambda: self._choice(_NODES))
        for field in ("vendorClassParameters", "vendorClaimParameters"):
            self._maybe(0.4, made, field, self._any_json)
        return made

    def _result(self, index: int) -> Object:
        made: Object = {"namedResources": {"name": f"gpu-{index}"}}
        self._maybe(0.4, made, "vendorRequestParameters", self._any_json)
        return made

    def _any_json(self) -> Any:
        return copy.deepcopy(self._choice(_PARAMETERS))

    def _consumer(self, index: int) -> Object:
        made: Object = {"resource": "pods", "name": self._parts.word(), "uid": f"uid-{index}"}
        self._maybe(0.3, made, "apiGroup", lambda: self._choice(("", "apps")))
        return made

    # Negotiation

    def _scheduling_spec(self) -> Object:
        made: Object = {}
        self._maybe(0.6, made, "selectedNode", lambda: self._choice(_NODES))
        self._maybe(0.7, made, "potentialNodes", lambda: self._nodes())
        return made

    def _nodes(self) -> list[str]:
        return self._few(1, 128, lambda n: f"node-{n}")

    def _scheduling_status(self) -> Object:
        return {"resourceClaims": self._few(0, 5, lambda n: self._scheduled_claim(n))}

    def _scheduled_claim(self, index: int) -> Object:
        made: Object = {"name": f"claim-{index}"}
        self._maybe(0.7, made, "unsuitableNodes", self._nodes)
        return made

    # Structured parameters

    def _claim_parameters(self) -> Object:
        made: Object = {"driverRequests": [self._driver_requests(name) for name in self._drivers()]}
        self._maybe(0.4, made, "generatedFrom", self._reference)
        self._maybe(0.3, made, "shareable", lambda: self._chance(0.5))
        return made

    def _drivers(self) -> list[str]:
        names = ("gpu.example.com", "GPU.Example.com", "nic", "x9.dra.test")
        return self._source.sample(names, self._choice((0, 1, 1, 1, 2, 3)))

    def _driver_requests(self, driver: str) -> Object:
        made: Object = {"driverName": driver, "requests": self._few(1, 5, lambda _: self._request())}
        self._maybe(0.4, made, "vendorParameters", self._any_json)
        return made

    def _request(self) -> Object:
        made: Object = {"namedResources": {"selector": self._selector()}}
        self._maybe(0.4, made, "vendorParameters", self._any_json)
        return made

    def _selector(self) -> str:
        """Mostly a good one; of the random ones, which nothing is stored with, many do not compile."""
        if self._is_to_be_stored or self._chance(0.7):
            return self._choice(SELECTORS)  # type: ignore[no-any-return]
        return random_selector(self._source)

    def _class_parameters(self) -> Object:
        made: Object = {
            "filters": [
                {"driverName": name, "namedResources": {"selector": self._selector()}}
                for name in self._drivers()
            ]
        }
        self._maybe(0.4, made, "generatedFrom", lambda: self._reference(of_class=True))
        self._maybe(
            0.5,
            made,
            "vendorParameters",
            lambda: [{"driverName": name, "parameters": self._any_json()} for name in self._drivers()],
        )
        return made

    def _slice(self) -> Object:
        instances = self._few(0, 8, self._instance)
        made: Object = {"driverName": self._driver(), "namedResources": {"instances": instances}}
        self._maybe(0.8, made, "nodeName", lambda: self._choice(_NODES))
        return made

    def _instance(self, index: int) -> Object:
        made: Object = {"name": f"gpu-{index}"}
        self._maybe(0.8, made, "attributes", lambda: self._few(0, 6, self._attribute))
        return made

    def _attribute(self, index: int) -> Object:
        kind = self._choice(_TYPES)
        values: dict[str, Callable[[], Any]] = {
            "quantity": lambda: self._parts.quantity(),
            "bool": lambda: self._chance(0.5),
            "int": lambda: self._choice((0, 1, -5, 2**63 - 1)),
            "intSlice": lambda: {"ints": self._choice(([], [1], [1, 1], [-(2**63), 0]))},
            "string": lambda: self._choice(("", "a", "x" * 300, "ü b")),
            "stringSlice": lambda: {"strings": self._choice(([], ["a"], ["a", "a", ""]))},
            "version": lambda: self._choice(("1.0.0", "1.2.3-rc.1+b", "0.0.0")),
        }
        value = values[kind]()
        return {"name": f"{self._choice(('model', 'a.b', 'x'))}-{index}", kind: value}

    # Pods

    def _pod_spec(self) -> Object:
        spec = self._parts.pod_spec()
        spec.pop("resources", None)  # of the pod as a whole, which 1.30 does not know
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            claims = container.get("resources", {}).get("claims", ())
            for claim in claims:
                claim.pop("request", None)
        for claim in spec["resourceClaims"]:
            fields = [field for field in claim if field != "name"]
            claim["source"] = {field: claim.pop(field) for field in fields}
        return spec


#: The kinds that have a status.
STATUSES = ("ResourceClaim", "PodSchedulingContext")
