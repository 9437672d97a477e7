"""Hints for what is missing, empty or too small: what the field wants."""

from __future__ import annotations

import re

from advice.hints import schema_walk
from advice.hints.hint import Advice, Hint
from advice.hints.problem import Problem
from resourceapi.field_errors import FORBIDDEN, INVALID, REQUIRED, TOO_MANY
from resourceapi.kinds import claim_spec_of
from resourceapi.manifests import MISSING, entries, mapping

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


def _wanted(problem: Problem) -> str:
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


HINTS = (
    Hint("opaque-parameters", (INVALID,), _parameters, place=r"opaque\.parameters$"),
    Hint("wanted", (REQUIRED, INVALID), _wanted),
    Hint("too-small", (INVALID,), _too_small, message="must be greater than zero"),
    Hint("no-attribute", (REQUIRED,), _no_attribute, place=r"constraints\[\]$"),
    Hint("true-or-nothing", (INVALID,), _all_nodes, message="must be either unset or set to true"),
    Hint("admin-namespace", (FORBIDDEN,), _admin_namespace, message="admin access to devices requires"),
    Hint("too-many-devices", (TOO_MANY,), _too_many_devices, place=r"^spec\.devices$"),
    Hint("immutable", (INVALID,), _immutable, message="immutable"),
)
