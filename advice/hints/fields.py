"""Hints for keys that the API does not know where they stand."""

from __future__ import annotations

from typing import Any

from advice.hints import schema_walk
from advice.hints.scenario import Situation, value_at
from advice.hints.snippet import yaml
from advice.hints.table import Hint
from resourceapi.field_path import render
from resourceapi.nearness import nearest
from resourceapi.schema import Struct
from validation.rule_names import UNKNOWN_FIELD

UNKNOWN = (UNKNOWN_FIELD,)
REQUEST = r"^spec\.devices\.requests\[\]"


def _flat_request(situation: Situation) -> str:
    """v1beta1's request under v1 or v1beta2: show the same request with its details in `exactly`."""
    if situation.version not in ("v1", "v1beta2") or situation.schema is None:
        return ""
    details = situation.schema["ExactDeviceRequest"]
    request = situation.parent
    if situation.key not in details.by_name or not isinstance(request, dict):
        return ""
    known = situation.schema["DeviceRequest"].by_name
    moved = {key: value for key, value in request.items() if key in details.by_name}
    exactly = request.get("exactly")
    rewritten: dict[str, Any] = {
        key: value for key, value in request.items() if key in known and key != "exactly"
    }
    if rewritten.get("firstAvailable"):
        return (
            f"a request has either `exactly` or `firstAvailable`; remove `{situation.key}` here, "
            "or give it to the subrequests that need it"
        )
    rewritten["exactly"] = {**(exactly if isinstance(exactly, dict) else {}), **moved}
    return f"{situation.version} has the details of a request under `exactly`:\n" + yaml([rewritten])


def _exactly_in_v1beta1(situation: Situation) -> str:
    if situation.version != "v1beta1":
        return ""
    return "v1beta1 has the fields of `exactly` in the request itself; `exactly` needs apiVersion resource.k8s.io/v1"


def _basic_device(situation: Situation) -> str:
    """The wrapper that v1beta1 had around a device, under a later version."""
    device = situation.parent
    if situation.version == "v1beta1" or not isinstance(device, dict):
        return ""
    text = f"`basic` was v1beta1's; {situation.version} has these fields in the device itself"
    basic = device.get("basic")
    if not isinstance(basic, dict):
        return text
    return text + ":\n" + yaml([{key: value for key, value in device.items() if key != "basic"} | basic])


def _device_without_basic(situation: Situation) -> str:
    schema = situation.schema
    if situation.version != "v1beta1" or schema is None or situation.key not in schema["BasicDevice"].by_name:
        return ""
    return f"v1beta1 has `{situation.key}` under `basic`; directly in the device needs apiVersion resource.k8s.io/v1"


def _metadata_at_top_level(situation: Situation) -> str:
    if situation.schema is None or situation.key not in situation.schema["ObjectMeta"].by_name:
        return ""
    metadata: dict[str, Any] = {situation.key: situation.value}
    written = situation.parent.get("metadata") if isinstance(situation.parent, dict) else None
    if isinstance(written, dict) and situation.key in written:
        return f"`{situation.key}` stands in `metadata` already; remove this one"
    return f"`{situation.key}` belongs into `metadata`:\n" + yaml({"metadata": metadata})


def _spec_of_a_claim(situation: Situation) -> str:
    """A template with the spec of a claim, or the other way round."""
    if situation.kind == "ResourceClaimTemplate" and situation.key == "devices":
        return "a template has the claim's spec under a `spec` of its own:\nspec:\n  spec:\n    devices: …"
    if situation.kind == "ResourceClaim" and situation.key == "spec":
        return "only a ResourceClaimTemplate has `spec` in `spec`; move what is in it one level up"
    return ""


def _pod_claim_source(situation: Situation) -> str:
    """`source:` of 1.26 to 1.30, and the `template:` of some texts from that time."""
    source = situation.value
    claim = situation.parent
    if not isinstance(source, dict) or not isinstance(claim, dict):
        return f"`{situation.key}` was dropped after 1.30: name the claim or the template directly"
    rewritten = {key: value for key, value in claim.items() if key != situation.key} | source
    return f"`{situation.key}` was dropped after 1.30; now the name stands in the entry itself:\n" + yaml(
        [rewritten]
    )


def _classic_field(situation: Situation) -> str:
    if not situation.api_version.startswith("resource.k8s.io/"):
        return ""
    return (
        f"`{situation.key}` is from classic DRA (v1alpha2, last served by Kubernetes 1.30); now a claim has "
        "`spec.devices.requests`, each with the `deviceClassName` of a DeviceClass and CEL selectors"
    )


def _proposed_field(situation: Situation) -> str:
    """A field that an enhancement proposal describes and no release has."""
    from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS

    schema = SCHEMAS_WITH_PROPOSALS.get(situation.version)
    if schema is None or schema_walk.type_at(schema, situation.kind, situation.path) is None:
        return ""
    return f"a proposal has `{situation.key}` here, but no release yet; --kube-version kep knows it"


