"""Hints for values: of the wrong type, or not what the field wants."""

from __future__ import annotations

import re
from typing import Any

from advice.hints import schema_walk
from advice.hints.hint import Hint
from advice.hints.problem import Problem
from advice.hints.snippet import scalar, yaml
from resourceapi.field_errors import FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED
from resourceapi.kinds import claim_spec_of
from resourceapi.manifests import MISSING, value_at
from resourceapi.nearness import did_you_mean
from validation.rule_names import WRONG_TYPE
from validation.version_texts import as_semantic_version

WRONG = (WRONG_TYPE,)
REFERENCE = r"(constraints|config)\[\]\.requests\[\]$"
ATTRIBUTE_NAME = r"(matchAttribute|distinctAttribute)$"


# --- values of the wrong type -----------------------------------------------------------------------------------


def _match_attribute_list(problem: Problem) -> str:
    names = problem.value
    if not isinstance(names, list) or not names:
        return ""
    if len(names) == 1:
        return f"write one name, not a list: `{problem.key}: {scalar(names[0])}`"
    constraints = yaml([{problem.key: name} for name in names])
    return f"write a constraint for each attribute; a constraint has one `{problem.key}`:\n{constraints}"


def _plain_attribute(problem: Problem) -> str:
    """`model: a100` instead of `model: {string: a100}`."""
    value = problem.value
    types = {str: "string", bool: "bool", int: "int"}
    if type(value) not in types:
        return ""
    return "give the type of the attribute:\n" + yaml({problem.key: {types[type(value)]: value}})


def _plain_capacity(problem: Problem) -> str:
    """`memory: 40Gi`, as v1alpha3 had it, instead of `memory: {value: 40Gi}`."""
    value = problem.value
    if not isinstance(value, (str, int, float)):
        return ""
    return "put the quantity under `value`:\n" + yaml({problem.key: {"value": value}})


def _plain_cel(problem: Problem) -> str:
    value = problem.value
    if not isinstance(value, str):
        return "write the mapping of `cel` with an `expression`"
    return "put the expression under `expression`:\n" + yaml({"cel": {"expression": value}})


def _quotes(problem: Problem) -> str:
    """Text where the API wants a number or boolean, or the other way round."""
    wanted = _wanted(problem)
    value = problem.value
    if wanted == "string" and isinstance(value, (bool, int, float)):
        text = problem.written.strip()
        text = text if re.fullmatch(r"[\w.+-]+", text) else scalar(value)
        return f'quote the value, which YAML reads as a {_yaml_type(value)}: `{problem.key}: "{text}"`'
    if wanted in ("int64", "int32", "bool") and isinstance(value, str):
        name = "a boolean" if wanted == "bool" else "an integer"
        bare = value.strip()
        fits = (
            bare in ("true", "false") if wanted == "bool" else re.fullmatch(r"-?\d{1,19}", bare) is not None
        )
        return f"write {name} without quotes: `{problem.key}: {bare}`" if fits else f"write {name} here"
    return ""


def _shape(problem: Problem) -> str:
    """A list instead of a mapping and so on."""
    wanted, value = _wanted(problem), problem.value
    if wanted == "list" and isinstance(value, (dict, str)):
        return "write a list here, with a `-` before each entry"
    if wanted in ("struct", "map") and isinstance(value, list):
        return "write one mapping here, not a list; remove the `-`"
    if wanted == "struct" and value is None:
        return ""
    if wanted in ("struct", "map"):
        return "write a mapping here, its keys indented on the next lines"
    return ""


def _wanted(problem: Problem) -> str:
    if problem.schema is None:
        return ""
    type = schema_walk.type_at(problem.schema, problem.kind, problem.path)
    return type.kind if type is not None else ""


def _yaml_type(value: Any) -> str:
    return "boolean" if isinstance(value, bool) else "number"


