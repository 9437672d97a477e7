"""Hints for keys that the API does not know where they stand."""

from __future__ import annotations

from typing import Any

from advice.hints import schema_walk
from advice.hints.hint import Hint
from advice.hints.problem import Problem
from advice.hints.snippet import yaml
from resourceapi.field_path import render
from resourceapi.manifests import value_at
from resourceapi.nearness import did_you_mean
from resourceapi.schema import Struct
from validation.rule_names import UNKNOWN_FIELD

UNKNOWN = (UNKNOWN_FIELD,)
REQUEST = r"^spec\.devices\.requests\[\]"


def _flat_request(problem: Problem) -> str:
    """v1beta1's request under v1 or v1beta2: show the same request with its details in `exactly`."""
    if problem.version not in ("v1", "v1beta2") or problem.schema is None:
        return ""
    details = problem.schema["ExactDeviceRequest"]
    request = problem.parent
    if problem.key not in details.by_name or not isinstance(request, dict):
        return ""
    known = problem.schema["DeviceRequest"].by_name
    moved = {key: value for key, value in request.items() if key in details.by_name}
    exactly = request.get("exactly")
    rewritten: dict[str, Any] = {
        key: value for key, value in request.items() if key in known and key != "exactly"
    }
    if rewritten.get("firstAvailable"):
        return f"remove `{problem.key}` here, or move it to the subrequests that need it: a request with `firstAvailable` has no fields of its own"
    rewritten["exactly"] = {**(exactly if isinstance(exactly, dict) else {}), **moved}
    return f"put these fields under `exactly` ({problem.version}):\n" + yaml([rewritten])


def _exactly_in_v1beta1(problem: Problem) -> str:
    if problem.version != "v1beta1":
        return ""
    return "move the fields of `exactly` up into the request (v1beta1), or use apiVersion resource.k8s.io/v1"


def _basic_device(problem: Problem) -> str:
    """The wrapper that v1beta1 had around a device, under a later version."""
    device = problem.parent
    if problem.version == "v1beta1" or not isinstance(device, dict):
        return ""
    text = f"move the fields of `basic` up into the device ({problem.version}); only v1beta1 has `basic`"
    basic = device.get("basic")
    if not isinstance(basic, dict):
        return text
    return text + ":\n" + yaml([{key: value for key, value in device.items() if key != "basic"} | basic])


def _device_without_basic(problem: Problem) -> str:
    schema = problem.schema
    if problem.version != "v1beta1" or schema is None or problem.key not in schema["BasicDevice"].by_name:
        return ""
    return f"move `{problem.key}` under `basic` (v1beta1), or use apiVersion resource.k8s.io/v1"


def _metadata_at_top_level(problem: Problem) -> str:
    if problem.schema is None or problem.key not in problem.schema["ObjectMeta"].by_name:
        return ""
    metadata: dict[str, Any] = {problem.key: problem.value}
    written = problem.parent.get("metadata") if isinstance(problem.parent, dict) else None
    if isinstance(written, dict) and problem.key in written:
        return f"remove this `{problem.key}`; `metadata` already has one"
    return f"move `{problem.key}` into `metadata`:\n" + yaml({"metadata": metadata})


def _spec_of_a_claim(problem: Problem) -> str:
    """A template with the spec of a claim, or the other way round."""
    if problem.kind == "ResourceClaimTemplate" and problem.key == "devices":
        return "put the claim's spec under the template's `spec.spec`:\nspec:\n  spec:\n    devices: …"
    if problem.kind == "ResourceClaim" and problem.key == "spec":
        return "move the fields of the inner `spec` one level up; only a ResourceClaimTemplate has `spec` in `spec`"
    return ""


def _pod_claim_source(problem: Problem) -> str:
    """`source:` of 1.26 to 1.30, and the `template:` of some texts from that time."""
    source = problem.value
    claim = problem.parent
    if not isinstance(source, dict) or not isinstance(claim, dict):
        return f"name the claim or the template directly; `{problem.key}` was removed after 1.30"
    rewritten = {key: value for key, value in claim.items() if key != problem.key} | source
    return (
        f"name the claim or the template in the entry itself; `{problem.key}` was removed after 1.30:\n"
        + yaml([rewritten])
    )


def _classic_field(problem: Problem) -> str:
    if not problem.api_version.startswith("resource.k8s.io/"):
        return ""
    return (
        f"`{problem.key}` is a field of classic DRA (v1alpha2, last served by Kubernetes 1.30); use "
        "`spec.devices.requests` instead, each with the `deviceClassName` of a DeviceClass and CEL selectors"
    )


def _proposed_field(problem: Problem) -> str:
    """A field that an enhancement proposal describes and no release has."""
    from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS

    schema = SCHEMAS_WITH_PROPOSALS.get(problem.version)
    if schema is None or schema_walk.type_at(schema, problem.kind, problem.path) is None:
        return ""
    return f"`{problem.key}` is only proposed here, no release has it yet; to check against the proposals use --kube-version kep"


def _did_you_mean(problem: Problem) -> str:
    struct = _struct_around(problem)
    if struct is None or problem.schema is None:
        return ""
    names = [field.name for field in schema_walk.fields_of(problem.schema, struct)]
    if len(problem.path) == 1:
        names += ["apiVersion", "kind"]
    begun = _begun(problem.key, names)
    return did_you_mean(problem.key, names) or (f"did you mean `{begun}`?" if begun else "")


