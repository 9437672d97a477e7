"""What the server fills in where an object leaves something out.

Defaults are applied to the hub; what they are stands at the fields (see :mod:`resourceapi.model`).
"""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi.model import claims as model
from resourceapi.objects import EMPTY, Object

ALLOCATION_MODE = model.ExactDeviceRequest["allocationMode"]
COUNT = model.ExactDeviceRequest["count"]
OPERATOR = model.DeviceToleration["operator"]


def apply_defaults(kind: str, version: str, obj: Object, now: str) -> None:
    """Fill in the defaults of an object that came in ``version``; ``now`` is a time in RFC 3339."""
    spec = obj.get("spec", EMPTY)
    if kind == "ResourceClaimTemplate":
        _default_requests(spec.get("spec", EMPTY), version)
    elif kind == "ResourceClaim":
        _default_requests(spec, version)
        results = obj.get("status", EMPTY).get("allocation", EMPTY).get("devices", EMPTY).get("results")
        for result in results or ():
            _default_tolerations(result)
    elif kind == "ResourceSlice":
        for device in spec.get("devices") or ():
            _default_taints(device.get("taints") or (), now)
    elif kind == "DeviceTaintRule":
        taint = obj.setdefault("spec", {}).setdefault("taint", {})  # no pointers: they are always there
        _default_taints((taint,), now)


def _default_requests(claim_spec: Object, version: str) -> None:
    for request in claim_spec.get("devices", EMPTY).get("requests") or ():
        exactly = request.get("exactly")
        if exactly is not None:
            # in v1beta1 only the class tells that a request is meant to be exact
            if version != "v1beta1" or exactly.get("deviceClassName"):
                _default_mode_and_count(exactly)
            _default_tolerations(exactly)
        for sub in request.get("firstAvailable") or ():
            _default_mode_and_count(sub)
            _default_tolerations(sub)


def _default_mode_and_count(request: Object) -> None:
    mode = request.setdefault(ALLOCATION_MODE.name, ALLOCATION_MODE.default)
    if mode == model.EXACT_COUNT:
        request.setdefault(COUNT.name, COUNT.default)


def _default_tolerations(owner: Object) -> None:
    for toleration in owner.get("tolerations") or ():
        toleration.setdefault(OPERATOR.name, OPERATOR.default)


def _default_taints(taints: Iterable[Object], now: str) -> None:
    for taint in taints:
        taint.setdefault("timeAdded", now)
