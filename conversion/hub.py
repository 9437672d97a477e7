"""From any version to the hub, which has the shape of v1, and back.

Objects are in normal form (:mod:`resourceapi.schema`); what a version has like v1 is shared, not copied.  Only v1beta1
differs from v1 in shape: the fields of an exact request are in the request itself, those of a device in ``basic``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from resourceapi.decoding import DecodingError, decode
from resourceapi.field_errors import Path
from resourceapi.kind import Kind
from resourceapi.kinds import CLAIM, CLAIM_TEMPLATE, KINDS, RESOURCE_SLICE, claim_spec_of, kind_in
from resourceapi.model import claims, slices
from resourceapi.model.versions import GROUP
from resourceapi.objects import EMPTY, Object, copied
from resourceapi.releases import split_api_version
from resourceapi.schema import Schema

# What the server fills in where an object leaves something out.
# Defaults are applied to the hub.  What they are stands at the fields, and what fills them in beside them
# (see :mod:`resourceapi.model`).


def apply_defaults(kind: str, version: str, obj: Object, now: str) -> None:
    """Fill in the defaults of an object of the hub.

    :param kind: a kind of the group; others have no defaults here.
    :param version: the version that the object came in.
    :param now: the time, in RFC 3339.
    """
    row = kind_in(GROUP, kind, version)
    if row is not None and row.default is not None:
        row.default(obj, version, now)


EXACT_FIELDS = tuple(field.name for field in claims.ExactDeviceRequest.fields)
DEVICE_FIELDS = tuple(field.name for field in slices.DEVICE_DETAILS)
# lists that conversion to the hub makes nil if they are empty
_EMPTY_LISTS = ("tolerations", "consumesCounters", "taints")
_EMPTY_MAPS = ("attributes", "capacity")


def hub_object(
    value: Object,
    schemas: Mapping[str, Schema],
    *,
    defaults: str | None,
    kind: str = "",
    version: str = "",
    strict: bool = False,
    written_by_server: bool = False,
) -> Object:
    """The object that JSON of any version denotes: decoded, in the shape of the hub and in normal form.

    The result is the caller's; nothing of it is shared with ``value`` but scalars and raw JSON.

    :param schemas: the schemas to decode with, by version.
    :param defaults: the time (RFC 3339) that defaults of times get; None fills in no defaults at all.
    :param kind: given where ``value`` need not say it: a review or a URL does, or the list that ``value`` is from.
    :param version: like ``kind``.
    :param strict: whether unknown and repeated fields are errors; otherwise they are left out.
    :param written_by_server: see ``answered`` of :func:`resourceapi.decoding.decode`.
    :raises DecodingError: if the server could not decode it, or there is no such version of the kind.
    """
    kind = kind or value["kind"]
    version = version or split_api_version(value["apiVersion"])[1]
    known = kind_in(GROUP, kind, version)
    if known is None or version not in schemas or not _is_in(known, version, schemas[version]):
        raise DecodingError(f"{GROUP}/{version} has no {kind} that can be read", ("apiVersion",))
    decoded = decode(schemas[version], kind, value, answered=written_by_server)
    if strict and decoded.problems:
        raise DecodingError(decoded.problems[0].text, decoded.problems[0].path)
    return normalized(kind, version, decoded.object, defaults=defaults)


def _is_in(kind: Kind, version: str, schema: Schema) -> bool:
    """Whether a version has the kind; what a version had formerly had its structs in other places."""
    return version in kind.versions or (version in kind.former and "BasicDevice" in schema)


def normalized(kind: str, version: str, decoded: Object, *, defaults: str | None) -> Object:
    """A decoded object of ``version`` as :func:`hub_object` returns it; ``decoded`` must not be used any more."""
    hub = to_hub(kind, version, decoded)
    if defaults is not None:
        apply_defaults(kind, version, hub, defaults)
    return hub


def with_defaults(kind: str, version: str, hub: Object, time: str) -> Object:
    """A copy of an object of the hub that came in ``version``, with its defaults.

    :param time: the time (RFC 3339) that defaults of times get.
    """
    copy: Object = copied(hub)
    apply_defaults(kind, version, copy, time)
    return copy


def to_hub(kind: str, version: str, obj: Object) -> Object:
    """An object of ``version`` in the shape of the hub."""
    of_device = _device_to_hub if version == "v1beta1" else _device_of_v1alpha3_to_hub
    return _convert(kind, version, obj, _request_to_hub, of_device)


def from_hub(kind: str, version: str, obj: Object) -> Object:
    """An object of the hub in the shape of ``version``."""
    of_device = _device_from_hub if version == "v1beta1" else _device_of_v1alpha3_from_hub
    return _convert(kind, version, obj, _request_from_hub, of_device)


def _convert(
    kind: str,
    version: str,
    obj: Object,
    request: Callable[[Object], Object],
    device: Callable[[Object], Object],
) -> Object:
    if version not in claims.FLAT_VERSIONS or "spec" not in obj:
        return obj
    if kind == CLAIM.name:
        return {**obj, "spec": _claim_spec(obj["spec"], request)}
    if kind == CLAIM_TEMPLATE.name and "spec" in obj["spec"]:
        return {**obj, "spec": {**obj["spec"], "spec": _claim_spec(obj["spec"]["spec"], request)}}
    if kind == RESOURCE_SLICE.name and "devices" in obj["spec"]:
        spec = obj["spec"]
        devices = [device(item or EMPTY) for item in spec["devices"]]
        return {**obj, "spec": {**spec, "devices": devices}}
    return obj


def flat_claim_spec(spec: Object) -> Object:
    """The spec of a claim of the hub in the shape of v1beta1."""
    return _claim_spec(spec, _request_from_hub)


def _claim_spec(spec: Object, request: Callable[[Object], Object]) -> Object:
    devices = spec.get("devices", EMPTY)
    if "requests" not in devices:
        return spec
    return {
        **spec,
        "devices": {**devices, "requests": [request(item or EMPTY) for item in devices["requests"]]},
    }


def _request_to_hub(request: Object) -> Object:
    """A request with any field of an exact one set is an exact one, even if it has alternatives, too."""
    exactly = {name: request[name] for name in EXACT_FIELDS if name in request}
    result = {name: value for name, value in request.items() if name not in exactly}
    if exactly:
        if exactly.get("tolerations") == []:
            del exactly["tolerations"]
        result["exactly"] = exactly
    return result


def _request_from_hub(request: Object) -> Object:
    result = dict(request)
    result.update(result.pop("exactly", EMPTY))
    return result


def _device_to_hub(device: Object) -> Object:
    result = {name: value for name, value in device.items() if name != "basic"}
    for name, value in device.get("basic", EMPTY).items():
        if value or not (name in _EMPTY_LISTS or name in _EMPTY_MAPS):
            result[name] = value
    return result


def _device_from_hub(device: Object) -> Object:
    return {
        "name": device.get("name", ""),
        "basic": {name: device[name] for name in DEVICE_FIELDS if name in device},
    }


def _device_of_v1alpha3_to_hub(device: Object) -> Object:
    """There a capacity is a quantity, not a struct that has one."""
    result = _device_to_hub(device)
    if "capacity" in result:
        result["capacity"] = {name: {"value": amount} for name, amount in result["capacity"].items()}
    return result


def _device_of_v1alpha3_from_hub(device: Object) -> Object:
    result = _device_from_hub(device)
    capacity = result["basic"].get("capacity")
    if capacity is not None:
        amounts = {name: amount["value"] for name, amount in capacity.items() if "value" in amount}
        result["basic"]["capacity"] = amounts
    return result


# The same place in the versions of an object.
# kube-apiserver names the hub's path in some errors and the path of the version in the URL in others;
# users think in the version that they wrote.

_REQUESTS = tuple((*kind.claim_spec, "devices", "requests") for kind in KINDS.values() if kind.claim_spec)
_DEVICES = ("spec", "devices")


def path_to_hub(path: Path) -> Path:
    """A path of any version as the hub has it; a path of the hub stays as it is."""
    for prefix in _REQUESTS:
        at = len(prefix)
        if path[:at] == prefix and len(path) > at + 1 and path[at + 1] in EXACT_FIELDS:
            return (*path[: at + 1], "exactly", *path[at + 1 :])
    if path[:2] == _DEVICES and len(path) > 3 and path[3] == "basic":
        return (*path[:3], *path[4:])
    return path


def path_to_version(path: Path, kind: str, version: str) -> Path:
    """A path of the hub (or of the version already) as a user of ``version`` has it."""
    if kind == CLAIM_TEMPLATE.name and path[:2] == ("spec", "devices"):
        path = ("spec", *path)  # admin access is reported as if the template were a claim
    if version != "v1beta1":
        return _exactly(path, kind)
    for prefix in _REQUESTS:
        at = len(prefix)
        if path[:at] == prefix and path[at + 1 : at + 2] == ("exactly",):
            return (*path[: at + 1], *path[at + 2 :])
    if kind == RESOURCE_SLICE.name and path[:2] == _DEVICES and len(path) > 3 and path[3] in DEVICE_FIELDS:
        return (*path[:3], "basic", *path[3:])
    return path


def _exactly(path: Path, kind: str) -> Path:
    """Admin access is reported without the ``exactly`` that it stands in."""
    if claim_spec_of(kind) and path[-1:] == ("adminAccess",) and path[0] == "spec":
        return path_to_hub(path)
    return path