def _quantity(problem: Problem) -> str:
    value = problem.value
    if not isinstance(value, str):
        return "write a quantity such as `40Gi`, `500m` or `2`"
    slip = re.fullmatch(r"\s*([+-]?[0-9.]+)\s*([kmgtpe]i?)b?(?:ytes)?\s*", value, re.IGNORECASE)
    if slip is None:
        return "write a quantity such as `40Gi`, `500m` or `2`"
    number, unit = slip[1], slip[2]
    unit = unit[0].upper() + unit[1:].lower() if len(unit) == 2 or unit[0] not in "km" else unit
    return f"write `{number}{unit}`: units such as `Ki`, `Mi`, `Gi` or `k`, `M`, `G` have no `B`"


# --- names and references ---------------------------------------------------------------------------------------


def _request_reference(problem: Problem) -> str:
    """A constraint or config that names no request: a slip, or a subrequest without its request."""
    value = problem.value
    if not isinstance(value, str):
        return ""
    names = _request_names(problem.object)
    bare = value.strip("\"' ")
    if bare != value and bare in names:
        return f"write `{bare}`: one quote is missing, so the other is part of the name"
    with_main = [name for name in names if name.endswith("/" + value)]
    if with_main:
        return f"name the subrequest together with its request: `{with_main[0]}`"
    return did_you_mean(value, names) or (
        "this claim's requests: " + ", ".join(f"`{name}`" for name in names) if 0 < len(names) <= 12 else ""
    )


def _request_names(claim: Any) -> list[str]:
    """The names that a constraint may use: of requests, and of subrequests with their request."""
    spec = value_at(claim, ("spec",))
    if isinstance(value_at(spec, ("spec",)), dict):
        spec = spec["spec"]
    requests = value_at(spec, ("devices", "requests"))
    names: list[str] = []
    for request in requests if isinstance(requests, list) else ():
        name = value_at(request, ("name",))
        if not isinstance(name, str):
            continue
        names.append(name)
        subrequests = value_at(request, ("firstAvailable",))
        for subrequest in subrequests if isinstance(subrequests, list) else ():
            sub = value_at(subrequest, ("name",))
            if isinstance(sub, str):
                names.append(f"{name}/{sub}")
    return names


def _unqualified_attribute(problem: Problem) -> str:
    value = problem.value
    if not isinstance(value, str) or "/" in value or not value:
        return ""
    return f"write the attribute with its domain: `<driver>/{value}` if the ResourceSlice gives it none"


def _unsupported(problem: Problem) -> str:
    """A value of an enumeration in wrong case or with a slip."""
    value = problem.value
    supported = re.findall(r'"([^"]*)"', problem.message.partition("supported values:")[2])
    if not isinstance(value, str):
        return ""
    return did_you_mean(value, supported)


def _dns_name(problem: Problem) -> str:
    """A name with capitals, underscores or blanks: show what it could be."""
    value = problem.value
    if not isinstance(value, str) or not value.isascii() or len(value) > 63:
        return ""
    dots = "" if "label" in problem.message else "."
    fixed = re.sub(rf"[^a-z0-9{dots}-]+", "-", value.lower()).strip("-.")
    return f"for example `{fixed}`" if fixed and fixed != value else ""


def _identifier(problem: Problem) -> str:
    """`driver-version`, the name of an attribute or capacity: show what it could be."""
    matched = re.match(r'Invalid value: "([^"\\]*)"', problem.message)
    fixed = re.sub(r"\W", "_", matched[1], flags=re.ASCII) if matched is not None else ""
    if fixed[:1].isdigit():
        fixed = f"_{fixed}"
    return f"for example `{fixed}`" if fixed and matched is not None and fixed != matched[1] else ""


def _version(problem: Problem) -> str:
    version = as_semantic_version(problem.value) if isinstance(problem.value, str) else ""
    if not version or version == problem.value:
        return "write a semantic version with three numbers, such as `1.2.3`; any other text is a `string`"
    return f"write `{version}`: a semantic version has three numbers, without leading zeros or `v`"


def _parameters(problem: Problem) -> str:
    if not isinstance(problem.value, str):
        return "write an object that the driver understands, usually with `apiVersion` and `kind`"
    return "write the parameters as YAML under `parameters:`, not as a string"


# --- unions, namespaces, updates --------------------------------------------------------------------------------


