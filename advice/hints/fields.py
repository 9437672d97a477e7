"""Hints for keys that the API does not know where they stand."""

from __future__ import annotations

from typing import Any

from advice.hints import schema_walk
from advice.hints.hint import NO_ADVICE, Advice, Hint, Problem, moved, renamed, yaml
from resourceapi.decoding import fields_of
from resourceapi.gates import stage_of
from resourceapi.kinds import KINDS, kinds_of
from resourceapi.manifests import MISSING, value_at
from resourceapi.measured import MODERN_MINORS
from resourceapi.model import workloads
from resourceapi.model.versions import GROUP, schemas_in
from resourceapi.phrases import nearest
from resourceapi.releases import split_api_version
from resourceapi.schema import Field, Struct
from validation.requests import UNKNOWN_FIELD

UNKNOWN = (UNKNOWN_FIELD,)
_MOST_SHOWN = 12


def _metadata_at_top_level(problem: Problem) -> str | Advice:
    if problem.schema is None or problem.key not in problem.schema["ObjectMeta"].by_name:
        return ""
    written = value_at(problem.object, ("metadata",))
    if isinstance(written, dict) and problem.key in written:
        return f"remove this `{problem.key}`; `metadata` already has one"
    return Advice(
        f"move `{problem.key}` into `metadata`:\n" + yaml({"metadata": {problem.key: problem.value}}),
        *moved(problem, ("metadata", problem.key)),
    )


def _spec_of_a_claim(problem: Problem) -> str | Advice:
    """A template with the spec of a claim, or the other way round."""
    if problem.kind == "ResourceClaimTemplate" and problem.key == "devices":
        return Advice(
            "put the claim's spec under the template's `spec.spec`:\nspec:\n  spec:\n    devices: …",
            *moved(problem, ("spec", "spec", "devices")),
        )
    if problem.kind == "ResourceClaim" and problem.key == "spec" and problem.path == ("spec", "spec"):
        text = "move the fields of the inner `spec` one level up; only a ResourceClaimTemplate has `spec` in `spec`"
        inner, outer = problem.value, problem.parent
        if not isinstance(inner, dict) or not isinstance(outer, dict):
            return text
        rest = {key: value for key, value in outer.items() if key != "spec"}
        return Advice(text, (("spec",), {**rest, **inner}))
    return ""


def _proposed_field(problem: Problem) -> str:
    """A field that an enhancement proposal describes and no release has."""
    from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS

    schema = SCHEMAS_WITH_PROPOSALS.get(problem.version)
    if schema is None or schema_walk.type_at(schema, problem.kind, problem.path) is None:
        return ""
    return f"remove `{problem.key}`, which is only proposed and in no release yet; to check against the proposals use --kube-version kep"


def _field_of_another_release(problem: Problem) -> str:
    """A field that other releases have, of which the next later one is named, else the last."""
    having = {minor: field for minor in MODERN_MINORS if (field := _field_in(minor, problem)) is not None}
    here = problem.profile.minor
    if not having or here in having:
        return ""
    later = next((minor for minor in having if minor > here), None)
    if later is None:
        return f"remove `{problem.key}`: 1.{max(having)} is the last release that has it"
    gates = [text for gate in having[later].gates if (text := _how_it_comes(gate, later))]
    return f"remove `{problem.key}`, or use a later release: it is there from 1.{later} on" + (
        f", with feature gate {' and '.join(gates)}" if gates else ""
    )


def _field_in(minor: int, problem: Problem) -> Field | None:
    """The field in release 1.`minor`, in the version that the object is written in."""
    group, version = split_api_version(problem.api_version)
    if group == GROUP:
        schema = schemas_in(minor).get(version)
        if schema is None or not (row := KINDS.get(problem.kind)) or not row.served(version, minor):
            return None
    else:
        schema = workloads.schema_of(group, version, problem.kind, minor)
    struct = None if schema is None else schema_walk.struct_at(schema, problem.kind, problem.path[:-1])
    if schema is None or struct is None:
        return None
    return fields_of(schema, struct.name).get(problem.key)


def _how_it_comes(gate: str, minor: int) -> str:
    """A gate that is not there, or off, by default: `X (alpha, off by default)`."""
    stage = stage_of(gate, minor)
    return (
        f"{gate} ({stage.stage.lower()}, off by default)" if stage is not None and not stage.default else ""
    )


def _did_you_mean(problem: Problem) -> Advice:
    struct = _struct_around(problem)
    if struct is None or problem.schema is None:
        return NO_ADVICE
    names = list(fields_of(problem.schema, struct.name))
    if len(problem.path) == 1:
        names += ["apiVersion", "kind"]
    meant = meant_field(problem.key, names)
    if not meant:
        return NO_ADVICE
    if value_at(problem.parent, (meant,)) is not MISSING:
        return Advice(f"remove it: `{meant}` is there as well")
    return Advice(f"did you mean `{meant}`?", *renamed(problem, meant))


