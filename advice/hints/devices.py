"""Hints for the shape of the devices of a ResourceSlice: what each version has where, and what no version has."""

from __future__ import annotations

import re
from typing import Any

from advice.hints.group import or_use_newer
from advice.hints.hint import Advice, Hint, Problem, renamed, yaml
from resourceapi.field_errors import INVALID, REQUIRED
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.manifests import MISSING, mapping, text, value_at
from resourceapi.model.slices import COUNTERS_APART_SINCE
from validation.requests import UNKNOWN_FIELD, WRONG_TYPE

UNKNOWN = (UNKNOWN_FIELD,)
WRONG = (WRONG_TYPE,)
DEVICE = r"^spec\.devices\[\]"
_VALUES = ("string", "int", "bool", "version", "strings", "ints", "bools", "versions", "null")


def flat_device(device: Any) -> Any:
    """A device with the fields of `basic` at its top, and with each quantity of its capacity under `value`."""
    if not isinstance(device, dict):
        return device
    basic = device.get("basic")
    flat = {key: value for key, value in device.items() if key != "basic"}
    if isinstance(basic, dict):
        flat |= basic
    if has_bare_capacity(flat):
        flat["capacity"] = {
            name: _with_value(quantity) if _is_bare(quantity) else quantity
            for name, quantity in flat["capacity"].items()
        }
    return flat


def has_bare_capacity(device: Any) -> bool:
    """Whether a device has a capacity that is a quantity, as in v1alpha3, and not a mapping with `value`."""
    capacity = value_at(device, ("capacity",))
    return isinstance(capacity, dict) and any(map(_is_bare, capacity.values()))


def _is_bare(quantity: Any) -> bool:
    return isinstance(quantity, (str, int, float)) and not isinstance(quantity, bool)


def _with_value(quantity: Any) -> dict[str, Any]:
    return {"value": quantity}


def _basic_device(problem: Problem) -> str | Advice:
    """The wrapper that v1beta1 had around a device, under a later version."""
    device = problem.parent
    if problem.version == "v1beta1" or not isinstance(device, dict):
        return ""
    text = f"move the fields of `basic` up into the device ({problem.version}); only v1beta1 has `basic`"
    basic = device.get("basic")
    if not isinstance(basic, dict):
        return text
    if has_bare_capacity(basic):
        text = (
            f"move the fields of `basic` up into the device, and put each quantity under `value` ({problem.version}); "
            "v1beta1 has `basic`, and v1alpha3 had capacities without `value`"
        )
    flat = flat_device(device)
    return Advice(f"{text}:\n{yaml([flat])}", (problem.path[:-1], flat))


def _device_without_basic(problem: Problem) -> str | Advice:
    schema, device = problem.schema, problem.parent
    if problem.version != "v1beta1" or schema is None or not isinstance(device, dict):
        return ""
    inner = schema["BasicDevice"].by_name
    if problem.key not in inner:
        return ""
    basic = device.get("basic")
    wrapped = {key: value for key, value in device.items() if key not in inner and key != "basic"}
    wrapped["basic"] = {key: value for key, value in device.items() if key in inner} | (
        basic if isinstance(basic, dict) else {}
    )
    return Advice(
        f"move `{problem.key}` under `basic` (v1beta1){or_use_newer(problem)}",
        (problem.path[:-1], wrapped),
    )


def _attribute_keys(problem: Problem) -> str | Advice:
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
    if not wanted:
        return ""
    return Advice(
        f"write `{wanted}`: the type of an attribute is `int`, `bool`, `string` or `version`",
        *renamed(problem, wanted),
    )


def _plain_attribute(problem: Problem) -> str | Advice:
    """`model: a100` instead of `model: {string: a100}`."""
    types = {str: "string", bool: "bool", int: "int"}
    typed = {name: {types[type(value)]: value} for name, value in _siblings(problem) if type(value) in types}
    if problem.key not in typed:
        return ""
    what = "each attribute" if len(typed) > 1 else "the attribute"
    return _rewritten(problem, f"give the type of {what}", typed)