def _neither(problem: Problem) -> str:
    """A request without `exactly` and `firstAvailable` (or the flat fields of v1beta1)."""
    if problem.version == "v1beta1":
        return "give the request a `deviceClassName`, or alternatives in `firstAvailable`"
    return "give the request `exactly` (with a `deviceClassName`) or alternatives in `firstAvailable`"


def _both(problem: Problem) -> str:
    if problem.version == "v1beta1":
        return (
            "keep only `name` and `firstAvailable`; in v1beta1 a request with alternatives has nothing else"
        )
    return "keep one: `firstAvailable` for alternatives, `exactly` for a request without"


def _admin_namespace(problem: Problem) -> str:
    from shlex import quote  # the commands may be copied into a shell

    namespace = problem.namespace or "default"
    label = "resource.kubernetes.io/admin-access=true"
    text = (
        f"label the namespace (kubectl label namespace {quote(namespace)} {label}); if it has the label, pass "
        f"--namespace-labels {quote(f'{namespace}:{label}')}"
    )
    if "resource.k8s.io/admin-access" in problem.namespace_labels:
        text += "; resource.k8s.io/admin-access only counts up to 1.33"
    return text


def _node_selection(problem: Problem) -> str:
    """A slice that says nothing about nodes; those with nothing but shared counters need it as well."""
    if value_at(problem.object, ("spec", "sharedCounters")) is MISSING:
        return "set the nodes that have the devices: `nodeName: <node>`, `allNodes: true` or a `nodeSelector`"
    return (
        "set the same nodes as in the pool's slices with devices, "
        "such as `nodeName: <node>`; a slice with shared counters needs them too"
    )


def _immutable(problem: Problem) -> str:
    if claim_spec_of(problem.kind) and problem.key == "spec":
        return f"create one with another name, or delete this one first; the spec of a {problem.kind} cannot be changed"
    return ""


HINTS = (
    Hint("match-attribute-list", WRONG, _match_attribute_list, place=ATTRIBUTE_NAME),
    Hint("plain-attribute", WRONG, _plain_attribute, place=r"attributes\{\}$"),
    Hint("plain-capacity", WRONG, _plain_capacity, place=r"^spec\.devices\[\](\.basic)?\.capacity\{\}$"),
    Hint("plain-counter", WRONG, _plain_capacity, place=r"\.counters\{\}$"),
    Hint("plain-cel", WRONG, _plain_cel, place=r"selectors\[\]\.cel$"),
    Hint("quantity", WRONG, _quantity, message="quantities must match"),
    Hint("quotes", WRONG, _quotes),
    Hint("shape", WRONG, _shape),
    Hint("request-reference", (INVALID,), _request_reference, place=REFERENCE),
    Hint("unqualified-attribute", (INVALID, REQUIRED), _unqualified_attribute, place=ATTRIBUTE_NAME),
    Hint("unsupported-value", (NOT_SUPPORTED,), _unsupported),
    Hint("opaque-parameters", (INVALID,), _parameters, place=r"opaque\.parameters$"),
    Hint("identifier", (INVALID,), _identifier, message="a valid C identifier"),
    Hint("version", (INVALID,), _version, message="compatible with semver.org"),
    Hint("dns-name", (INVALID,), _dns_name, message="RFC 1123"),
    Hint("neither-exactly-nor-alternatives", (REQUIRED,), _neither, message="`exactly` or `firstAvailable`"),
    Hint("both-exactly-and-alternatives", (INVALID,), _both, message="`exactly` or `firstAvailable`"),
    Hint("admin-namespace", (FORBIDDEN,), _admin_namespace, message="admin access to devices requires"),
    Hint("node-selection", (REQUIRED,), _node_selection, message="exactly one of `nodeName`"),
    Hint(
        "counters-beside-devices",
        (INVALID,),
        "move `sharedCounters` to another ResourceSlice of the same pool, and count it in "
        "`resourceSliceCount`; since 1.35 a slice has either counters or devices",
        message="only one of `sharedCounters` or `devices`",
    ),
    Hint("immutable", (INVALID,), _immutable, message="immutable"),
)
