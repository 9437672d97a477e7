"""CC006: fields that the server silently drops because a feature gate is off.

An update keeps a field that the stored object uses, so the object that the server returned decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from advice.lints.table import DROPPED, Warning
from resourceapi.decoding import fields_of
from resourceapi.field_errors import Key, Path
from resourceapi.manifests import containers, mapping, pod_spec
from resourceapi.releases import Profile
from resourceapi.schema import Schema, Struct, Type

CLAIMS_GATE = "DynamicResourceAllocation"
_NOTHING: Collection[Any] = ([], {}, "", 0, False)


class Step:
    """What to look for in a field.

    :ivar gate: the gate that is off; empty if it is something inside that depends on one.
    :ivar harmless: the values that make no difference when they are dropped.
    :ivar inside: what to look for in structs inside, within ``depth`` lists and maps.
    """

    __slots__ = ("depth", "gate", "harmless", "inside")

    def __init__(
        self, gate: str = "", harmless: Collection[Any] = (), inside: Plan | None = None, depth: int = 0
    ) -> None:
        self.gate = gate
        self.harmless = harmless
        self.inside = inside
        self.depth = depth


Plan = dict[str, Step]  # by the names of a struct's fields


def check(manifest: dict[str, Any], schema: Schema, profile: Profile) -> Iterator[Warning]:
    """Warn about every field whose gate is off."""
    kind = manifest.get("kind")
    if not isinstance(kind, str) or kind not in schema:
        return
    plan = schema.compiled(
        ("dropped fields", kind, profile.gates), lambda: _plan(schema, schema[kind], profile, set())
    )
    found: list[tuple[Path, str]] = []
    if plan:
        _collect(manifest, plan, (), found)
    for path, gate in found:
        from advice.hints.gates import explain

        yield Warning(DROPPED.code, path, f"the server silently drops `{path[-1]}`: {explain(gate, profile)}")


def check_pod(manifest: dict[str, Any], profile: Profile) -> Iterator[Warning]:
    """Warn about the claims of a pod or pod template where Dynamic Resource Allocation is off."""
    from advice.hints.gates import explain

    path, spec = pod_spec(manifest)
    places = [(*path, "resourceClaims")] if spec.get("resourceClaims") else []
    places += [
        (*path, *at, "resources", "claims")
        for at, container in containers(spec)
        if mapping(container, "resources").get("claims")
    ]
    for place in places:
        text = f"the server silently drops `{place[-1]}`: {explain(CLAIMS_GATE, profile)}"
        yield Warning(DROPPED.code, place, text)


def _plan(schema: Schema, struct: Struct, profile: Profile, above: set[str]) -> Plan | None:
    """What to look for in a struct; None if nothing in it depends on a gate that is off."""
    plan: Plan = {}
    for field in fields_of(schema, struct.name).values():
        gate = next((gate for gate in field.gates if gate not in profile.gates and not field.kept), "")
        if gate:
            plan[field.name] = Step(gate, _NOTHING if field.default is None else (field.default,))
            continue
        element, depth = _innermost(field.type)
        if element.kind == "struct" and element.struct in schema and element.struct not in above:
            inner = _plan(schema, schema[element.struct], profile, above | {struct.name})
            if inner:
                plan[field.name] = Step(inside=inner, depth=depth)
    return plan or None


def _innermost(type: Type) -> tuple[Type, int]:
    """The element type of nested lists and maps, and how many there are."""
    depth = 0
    while type.element is not None:
        type, depth = type.element, depth + 1
    return type, depth


def _collect(value: Any, plan: Plan, path: Path, found: list[tuple[Path, str]]) -> None:
    """Add the places of fields whose gate is off, with the gate."""
    if not isinstance(value, dict):
        return
    for name, step in plan.items():
        item = value.get(name)
        if item is None:
            continue
        if step.inside is not None:
            _collect_inside(item, step.depth, step.inside, (*path, name), found)
        elif item not in step.harmless:
            found.append(((*path, name), step.gate))


def _collect_inside(value: Any, depth: int, plan: Plan, path: Path, found: list[tuple[Path, str]]) -> None:
    """The same for what is inside of so many lists and maps."""
    if not depth:
        _collect(value, plan, path, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _collect_inside(item, depth - 1, plan, (*path, index), found)
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect_inside(item, depth - 1, plan, (*path, Key(key)), found)