def _begun(word: str, names: list[str]) -> str:
    """The only name that begins with the word, such as `deviceClassName` for `deviceClass`."""
    found = [name for name in names if len(word) > 3 and name.lower().startswith(word.lower())]
    return found[0] if len(found) == 1 else ""


def _elsewhere(problem: Problem) -> str:
    """A key that the kind has, but in another place: most often it is indented wrongly."""
    if problem.schema is None:
        return ""
    places = schema_walk.structs_with(problem.schema, problem.kind, problem.key)
    here = render(problem.path[:-1]) if len(problem.path) > 1 else ""
    places = sorted(places, key=lambda place: (not _is_near(place, here), place.count("."), place))
    if not places or len(places) > 6:
        return ""
    shown = " or ".join(f"`{place}`" if place else "the object itself" for place in places[:2])
    return f"check the indentation: `{problem.key}` is a field of {shown}"


def _is_near(place: str, here: str) -> bool:
    return place.startswith(here.partition("[")[0])


def _fields_here(problem: Problem) -> str:
    struct = _struct_around(problem)
    if struct is None or problem.schema is None:
        return ""
    names = [f"`{field.name}`" for field in schema_walk.fields_of(problem.schema, struct)]
    if not names or len(names) > 12:
        return ""
    return "fields allowed here: " + ", ".join(names)


def _struct_around(problem: Problem) -> Struct | None:
    if problem.schema is None:
        return None
    return schema_walk.struct_at(problem.schema, problem.kind, problem.path[:-1])


def _attribute_keys(problem: Problem) -> str:
    """A value type of an attribute that does not exist, e.g. `integer:`."""
    meant = {
        "integer": "int",
        "number": "int",
        "boolean": "bool",
        "str": "string",
        "semver": "version",
        "value": "string",
    }
    wanted = meant.get(problem.key)
    return (
        f"write `{wanted}`: the type of an attribute is `int`, `bool`, `string` or `version`"
        if wanted
        else ""
    )


def _expression_beside_cel(problem: Problem) -> str:
    selector = problem.parent
    cel = selector.get("cel") if isinstance(selector, dict) else None
    expression = value_at(selector, ("expression",))
    if (isinstance(cel, dict) and "expression" in cel) or not isinstance(expression, str):
        return "move `expression` under `cel`"
    return "indent `expression` so that it is under `cel`:\n" + yaml([{"cel": {"expression": expression}}])


HINTS = (
    Hint("expression-beside-cel", UNKNOWN, _expression_beside_cel, place=r"selectors\[\]\.expression$"),
    Hint("flat-request", UNKNOWN, _flat_request, place=REQUEST + r"\.\w+$"),
    Hint("exactly-in-v1beta1", UNKNOWN, _exactly_in_v1beta1, place=REQUEST + r"\.exactly$"),
    Hint(
        "nested-first-available",
        UNKNOWN,
        "list all alternatives in the request's own `firstAvailable`; they cannot be nested",
        place=REQUEST + r"\.firstAvailable\[\]\.firstAvailable$",
    ),
    Hint(
        "exactly-in-subrequest",
        UNKNOWN,
        "move the fields of `exactly` up, next to the subrequest's name; a subrequest has no `exactly`",
        place=REQUEST + r"\.firstAvailable\[\]\.exactly$",
    ),
    Hint(
        "admin-access-in-subrequest",
        UNKNOWN,
        "`adminAccess` is only allowed under `exactly`, not in alternatives",
        place=REQUEST + r"\.firstAvailable\[\]\.adminAccess$",
    ),
    Hint("basic-device", UNKNOWN, _basic_device, place=r"^spec\.devices\[\]\.basic$"),
    Hint("device-without-basic", UNKNOWN, _device_without_basic, place=r"^spec\.devices\[\]\.\w+$"),
    Hint("metadata-at-top-level", UNKNOWN, _metadata_at_top_level, place=r"^[^.\[]+$"),
    Hint("claim-spec-or-template-spec", UNKNOWN, _spec_of_a_claim, place=r"^spec\.(devices|spec)$|^spec$"),
    Hint("pod-claim-source", UNKNOWN, _pod_claim_source, place=r"resourceClaims\[\]\.(source|template)$"),
    Hint(
        "classic-field",
        UNKNOWN,
        _classic_field,
        place=r"^(spec\.(resourceClassName|parametersRef|allocationMode)|driverName|parametersRef|suitableNodes)$",
    ),
    Hint(
        "claims-beside-resources",
        UNKNOWN,
        "move `claims` under the container's `resources`",
        place=r"ontainers\[\]\.claims$",
    ),
    Hint(
        "resource-claims-in-container",
        UNKNOWN,
        "move `resourceClaims` to the pod's spec; a container lists their names under `resources.claims`",
        place=r"ontainers\[\](\.resources)?\.resourceClaims$",
    ),
    Hint("attribute-value-type", UNKNOWN, _attribute_keys, place=r"attributes\{\}\.\w+$"),
    Hint("proposed-field", UNKNOWN, _proposed_field),
    Hint("did-you-mean", UNKNOWN, _did_you_mean),
    Hint("field-elsewhere", UNKNOWN, _elsewhere),
    Hint("fields-here", UNKNOWN, _fields_here),
)
