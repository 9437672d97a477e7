"""Hints for values: what is missing, empty or too small, and what is of the wrong type."""

from __future__ import annotations

import re
from typing import Any

from advice.hints import schema_walk
from advice.hints.hint import Advice, Hint, Problem, scalar, yaml
from advice.hints.names import ATTRIBUTE_NAME
from resourceapi.field_errors import FORBIDDEN, INVALID, REQUIRED, TOO_MANY
from resourceapi.kinds import claim_spec_of
from resourceapi.manifests import MISSING, entries, mapping
from resourceapi.quantity import QuantityError, parse
from resourceapi.schema import Type
from validation.requests import WRONG_TYPE
from validation.version_texts import as_semantic_version

# What to write into fields that must not be missing or empty, by place.
WANTED = (
    (r"^metadata\.name$", "add `metadata.name`: a name of lower-case letters, digits and `-`"),
    (
        r"ownerReferences\[\]\.uid$",
        "write the owner's `metadata.uid` as the cluster has it, or remove `ownerReferences`",
    ),
    (r"ownerReferences\[\]\.\w+$", "write the owner's `{key}`, or remove `ownerReferences`"),
    (r"^spec\.driver$", "write the driver's name, a DNS name such as `gpu.example.com`"),
    (
        r"opaque\.driver$",
        "write the name of the driver that the parameters are for, such as `gpu.example.com`",
    ),
    (r"\.driver$", "write the driver's name, a DNS name such as `gpu.example.com`"),
    (r"^spec\.pool\.name$", "name the pool; for devices of one node take the node's name"),
    (r"\.resourceSliceCount$", "write the number of ResourceSlices in the pool: `1` if this is the only one"),
    (r"\.count$", "write how many devices the request is for, `1` or more"),
    (
        r"\.deviceClassName$",
        "write the name of a DeviceClass, such as one that `kubectl get deviceclasses` lists",
    ),
    (
        r"(requests|firstAvailable)\[\]\.name$",
        "name the request: lower-case letters, digits and `-`, such as `gpu`",
    ),
    (r"^spec\.devices\[\]\.name$", "name the device: lower-case letters, digits and `-`, such as `gpu-0`"),
    (r"resourceClaims\[\]\.name$", "name the entry; containers refer to it in `resources.claims`"),
    (r"nodeSelectorTerms$", "add a term with `matchExpressions` or `matchFields`"),
    (r"^spec\.nodeName$", "remove `nodeName`, or write the node's name"),
    (r"resources\.claims\[\]$", "add `name`: the name of an entry of the pod's `resourceClaims`"),
    (r"resources\.limits$", "write the same under `limits`: devices cannot be overcommitted"),
    (r"resources\.claims\[\]\.name$", "write the name of an entry of the pod's `resourceClaims`"),
    (r"ontainers\[\]\.name$", "name the container"),
    (r"ontainers\[\]\.image$", "name the container's image"),
    (r"ontainers$", "add a container"),
    (r"selectors\[\]\.cel$", "add `cel` with an `expression`"),
    (r"\.opaque$", "add `opaque` with a `driver` and its `parameters`"),
    (
        r"opaque\.parameters$",
        "add the parameters that the driver understands as YAML, usually with `apiVersion` and `kind`",
    ),
    (r"\.extendedResourceName$", "write a domain and a name, such as `example.com/gpu`"),
    (
        r"(matchAttribute|distinctAttribute)$",
        "write an attribute with its domain, such as `gpu.example.com/model`",
    ),
    (r"taints?(\[\])?\.effect$", "write one of {choices}"),
    (r"taints?(\[\])?\.key$", "write the taint's key, such as `example.com/broken`"),
)


def wanted_at(problem: Problem) -> str:
    """What to write into the field, or nothing."""
    text = next((text for place, text in WANTED if re.search(place, problem.place)), "")
    return text.format(key=problem.key, choices=_choices(problem) if "{choices}" in text else "")


def _choices(problem: Problem) -> str:
    """The values that the release knows."""
    type = schema_walk.type_at(problem.schema, problem.kind, problem.path) if problem.schema else None
    return ", ".join(f"`{value}`" for value in (type.enum if type is not None else ()))


def _missing(problem: Problem) -> str:
    if problem.rule == INVALID and problem.value not in ("", MISSING, None):
        return ""
    return wanted_at(problem)


def _too_small(problem: Problem) -> str:
    return wanted_at(problem) or "write `1` or more"


def _no_attribute(problem: Problem) -> str:
    """A constraint without an attribute; the server says that it has several."""
    constraint = problem.value
    if (
        not isinstance(constraint, dict)
        or constraint.get("matchAttribute")
        or constraint.get("distinctAttribute")
    ):
        return ""
    return "add the attribute that the devices must have in common, such as `matchAttribute: gpu.example.com/model`"


