"""Hints for what earlier releases served: the API of classic DRA (1.26 to 1.30), and v1alpha3 (1.31 to 1.33).

The fields are those of ``k8s.io/api``, from v0.26 to v0.33.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from advice.hints.devices import flat_device
from advice.hints.group import FORMER_KINDS, LAST_SERVED, is_of_the_group, newest_served
from advice.hints.hint import Advice, Hint, Problem, changed, yaml
from resourceapi.field_errors import Path
from resourceapi.kinds import CLAIM, DEVICE_CLASS
from resourceapi.manifests import MISSING, entries, mapping, text, value_at
from resourceapi.model.claims import FLAT_VERSIONS
from resourceapi.model.versions import CLASSIC_VERSIONS, GROUP, MISTAKEN_GROUP
from validation.requests import NOT_SERVED, UNKNOWN_FIELD

CLASSIC = "classic DRA, which Kubernetes had up to 1.30"
MIGRATE = "run `claimcheck migrate FILE`, which rewrites it for v1"
# Kinds that `claimcheck migrate` leaves out: nothing of today does what they did.
_WITHOUT_SUCCESSOR = ("PodScheduling", "PodSchedulingContext")


# --- objects of versions and kinds that are gone ------------------------------------------------------------------


def _former(problem: Problem) -> str | Advice:
    """A version or kind that is gone: show what to write now, and name the last release that served it."""
    kind, version = problem.kind, problem.version
    last = LAST_SERVED.get(version, {}).get(kind)
    if (last is None and kind not in FORMER_KINDS) or not is_of_the_group(problem.api_version, kind):
        return ""
    what = _rewrite(problem)
    if last is None:
        since = f"{kind} was a kind of {CLASSIC}"
    else:
        since = f"{GROUP}/{version} {kind} was last served by 1.{last}"
    group = problem.api_version.rpartition("/")[0]
    if group not in ("", GROUP):
        since += f"; there is no group {group}"
    head, newline, snippet = what.text.partition("\n")
    is_classic = group in (GROUP, MISTAKEN_GROUP) and version in CLASSIC_VERSIONS
    is_migrated = is_classic and kind not in _WITHOUT_SUCCESSOR and not _has_devices(problem.object)
    if is_migrated and problem.migrates:
        head = f"{_migrate(problem)}, or {head}"
    if newline:
        return Advice(f"{head.removesuffix(':')} ({since}):\n{snippet}", *what.changes)
    return Advice(f"{head}; {since}", *what.changes)


def _now(problem: Problem, kind: str = "") -> str:
    """The version to write: the newest that the release serves."""
    return newest_served(kind or problem.kind, problem.profile) or "v1"


def _migrate(problem: Problem) -> str:
    now = _now(problem, DEVICE_CLASS.name)
    return MIGRATE if now == "v1" else f"{MIGRATE} (then `claimcheck convert --to {now}` for this release)"


def _rewrite(problem: Problem) -> Advice:
    """What to write instead, without the reason; a snippet follows on the next lines."""
    kind = problem.kind
    if kind in _SUCCESSORS:
        return _SUCCESSORS[kind](problem)
    if problem.version == "v1alpha3" or _has_devices(problem.object):
        return _from_v1alpha3(problem)
    if kind == "ResourceSlice":
        return _classic_slice(problem)
    return _classic_claim(problem)


def _has_devices(manifest: Any) -> bool:
    """Whether an object has the shape that came after classic DRA, whatever its version says."""
    spec = mapping(manifest, "spec")
    return "devices" in spec or "devices" in mapping(spec, "spec")


def _from_v1alpha3(problem: Problem) -> Advice:
    now = newest_served(problem.kind, problem.profile)
    rewritten = _modern(problem.object, now)
    plain = f"write `apiVersion: {GROUP}/{now}`"
    if not decodes(rewritten, now):
        return Advice(plain)
    change = ((), rewritten)
    requests = value_at(rewritten, _requests_path(problem.kind))
    if isinstance(requests, list) and requests != value_at(problem.object, _requests_path(problem.kind)):
        how = f"write `apiVersion: {GROUP}/{now}` and these requests{_without_gone(problem)}"
        if _is_convertible(problem.object):
            how = f"run `claimcheck convert --to {now} FILE`, which writes `apiVersion: {GROUP}/{now}` and these requests"
        return Advice(f"{how}:\n{yaml(requests)}", change)
    if entries(mapping(rewritten, "spec"), "devices") != entries(mapping(problem.object, "spec"), "devices"):
        return Advice(
            f"{plain}, move the fields of `basic` up into each device, and put each quantity of `capacity` under `value`:\n"
            + yaml(entries(mapping(rewritten, "spec"), "devices")[:1]),
            change,
        )
    return Advice(plain + _without_gone(problem), change)


def _without_gone(problem: Problem) -> str:
    """The fields to leave out, in words."""
    gone = [path[-1] for path in _gone_fields(problem.kind) if value_at(problem.object, path) is not MISSING]
    return f", without `{gone[0]}`" if gone else ""


def _gone_fields(kind: str) -> tuple[Path, ...]:
    """Where drivers with a controller had their fields, up to 1.31."""
    return (*_requests_path(kind)[:-2], "controller"), ("spec", "suitableNodes")


def _requests_path(kind: str) -> tuple[str, ...]:
    inner = ("spec", "spec") if kind == "ResourceClaimTemplate" else ("spec",)
    return (*inner, "devices", "requests")


def _modern(manifest: Any, version: str) -> Any:
    """An object of v1alpha3, or of a draft of that time, in the shape of v1."""
    kind = text(manifest, "kind")
    path = _requests_path(kind)
    changes: list[tuple[Any, Any]] = [(("apiVersion",), f"{GROUP}/{version}")]
    requests = value_at(manifest, path)
    if isinstance(requests, list):
        changes.append((path, [_modern_request(request) for request in requests]))
    if kind == "ResourceSlice":
        changes.append(
            (("spec", "devices"), [flat_device(device) for device in entries(manifest["spec"], "devices")])
        )
    for gone in _gone_fields(kind):
        if value_at(manifest, gone) is not MISSING:
            changes.append((gone, MISSING))
    return changed(manifest, changes)


def _modern_request(request: Any) -> Any:
    """A request with its details under `exactly`; a draft had them under `device`."""
    if not isinstance(request, dict) or "exactly" in request or "firstAvailable" in request:
        return request
    details = {key: value for key, value in request.items() if key != "name"}
    if list(details) == ["device"] and isinstance(details["device"], dict):
        details = details["device"]
    return {**({"name": request["name"]} if "name" in request else {}), "exactly": details}


def decodes(manifest: Any, version: str) -> bool:
    """Whether an object is one of a version, whatever its own ``apiVersion`` says: no field unknown, every value of its type."""
    from conversion.hub import hub_object
    from resourceapi.decoding import DecodingError
    from resourceapi.model.versions import SCHEMAS

    try:
        hub_object(manifest, SCHEMAS, defaults=None, version=version, strict=True)
    except DecodingError:
        return False
    return True


def _is_convertible(manifest: Any) -> bool:
    """Whether ``claimcheck convert`` can read it, which reads v1alpha3 as v1beta1."""
    return text(manifest, "apiVersion") == f"{GROUP}/v1alpha3" and decodes(manifest, "v1beta1")


def _classic_claim(problem: Problem) -> Advice:
    template = problem.kind == "ResourceClaimTemplate"
    spec = mapping(problem.object, "spec", *(("spec",) if template else ()))
    class_name = text(spec, "resourceClassName")
    now = _now(problem)
    details = {"deviceClassName": class_name or "<DeviceClass>"}
    request = {"name": "device", **(details if now in FLAT_VERSIONS else {"exactly": details})}
    modern: dict[str, Any] = {"devices": {"requests": [request]}}
    rewritten = {
        "apiVersion": f"{GROUP}/{now}",
        "kind": problem.kind,
        "spec": {"spec": modern} if template else modern,
    }
    parameters = ""
    if "parametersRef" in spec:
        parameters = ", and parameters for the driver in `devices.config`"
    changes = (((), {**problem.object, **rewritten}),) if class_name and not parameters else ()
    return Advice(f"write it with requests for devices{parameters}:\n{yaml(rewritten)}", *changes)


def _classic_slice(problem: Problem) -> Advice:
    return Advice(
        f"let the driver publish its ResourceSlices; by hand, write `apiVersion: {GROUP}/{_now(problem)}` with `spec.driver`, "
        "`spec.nodeName`, `spec.pool`, and an entry of `spec.devices` for each of `namedResources.instances`"
    )


def _class(problem: Problem) -> Advice:
    driver = text(problem.object, "driverName")
    api_version = f"{GROUP}/{_now(problem, DEVICE_CLASS.name)}"
    head = f"write a {api_version} DeviceClass, which selects devices with CEL"
    if not driver:
        return Advice(head)
    kept = mapping(problem.object, "metadata")
    rewritten = {
        "apiVersion": api_version,
        "kind": DEVICE_CLASS.name,
        **({"metadata": kept} if kept else {}),
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
    }
    safe = all(letter.isalnum() or letter in "-." for letter in driver)
    return Advice(f"{head}:\n{yaml(rewritten)}", ((), rewritten)) if safe else Advice(head)


def _without_successor(_: Problem) -> Advice:
    return Advice("remove it: the scheduler now allocates devices itself")


_SUCCESSORS: dict[str, Callable[[Problem], Advice]] = {
    "ResourceClass": _class,
    "PodScheduling": _without_successor,
    "PodSchedulingContext": _without_successor,
    "ResourceClassParameters": lambda problem: Advice(
        f"write a {GROUP}/{_now(problem, DEVICE_CLASS.name)} DeviceClass, with the selectors in `spec.selectors` and parameters for the driver in `spec.config`"
    ),
    "ResourceClaimParameters": lambda problem: Advice(
        f"move it into a {GROUP}/{_now(problem, CLAIM.name)} claim: selectors into `spec.devices.requests`, parameters for the driver into `spec.devices.config`"
    ),
}


# --- fields that are gone, under a version of today ---------------------------------------------------------------


def _classic_field(problem: Problem) -> str | Advice:
    """A field of an earlier API in an object of today."""
    if not problem.api_version.startswith(f"{GROUP}/"):
        return ""
    key = problem.key
    if key in ("controller", "suitableNodes"):
        return Advice(
            f"remove `{key}`: it was for drivers with a controller, which Kubernetes had up to 1.31",
            (problem.path, MISSING),
        )
    if problem.kind == "DeviceClass":
        what = 'select its devices instead, with a CEL expression such as `device.driver == "gpu.example.com"` in `spec.selectors`'
    elif problem.kind == "ResourceSlice":
        what = "write `spec.driver`, `spec.nodeName`, `spec.pool` and `spec.devices` instead"
    else:
        what = "use `devices.requests` instead, each with the `deviceClassName` of a DeviceClass and CEL selectors"
    return f"{what}; `{key}` is a field of {CLASSIC}"


def _pod_claim_source(problem: Problem) -> Advice:
    """`source:` of 1.26 to 1.30, and the `template:` of some texts from that time."""
    from advice.hints.fields import meant_field

    source, claim = problem.value, problem.parent
    direct = Advice(f"name the claim or the template directly; `{problem.key}` was removed after 1.30")
    if not isinstance(source, dict) or not isinstance(claim, dict):
        return direct
    names = ["resourceClaimName", "resourceClaimTemplateName"]
    renamed = {
        key if key in names else meant_field(key, names) or key: value for key, value in source.items()
    }
    rewritten = {key: value for key, value in claim.items() if key != problem.key} | renamed
    head = f"name the claim or the template in the entry itself; `{problem.key}` was removed after 1.30:\n"
    if problem.migrates:
        head = f"{_migrate(problem)}, or {head}"
    if any(not isinstance(value, str) for value in renamed.values()):
        return direct
    return Advice(head + yaml([rewritten]), (problem.path[:-1], rewritten))


HINTS = (
    Hint("former-version", (NOT_SERVED,), _former),
    Hint(
        "classic-field",
        (UNKNOWN_FIELD,),
        _classic_field,
        place=r"^(spec\.(resourceClassName|parametersRef|allocationMode|controller|suitableNodes|driverName)"
        r"|driverName|nodeName|namedResources|parametersRef|suitableNodes|structuredParameters)$",
    ),
    Hint(
        "pod-claim-source",
        (UNKNOWN_FIELD,),
        _pod_claim_source,
        place=r"resourceClaims\[\]\.(source|template)$",
    ),
)
