"""Random valid objects that are as large as the API lets them be: slices, classes, claims and pods."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from resourceapi import limits
from resourceapi.objects import Object

DRIVER = "gpu.example.com"
#: Pods in the same namespace, so that claims can be shared.
NAMESPACE = "team"
#: Expressions that take work: of devices' attributes, of long texts, of loops, with a regular expression.
EXPRESSIONS = (
    "true",
    f'device.driver == "{DRIVER}"',
    f'device.attributes["{DRIVER}"].?a0.orValue(0) >= {{number}}',
    f'has(device.attributes["{DRIVER}"].t0) && device.attributes["{DRIVER}"].t0.startsWith("{{letters}}")',
    f'has(device.attributes["{DRIVER}"].t1) && device.attributes["{DRIVER}"].t1.matches("^(a|b|{{letters}})*$")',
    f'device.capacity["{DRIVER}"].?c0.orValue(quantity("0")).compareTo(quantity("{{number}}Gi")) >= 0',
    f"[{','.join('1234567890')}].all(x, [{','.join('1234567890')}].exists(y, x + y > {{number}} || true))",
    '"{long}".contains("{letters}") || true',
    '"{long}".size() > {number}',
)


class AtLimits:
    """Makes objects; everything random comes from `draw`, and is larger or smaller by chance."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw

    # --- what drivers and administrators publish

    def node(self, name: str) -> Object:
        return {"metadata": {"name": name, "labels": {"zone": self._draw.choice("12")}}}

    def device_class(self, name: str) -> Object:
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": name},
            "spec": {"selectors": self._selectors(self._draw.choice((0, 1, 4)))},
        }

    def slices(self, node: str) -> list[Object]:
        """A pool of a node: plain devices, shared ones, or some that take from counters."""
        kind = self._draw.choice(("plain", "plain", "shared", "counters"))
        if kind != "counters":
            devices = [self._device(place, kind) for place in range(self._count(kind))]
            return [self._slice(node, node, 1, devices=devices)]
        sets = [
            {"name": f"s{place}", "counters": self._amounts(limits.COUNTERS_PER_SET, "8")}
            for place in range(limits.SHARED_COUNTER_SETS)
        ]
        devices = [self._device(place, kind) for place in range(self._count(kind))]
        return [
            self._slice(f"{node}-counters", node, 2, sharedCounters=sets),
            self._slice(node, node, 2, devices=devices),
        ]

    def _slice(self, name: str, node: str, count: int, **fields: Any) -> Object:
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": name},
            "spec": {
                "driver": DRIVER,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": count},
                **fields,
            },
        }

    def _count(self, kind: str) -> int:
        most = limits.DEVICES if kind == "plain" else limits.DEVICES_WITH_ADVANCED_FEATURES
        return self._draw.choice((most, most, most // 4))

    def _device(self, place: int, kind: str) -> Object:
        half = limits.ATTRIBUTES_AND_CAPACITIES // 2
        attributes: Object = {"serial": {"string": str(place)}}
        for number in range(half // 2 - 1):
            attributes[f"a{number}"] = {"int": self._draw.randrange(4)}
            attributes[f"t{number}"] = {"string": self._draw.choice("ab") * limits.ATTRIBUTE_VALUE_BYTES}
        capacity: Object = {f"c{number}": {"value": "8Gi"} for number in range(half)}
        found: Object = {"name": f"d{place}", "attributes": attributes, "capacity": capacity}
        if kind == "shared":
            found["allowMultipleAllocations"] = True
            policy = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}}
            capacity["c0"]["requestPolicy"] = policy
            found["taints"] = [
                {"key": f"k{number}", "effect": "NoSchedule"}
                for number in range(self._draw.choice((0, limits.TAINTS)))
            ]
        elif kind == "counters":
            found["consumesCounters"] = [
                {"counterSet": f"s{each}", "counters": self._amounts(limits.COUNTERS_PER_CONSUMPTION, "1")}
                for each in self._draw.sample(
                    range(limits.SHARED_COUNTER_SETS), limits.COUNTER_SETS_PER_DEVICE
                )
            ]
        return found

    @staticmethod
    def _amounts(number: int, value: str) -> Object:
        return {f"m{each}": {"value": value} for each in range(number)}

    # --- what tenants ask for

    def claim(self, name: str) -> Object:
        """A claim; some are for more devices than a claim may have, which is an error that ends scheduling."""
        requests = [self._request(place) for place in range(self._some(limits.REQUESTS))]
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "resourceVersion": "1"},
            "spec": {"devices": {"requests": requests, "constraints": self._constraints(requests)}},
        }

    def pod(self, name: str, claims: Sequence[str]) -> Object:
        return {
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"},
            "spec": {
                "resourceClaims": [
                    {"name": f"x{place}", "resourceClaimName": each} for place, each in enumerate(claims)
                ]
            },
        }

    def number_of_claims(self) -> int:
        """How many claims a pod has; a cluster may be asked about many."""
        return self._draw.choice((1, 1, 1, 3, 24))

    def _request(self, place: int) -> Object:
        if self._draw.random() < 0.5:
            return {"name": f"r{place}", "exactly": self._details()}
        alternatives = [
            {"name": f"s{each}", **self._details()} for each in range(self._some(limits.SUBREQUESTS))
        ]
        return {"name": f"r{place}", "firstAvailable": alternatives}

    def _details(self) -> Object:
        found: Object = {
            "deviceClassName": self._draw.choice(("any", "some")),
            "allocationMode": "ExactCount",
            "count": 1,
        }
        match self._draw.randrange(12):
            case 0:
                found["count"] = self._draw.choice(
                    (2, 8, limits.ALLOCATION_RESULTS, limits.ALLOCATION_RESULTS + 1)
                )
            case 1:
                del found["count"]
                found["allocationMode"] = "All"
            case 2:
                found["tolerations"] = [{"key": f"k{number}", "operator": "Exists"} for number in range(16)]
            case 3:
                found["capacity"] = {
                    "requests": {
                        f"c{number}": "1Gi" for number in range(limits.ATTRIBUTES_AND_CAPACITIES // 2)
                    }
                }
        found["selectors"] = self._selectors(self._some(limits.SELECTORS))
        return found

    def _selectors(self, number: int) -> list[Object]:
        return [{"cel": {"expression": self._expression()}} for _ in range(number)]

    def _expression(self) -> str:
        found = self._draw.choices(EXPRESSIONS, (8, 8, 8, 4, 2, 4, 2, 1, 1))[0]
        letters = "".join(self._draw.choices("ab", k=6))
        for place, value in (
            ("number", str(self._draw.randrange(3))),
            ("letters", letters),
            ("long", "a" * 900),
        ):
            found = found.replace(f"{{{place}}}", value)
        return found

    def _constraints(self, requests: Sequence[Object]) -> list[Object]:
        names = [each["name"] for each in requests]
        found = []
        for _ in range(self._draw.choice((0, 0, 1, 2, limits.CONSTRAINTS))):
            kind = self._draw.choice(("matchAttribute", "matchAttribute", "distinctAttribute"))
            attribute = "serial" if kind == "distinctAttribute" else f"a{self._draw.randrange(4)}"
            among = self._draw.sample(names, self._draw.randint(1, len(names)))
            found.append({kind: f"{DRIVER}/{attribute}", "requests": among})
        return found

    def _some(self, most: int) -> int:
        """Few, or as many as there may be."""
        return self._draw.choice((1, 2, max(most // 4, 1), most))