def _all_nodes(problem: Problem) -> Advice:
    return Advice(f"remove `{problem.key}`, or write `true`", (problem.path, MISSING))


def _parameters(problem: Problem) -> str:
    if problem.value in (MISSING, None):
        return ""
    if not isinstance(problem.value, str):
        return "write an object that the driver understands, usually with `apiVersion` and `kind`"
    return "write the parameters as YAML under `parameters:`, not as a string"


def _admin_namespace(problem: Problem) -> str:
    from shlex import quote  # the commands may be copied into a shell

    from validation.device_claims import ADMIN_LABEL, FORMER_ADMIN_LABEL

    namespace = problem.namespace or "default"
    named = re.search(r"`([\w./-]+): true`", problem.message)  # releases call it otherwise
    label = f"{named[1] if named else ADMIN_LABEL}=true"
    text = (
        f"label the namespace (kubectl label namespace {quote(namespace)} {label}); if it has the label, pass "
        f"--namespace-labels {quote(f'{namespace}:{label}')}"
    )
    for other, when in ((FORMER_ADMIN_LABEL, "up to 1.33"), (ADMIN_LABEL, "from 1.34 on")):
        if other in problem.namespace_labels and not label.startswith(other):
            text += f"; {other} only counts {when}"
    return text


def _immutable(problem: Problem) -> str:
    if claim_spec_of(problem.kind) and problem.key == "spec":
        return f"create one with another name, or delete this one first; the spec of a {problem.kind} cannot be changed"
    return ""


def _too_many_devices(problem: Problem) -> str:
    if not entries(mapping(problem.object, "spec"), "devices"):
        return ""
    return "put the rest into another ResourceSlice of the same pool, and count it in `resourceSliceCount`"


_OF_WHAT_IS_MISSING = (
    Hint("opaque-parameters", (INVALID,), _parameters, place=r"opaque\.parameters$"),
    Hint("wanted", (REQUIRED, INVALID), _missing),
    Hint("too-small", (INVALID,), _too_small, message="must be greater than zero"),
    Hint("no-attribute", (REQUIRED,), _no_attribute, place=r"constraints\[\]$"),
    Hint("true-or-nothing", (INVALID,), _all_nodes, message="must be either unset or set to true"),
    Hint("admin-namespace", (FORBIDDEN,), _admin_namespace, message="admin access to devices requires"),
    Hint("too-many-devices", (TOO_MANY,), _too_many_devices, place=r"^spec\.devices$"),
    Hint("immutable", (INVALID,), _immutable, message="immutable"),
)


WRONG = (WRONG_TYPE,)
NAMES_WITH_DOMAIN = r"(matchAttribute|distinctAttribute|extendedResourceName)$"
_NUMBERS = ("int64", "int32")


def _match_attribute_list(problem: Problem) -> str | Advice:
    names, constraint = problem.value, problem.parent
    if not isinstance(names, list) or not names or not isinstance(constraint, dict):
        return ""
    if len(names) == 1:
        return Advice(
            f"write one name, not a list: `{problem.key}: {scalar(names[0])}`", (problem.path, names[0])
        )
    constraints = yaml([{**constraint, problem.key: name} for name in names])
    return f"write a constraint for each attribute; a constraint has one `{problem.key}`:\n{constraints}"


def _ellipsis(problem: Problem) -> str | Advice:
    """`- ...` for what a text leaves out."""
    value = problem.value[0] if isinstance(problem.value, list) and problem.value else problem.value
    if value not in ("...", "…"):
        return ""
    if isinstance(problem.path[-1], int) or isinstance(problem.value, list):
        return "replace the placeholder `...` with real entries, or remove its line"
    return f"replace the placeholder `...` with the value of `{problem.key}`"


def _quotes(problem: Problem) -> str | Advice:
    """Text where the API wants a number or boolean, or the other way round."""
    wanted, value = _wanted(problem), problem.value
    if wanted == "string" and isinstance(value, (bool, int, float)):
        if values := _enumeration(problem):
            return "write one of " + ", ".join(f"`{name}`" for name in values)
        if re.search(NAMES_WITH_DOMAIN, problem.place):
            return wanted_at(problem)
        text = problem.written.strip()
        text = text if re.fullmatch(r"[\w.+-]+", text) else scalar(value)
        if problem.place.endswith("{}.version"):
            text = as_semantic_version(text) or text
        return Advice(
            f"quote the value, which YAML reads as a {_yaml_type(value)}: `{_line(problem, _quoted(text))}`",
            (problem.path, text),
        )
    if wanted in (*_NUMBERS, "bool") and isinstance(value, str):
        name = "a boolean" if wanted == "bool" else "an integer"
        meant = _meant(value.strip(), wanted)
        if meant is None:
            return f"write {name} here"
        return Advice(
            f"write {name} without quotes: `{_line(problem, scalar(meant))}`", (problem.path, meant)
        )
    return ""


