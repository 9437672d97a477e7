"""Reviews to answer before serving, so that no client waits for what is loaded at first use."""

from __future__ import annotations

from typing import Any

from conversion.hub import hub_object
from deviceselectors import libraries
from validation.server import Server
from webhook.context import WARN, Context
from webhook.converting import convert
from webhook.devices import DeviceIndex
from webhook.feasibility import Feasibility
from webhook.mutating import mutate
from webhook.validating import validate

_CLAIM: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "warm-up", "namespace": "default"},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "main",
                    "exactly": {
                        "deviceClassName": "example.com",
                        "selectors": [{"cel": {"expression": 'device.driver == "example.com"'}}],
                    },
                }
            ]
        }
    },
}

_CLASS: dict[str, Any] = {"metadata": {"name": "example.com"}, "spec": {}}
_SLICE: dict[str, Any] = {
    "metadata": {"name": "warm-up"},
    "spec": {
        "driver": "warm-up",
        "nodeName": "warm-up",
        "pool": {"name": "warm-up", "resourceSliceCount": 1},
        "devices": [{"name": "warm-up"}],
    },
}


def warm_up(server: Server) -> None:
    """Answer a review of each webhook, and evaluate a selector."""
    libraries.load()
    context = Context(server=server, rules=True)
    request = {
        "uid": "warm-up",
        "operation": "CREATE",
        "kind": {"group": "resource.k8s.io", "version": "v1", "kind": "ResourceClaim"},
        "namespace": "default",
        "object": _CLAIM,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    validate(review, context)
    mutate(review, context)
    objects = {"uid": "warm-up", "desiredAPIVersion": "resource.k8s.io/v1beta1", "objects": [_CLAIM]}
    convert(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": objects}, context
    )
    _evaluate(server)


def _evaluate(server: Server) -> None:
    """Evaluate a selector on a device, and explain why it is false."""
    devices = DeviceIndex(server.profile)
    devices.slices.replace([_SLICE])
    devices.device_classes.replace([_CLASS])
    devices.patches.replace([])
    spec = hub_object(_CLAIM, server.profile.schemas, defaults=server.now())["spec"]
    Feasibility(WARN, devices, server.profile).problems(spec, ("spec",))
