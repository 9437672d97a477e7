"""`python -m tests.bench.conversion`: what converting one object costs the service, and what of it is what.

An API server converts every object of a kind, one review each, when it first serves a version other than v1 after its
start; lists that it serves later are not converted again. CPU time of this process, in one run; TLS, HTTP and the API
server's own share come on top of it. The last column is what the answer's text would cost if every answer had to keep
numbers as they came.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from resourceapi.go_text import json_text
from resourceapi.json_text import parse
from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.webhook.examples import conversion
from validation.server import Server
from webhook.context import Context
from webhook.converting import convert, encode

ROUNDS = 5
SECONDS = 0.4


def a_claim() -> Object:
    request = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "default", "uid": "u", "resourceVersion": "1"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": request}]}},
        "status": {},
    }


def a_slice(devices: int = 64) -> Object:
    attributes = {"model": {"string": "a100"}, "index": {"int": 1}, "healthy": {"bool": True}}
    capacity = {"memory": {"value": "80Gi"}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "slice", "uid": "u", "resourceVersion": "1"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node",
            "pool": {"name": "node", "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": f"gpu-{number}", "attributes": attributes, "capacity": capacity}
                for number in range(devices)
            ],
        },
    }


def microseconds(work: Callable[[], object]) -> float:
    """CPU time of one call: the least of some rounds."""
    found = []
    for _ in range(ROUNDS):
        started, count = time.process_time(), 0
        while time.process_time() < started + SECONDS / ROUNDS:
            work()
            count += 1
        found.append((time.process_time() - started) / count * 1e6)
    return min(found)


def again(review: dict[str, Any]) -> dict[str, Any]:
    """The review with a list of its own, which a conversion fills with what it has converted."""
    request = review["request"]
    return {**review, "request": {**request, "objects": [*request["objects"]]}}


def main() -> None:
    context = Context(server=Server(Profile("1.37")), rules=True)
    print(f"{'us of CPU':24}{'read':>8}{'convert':>9}{'write':>8}{'in all':>8}{'other write':>13}")
    for title, obj in (("claim", a_claim()), ("slice of 64 devices", a_slice())):
        body = json.dumps(conversion([obj], "v1beta1"), separators=(",", ":")).encode()
        review = parse(body)
        answer = convert(again(review), context)
        steps = [
            microseconds(lambda: parse(body)),  # noqa: B023 - called at once
            microseconds(lambda: convert(again(review), context)),  # noqa: B023
            microseconds(lambda: encode(body, answer)),  # noqa: B023
        ]
        other = microseconds(lambda: json_text(answer))  # noqa: B023
        print(
            f"{title:24}{steps[0]:8.0f}{steps[1]:9.0f}{steps[2]:8.0f}{sum(steps):8.0f}{other:13.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