def _meant(text: str, wanted: str) -> bool | int | None:
    """The boolean or integer that a text in quotes stands for."""
    if wanted == "bool":
        return {"true": True, "false": False, "yes": True, "no": False}.get(text.lower())
    return int(text) if re.fullmatch(r"-?\d{1,18}", text, re.ASCII) else None


def _quoted(text: str) -> str:
    return f'"{text}"'


def _line(problem: Problem, value: str) -> str:
    """A value as its line has it: behind its key, or as an entry of a list."""
    return f"- {value}" if isinstance(problem.path[-1], int) else f"{problem.key}: {value}"


def _shape(problem: Problem) -> str | Advice:
    """A list instead of a mapping and so on."""
    wanted, value = _wanted(problem), problem.value
    if wanted == "list" and isinstance(value, (dict, str)):
        advice = "write a list here, with a `-` before each entry"
        fits = isinstance(value, dict) == _lists_structs(problem)
        return Advice(advice, (problem.path, [value])) if fits else advice
    if wanted in ("struct", "map") and isinstance(value, list):
        advice = "write one mapping here, not a list; remove the `-`"
        one = len(value) == 1 and isinstance(value[0], dict)
        return Advice(advice, (problem.path, value[0])) if one else advice
    if wanted in ("struct", "map") and value is not None:
        return "write a mapping here, its keys indented on the next lines"
    if wanted == "string" and isinstance(value, (dict, list)):
        return _text_wanted(problem, value)
    if wanted in (*_NUMBERS, "bool") and value is not MISSING:
        return "write an integer here" if wanted in _NUMBERS else "write `true` or `false` here"
    return ""


def _text_wanted(problem: Problem, value: Any) -> str | Advice:
    """A list or mapping where the API wants a text."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        line = _line(problem, scalar(value[0]))
        return Advice(f"write one text, not a list: `{line}`", (problem.path, value[0]))
    if isinstance(value, dict) and set(value) == {"name"} and isinstance(value["name"], str):
        return Advice(
            f"write only the name: `{_line(problem, scalar(value['name']))}`", (problem.path, value["name"])
        )
    return f"write a text here, not a {'list' if isinstance(value, list) else 'mapping'}"


def _lists_structs(problem: Problem) -> bool:
    type = _type(problem)
    return type is not None and type.element is not None and type.element.kind in ("struct", "map")


def _type(problem: Problem) -> Type | None:
    if problem.schema is None:
        return None
    return schema_walk.type_at(problem.schema, problem.kind, problem.path)


def _wanted(problem: Problem) -> str:
    type = _type(problem)
    if type is None:  # of a kind without a schema, kubectl reads the metadata
        return "string" if problem.message.endswith(" of type string") else ""
    return type.kind


def _enumeration(problem: Problem) -> tuple[str, ...]:
    type = _type(problem)
    return type.enum if type is not None else ()


def _yaml_type(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "number"


_SOME_QUANTITY = "write a quantity such as `40Gi`, `500m` or `2`"


def _quantity(problem: Problem) -> str | Advice:
    value = problem.value
    slip = (
        re.fullmatch(r"\s*([+-]?[0-9.]+)\s*([kmgtpe]i?)(b?)(?:ytes)?\s*", value, re.IGNORECASE)
        if isinstance(value, str)
        else None
    )
    if slip is None:
        return _SOME_QUANTITY
    number, unit = slip[1], slip[2].capitalize()
    if unit == "K" or slip[2] + slip[3] == "m":
        unit = unit.lower()
    try:
        parse(number + unit)
    except QuantityError:
        return _SOME_QUANTITY
    return Advice(
        f"write `{number}{unit}`: units are `Ki`, `Mi`, `Gi` or `k`, `M`, `G`, without a `B`",
        (problem.path, f"{number}{unit}"),
    )


HINTS = (
    *_OF_WHAT_IS_MISSING,
    Hint("match-attribute-list", WRONG, _match_attribute_list, place=ATTRIBUTE_NAME),
    Hint("ellipsis", WRONG, _ellipsis),
    Hint("quantity", WRONG, _quantity, message="quantit"),
    Hint("quotes", WRONG, _quotes),
    Hint("shape", WRONG, _shape),
)