def _did_you_mean(situation: Situation) -> str:
    struct = _struct_around(situation)
    if struct is None or situation.schema is None:
        return ""
    names = [field.name for field in schema_walk.fields_of(situation.schema, struct)]
    if len(situation.path) == 1:
        names += ["apiVersion", "kind"]
    meant = nearest(situation.key, names) or _begun(situation.key, names)
    return f"did you mean `{meant}`?" if meant else ""


def _begun(word: str, names: list[str]) -> str:
    """The only name that begins with the word, such as `deviceClassName` for `deviceClass`."""
    found = [name for name in names if len(word) > 3 and name.lower().startswith(word.lower())]
    return found[0] if len(found) == 1 else ""


def _elsewhere(situation: Situation) -> str:
    """A key that the kind has, but in another place: most often it is indented wrongly."""
    if situation.schema is None:
        return ""
    places = schema_walk.places_of(situation.schema, situation.kind, situation.key)
    here = render(situation.path[:-1]) if len(situation.path) > 1 else ""
    places = sorted(places, key=lambda place: (not _is_near(place, here), place.count("."), place))
    if not places or len(places) > 6:
        return ""
    shown = " or ".join(f"`{place}`" for place in places[:2])
    return f"`{situation.key}` is a field of {shown}; is it indented as it should be?"


def _is_near(place: str, here: str) -> bool:
    return place.startswith(here.partition("[")[0])


def _fields_here(situation: Situation) -> str:
    struct = _struct_around(situation)
    if struct is None or situation.schema is None:
        return ""
    names = [f"`{field.name}`" for field in schema_walk.fields_of(situation.schema, struct)]
    if not names or len(names) > 12:
        return ""
    return "possible here: " + ", ".join(names)


def _struct_around(situation: Situation) -> Struct | None:
    if situation.schema is None:
        return None
    return schema_walk.struct_at(situation.schema, situation.kind, situation.path[:-1])


def _attribute_keys(situation: Situation) -> str:
    """A value type of an attribute that does not exist, e.g. `integer:`."""
    meant = {
        "integer": "int",
        "number": "int",
        "boolean": "bool",
        "str": "string",
        "semver": "version",
        "value": "string",
    }
    wanted = meant.get(situation.key)
    return f"an attribute has one of `int`, `bool`, `string`, `version`; here `{wanted}`" if wanted else ""


def _expression_beside_cel(situation: Situation) -> str:
    selector = situation.parent
    cel = selector.get("cel") if isinstance(selector, dict) else None
    expression = value_at(selector, ("expression",))
    if (isinstance(cel, dict) and "expression" in cel) or not isinstance(expression, str):
        return "`expression` belongs under `cel`"
    return "`expression` belongs under `cel`, indented further than it:\n" + yaml(
        [{"cel": {"expression": expression}}]
    )


HINTS = (
    Hint("expression-beside-cel", UNKNOWN, _expression_beside_cel, place=r"selectors\[\]\.expression$"),
    Hint("flat-request", UNKNOWN, _flat_request, place=REQUEST + r"\.\w+$"),
    Hint("exactly-in-v1beta1", UNKNOWN, _exactly_in_v1beta1, place=REQUEST + r"\.exactly$"),
    Hint(
        "nested-first-available",
        UNKNOWN,
        "alternatives cannot be nested; list all of them in the request's own `firstAvailable`",
        place=REQUEST + r"\.firstAvailable\[\]\.firstAvailable$",
    ),
    Hint(
        "exactly-in-subrequest",
        UNKNOWN,
        "a subrequest has no `exactly`; its fields stand beside its name",
        place=REQUEST + r"\.firstAvailable\[\]\.exactly$",
    ),
    Hint(
        "admin-access-in-subrequest",
        UNKNOWN,
        "adminAccess is not possible for alternatives, only under `exactly`",
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
        "`claims` belongs under the container's `resources`",
        place=r"ontainers\[\]\.claims$",
    ),
    Hint(
        "resource-claims-in-container",
        UNKNOWN,
        "`resourceClaims` belongs into the pod's spec; the container lists their names under `resources.claims`",
        place=r"ontainers\[\](\.resources)?\.resourceClaims$",
    ),
    Hint("attribute-value-type", UNKNOWN, _attribute_keys, place=r"attributes\{\}\.\w+$"),
    Hint("proposed-field", UNKNOWN, _proposed_field),
    Hint("did-you-mean", UNKNOWN, _did_you_mean),
    Hint("field-elsewhere", UNKNOWN, _elsewhere),
    Hint("fields-here", UNKNOWN, _fields_here),
)