def meant_field(word: str, names: list[str]) -> str:
    """The name that was meant by a misspelt one, or by one cut short: `deviceClass` or `selector` for `deviceClassName`, `deviceSelector`."""
    for longer_or_shorter in (f"{word}Name", word.removesuffix("Name")):
        if longer_or_shorter != word and longer_or_shorter in names:
            return longer_or_shorter
    if meant := nearest(word, names):
        return meant
    begun = [name for name in names if len(word) > 3 and name.lower().startswith(word.lower())]
    ended = [name for name in names if len(word) > 4 and name.endswith(word[:1].upper() + word[1:])]
    return next((found[0] for found in (begun, ended) if len(found) == 1), "")


# --- a key that has its place elsewhere --------------------------------------------------------------------------


def _elsewhere(problem: Problem) -> str | Advice:
    """A key that the kind has, but in another place: most often it is indented wrongly."""
    if problem.schema is None:
        return ""
    homes = [
        home
        for home in schema_walk.structs_with(problem.schema, problem.kind, problem.key)
        if _is_status(home.path) == _is_status(problem.path) and schema_walk.fits(problem.value, home.type)
    ]
    here = tuple(_patterns(problem.path[:-1]))
    homes.sort(key=lambda home: (-_in_common(home.path, here), len(home.path), home.path))
    if not homes or len(homes) > 6:
        return ""
    near = [home for home in homes if _is_around(home.path, here)]
    if not near:
        shown = " or ".join(map(_shown, homes[:2]))
        return f"`{problem.key}` is a field of {shown}: move it there, or remove it"
    to = "to the top level" if near[0].path == () else f"into {' or '.join(map(_shown, near[:2]))}"
    text = f"move `{problem.key}` {to}: check the indentation"
    path = _resolved(near[0].path, problem)
    if len(near) > 1 or path is None or value_at(problem.object, (*path, problem.key)) is not MISSING:
        return text
    return Advice(text, *moved(problem, (*path, problem.key)))


def _is_status(path: tuple[Any, ...]) -> bool:
    return path[:1] == ("status",)


def _patterns(path: tuple[Any, ...]) -> list[str]:
    return [schema_walk.ANY_INDEX if isinstance(segment, int) else str(segment) for segment in path]


def _in_common(path: tuple[str, ...], other: tuple[str, ...]) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(path, other, strict=False)) if a != b), min(len(path), len(other))
    )


def _is_around(path: tuple[str, ...], here: tuple[str, ...]) -> bool:
    """Whether one of two places is in the other, so that a key gets from one to the other by indentation."""
    return _in_common(path, here) == min(len(path), len(here))


def _shown(home: schema_walk.Home) -> str:
    text = "".join(part if part.startswith("[") else f".{part}" for part in home.path).removeprefix(".")
    return f"`{text}`" if text else "the top level"


def _resolved(pattern: tuple[str, ...], problem: Problem) -> tuple[Any, ...] | None:
    """A path for a pattern, with the indices of the problem's path; None if it leaves a choice or leads to no mapping."""
    common = _in_common(pattern, tuple(_patterns(problem.path)))
    path = (*problem.path[:common], *pattern[common:])
    if any(part in (schema_walk.ANY_INDEX, schema_walk.ANY_KEY) for part in pattern[common:]):
        return None
    around = value_at(problem.object, path)
    return path if around is MISSING or isinstance(around, dict) else None


def _of_another_kind(problem: Problem) -> str:
    """The fields of a claim in a DeviceClass, and so on."""
    if (
        problem.schema is None
        or problem.kind not in (kinds := kinds_of(problem.profile))
        or len(problem.path) > 2
    ):
        return ""
    owners = [
        kind
        for kind in kinds
        if kind != problem.kind
        and schema_walk.type_at(problem.schema, kind, problem.path) is not None
        and not _is_status(problem.path)
    ]
    if len(owners) != 1:
        return ""
    return f"remove `{problem.key}`, or check `kind`: it is a field of a {owners[0]}, not of a {problem.kind}"


def _fields_here(problem: Problem) -> str:
    struct = _struct_around(problem)
    if struct is None or problem.schema is None:
        return ""
    names = [f"`{name}`" for name in fields_of(problem.schema, struct.name)]
    remove = f"remove `{problem.key}`" if problem.key.isidentifier() else "remove this field"
    if not names:
        return f"{remove}; no field is allowed here"
    if len(names) > _MOST_SHOWN:
        return f"{remove}, or check its spelling; there is no such field here"
    return f"{remove}; the fields here are {', '.join(names)}"


def _struct_around(problem: Problem) -> Struct | None:
    if problem.schema is None:
        return None
    return schema_walk.struct_at(problem.schema, problem.kind, problem.path[:-1])


HINTS = (
    Hint("metadata-at-top-level", UNKNOWN, _metadata_at_top_level, place=r"^[^.\[]+$"),
    Hint("claim-spec-or-template-spec", UNKNOWN, _spec_of_a_claim, place=r"^spec\.(devices|spec)$|^spec$"),
    Hint("field-of-another-release", UNKNOWN, _field_of_another_release),
    Hint("proposed-field", UNKNOWN, _proposed_field),
    Hint("did-you-mean", UNKNOWN, _did_you_mean),
    Hint("field-elsewhere", UNKNOWN, _elsewhere),
    Hint("field-of-another-kind", UNKNOWN, _of_another_kind),
    Hint("fields-here", UNKNOWN, _fields_here),
)