def _plain_capacity(problem: Problem) -> str | Advice:
    """`memory: 40Gi`, as v1alpha3 had it, instead of `memory: {value: 40Gi}`."""
    mappings = {name: _with_value(value) for name, value in _siblings(problem) if _is_bare(value)}
    if problem.key not in mappings:
        return ""
    what = "each quantity" if len(mappings) > 1 else "the quantity"
    return _rewritten(problem, f"put {what} under `value`", mappings)


def _siblings(problem: Problem) -> list[tuple[str, Any]]:
    """All entries of the mapping that the problem is in: the server names one at a time."""
    return list(problem.parent.items()) if isinstance(problem.parent, dict) else []


def _rewritten(problem: Problem, text: str, entries: dict[str, Any]) -> Advice:
    changes = [((*problem.path[:-1], name), value) for name, value in entries.items()]
    return Advice(f"{text}:\n{yaml(entries)}", *changes)


def _one_value(problem: Problem) -> str:
    """An attribute with no value, or with several."""
    types = "`int`, `bool`, `string` or `version`"
    if isinstance(problem.value, dict) and len(problem.value) > 1:
        written = [f"`{each}`" for each in _VALUES if each in problem.value]
        return f"keep one of {' and '.join(written)}: an attribute has one value"
    if problem.kind == RESOURCE_SLICE_PATCH.name:
        return f'to remove the attribute, write `"null": {{}}`; else give it a value with its type: {types}'
    return f"give the attribute a value with its type, such as `string: a100`; the type is {types}"


def _without_domain(problem: Problem) -> str:
    """A patch can be about devices of several drivers, so a name alone says too little."""
    named = re.search(r'Invalid value: "(\w+)"', problem.message)
    if problem.kind != RESOURCE_SLICE_PATCH.name or named is None:
        return ""
    driver = text(mapping(problem.object, "spec", "devices", "filter"), "driver") or "gpu.example.com"
    return f"write the domain as well, such as `{driver}/{named[1]}`; what a slice names without one has the name of its driver"


def _several_selections(problem: Problem) -> str:
    spec = problem.value
    fields = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
    written = [f"`{field}`" for field in fields if isinstance(spec, dict) and spec.get(field)]
    return f"keep one of {' and '.join(written)}" if len(written) > 1 else ""


def _node_selection(problem: Problem) -> str:
    """A slice that says nothing about nodes; those with nothing but shared counters need it as well."""
    beside_devices = problem.profile.minor < COUNTERS_APART_SINCE
    if beside_devices or value_at(problem.object, ("spec", "sharedCounters")) is MISSING:
        return "set the nodes that have the devices: `nodeName: <node>`, `allNodes: true` or a `nodeSelector`"
    return (
        "set the same nodes as in the pool's slices with devices, "
        "such as `nodeName: <node>`; a slice with shared counters needs them too"
    )


HINTS = (
    Hint("basic-device", UNKNOWN, _basic_device, place=DEVICE + r"\.basic$"),
    Hint("device-without-basic", UNKNOWN, _device_without_basic, place=DEVICE + r"\.\w+$"),
    Hint("attribute-value-type", UNKNOWN, _attribute_keys, place=r"attributes\{\}\.\w+$"),
    Hint("plain-attribute", WRONG, _plain_attribute, place=r"attributes\{\}$"),
    Hint("plain-capacity", WRONG, _plain_capacity, place=DEVICE + r"(\.basic)?\.capacity\{\}$"),
    Hint("plain-counter", WRONG, _plain_capacity, place=r"\.counters\{\}$"),
    Hint(
        "one-value",
        (INVALID,),
        _one_value,
        place=r"attributes\{\}$",
        message="specif",  # must specify one of, exactly one value must be specified
    ),
    Hint(
        "patch-without-domain",
        (INVALID,),
        _without_domain,
        place=r"^spec\.devices\.(attributes|capacity)$",
        message="fully qualified name must be",
    ),
    Hint(
        "several-node-selections",
        (INVALID,),
        _several_selections,
        place="^spec$",
        message="multiple fields are set",
    ),
    Hint("node-selection", (REQUIRED,), _node_selection, message="exactly one of `nodeName`"),
    Hint(
        "counters-beside-devices",
        (INVALID,),
        "move `sharedCounters` to another ResourceSlice of the same pool, and count it in "
        "`resourceSliceCount`; since 1.35 a slice has either counters or devices",
        message="only one of `sharedCounters` or `devices`",
    ),
)
