"""Hints for API versions and kinds that the release does not serve."""

from __future__ import annotations

from typing import Any

from advice.hints import schema_walk
from advice.hints.former import decodes
from advice.hints.group import newest_served
from advice.hints.hint import Advice, Change, Hint, Problem, changed
from resourceapi import recognition
from resourceapi.kind import Kind
from resourceapi.kinds import KINDS, kinds_of
from resourceapi.manifests import MISSING, mapping
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.phrases import nearest
from resourceapi.releases import PROPOSALS, Profile, split_api_version
from resourceapi.schema import Schema, Type
from validation.requests import NOT_SERVED, SERVER_WARNING


def api_version_of(kind: str, profile: Profile) -> str:
    """The apiVersion to write for a kind, or nothing for a kind that is not known or not served."""
    now = newest_served(kind, profile)
    if now:
        return f"{GROUP}/{now}"
    row = kinds_of(profile).get(kind)
    if row is not None and row.proposed:
        return _own_version(row)
    return next(iter(recognition.api_versions_of(kind, profile)), "")


def _own_version(kind: Kind) -> str:
    """The apiVersion of a kind that no release has."""
    return f"{kind.further_group}/{next(iter(kind.versions))}"


def _set(key: str, value: str) -> Change:
    return (key,), value


def _write_api_version(api_version: str, because: str = "") -> Advice:
    return Advice(f"write `apiVersion: {api_version}`{because}", _set("apiVersion", api_version))


# --- apiVersion or kind missing ----------------------------------------------------------------------------------


def _missing(problem: Problem) -> str | Advice:
    """No apiVersion or no kind: look for a key in wrong case, or say what it should be."""
    if problem.api_version and problem.kind:
        return ""
    written = problem.object if isinstance(problem.object, dict) else {}
    if not {"apiVersion", "kind", "metadata", "spec"} & written.keys() and not nearest("kind", written):
        return "remove it, or the line `---` above it: every document needs `apiVersion` and `kind`"
    lines, changes = [], list[Change]()
    for key in ("apiVersion", "kind"):
        if key in written and written[key] not in ("", None):
            continue
        slip = nearest(key, (name for name in written if isinstance(name, str)))
        value = written.get(slip) if slip else None
        if slip:
            lines.append(f"write `{key}` instead of `{slip}`")
            changes += ((slip,), MISSING), ((key,), value)
            continue
        meant = _missing_value(key, changed(written, changes), problem.profile)
        lines.append(f"add `{key}: {meant}`" if meant else f"add `{key}`, which every object needs")
        if meant:
            changes.append(_set(key, meant))
    certain = all(line.startswith(("write", "add `kind: ", "add `apiVersion: ")) for line in lines)
    return Advice("; ".join(lines), *(changes if certain else ()))


def _missing_value(key: str, written: dict[str, object], profile: Profile) -> str:
    """What an object without `apiVersion` or `kind` must be, if the rest of it tells."""
    kind = written.get("kind")
    if key == "apiVersion":
        kind = kind if isinstance(kind, str) else _kind_by_fields(written, profile)
        possible = _newest_with_option(kind, profile) if kind in kinds_of(profile) else ""
        return api_version_of(kind, profile) or (f"{GROUP}/{possible}" if possible else "")
    return _kind_by_fields(written, profile)


def _kind_by_fields(written: dict[str, object], profile: Profile) -> str:
    """The only kind of the group whose spec has all the keys that an object has, or nothing."""
    spec = mapping(written, "spec")
    if not spec:
        return ""
    found = [kind for kind in kinds_of(profile) if _has_all(profile.hub, kind, spec)]
    return found[0] if len(found) == 1 else ""


def _has_all(schema: Schema, kind: str, spec: dict[str, Any]) -> bool:
    """Whether the spec of a kind can have these members, and they those in them."""
    inner = (
        (key, name, each)
        for key, value in spec.items()
        if isinstance(value, dict)
        for name, each in value.items()
    )
    return all(
        _fits(schema_walk.type_at(schema, kind, ("spec", key)), value) for key, value in spec.items()
    ) and all(
        _fits(schema_walk.type_at(schema, kind, ("spec", key, name)), value) for key, name, value in inner
    )


def _fits(type: Type | None, value: object) -> bool:
    return type is not None and schema_walk.fits(value, type)


# --- another version, group or kind ------------------------------------------------------------------------------


def _not_yet(problem: Problem) -> str | Advice:
    """A version that other releases serve."""
    kind, version = problem.kind, problem.version
    if problem.api_version != f"{GROUP}/{version}" or kind not in KINDS:
        return ""
    lifecycle = KINDS[kind].versions.get(version)
    if lifecycle is None:
        return ""
    if KINDS[kind].can_be_served_by(version, problem.profile):
        return _switched_off(problem)
    if KINDS[kind].proposed:
        return _only_proposed(KINDS[kind], problem.profile)
    now = newest_served(kind, problem.profile)
    text = f"{kind} {version} is served from 1.{lifecycle.introduced}"
    if lifecycle.removed:
        text += f" to 1.{lifecycle.removed - 1}"
    if now:
        return _write_api_version(f"{GROUP}/{now}", f" for {problem.profile.name}: {text}")
    other = _newest_with_option(kind, problem.profile)
    if other:
        write = f"write `apiVersion: {GROUP}/{other}` for {problem.profile.name}"
        return f"{write}: {text}, and {_only_with_option(kind, other, problem.profile)}"
    return f"remove it, or use a later release: {text}"


def _only_proposed(kind: Kind, profile: Profile) -> Advice:
    """A kind that no release has."""
    return _write_api_version(
        _own_version(kind),
        f" and install its CRD: {profile.name} has no {kind.name}, and neither has any other release; "
        f"where CRDs serve {GROUP}, pass `--kube-version {PROPOSALS}`",
    )


def _newest_with_option(kind: str, profile: Profile) -> str:
    """The newest version of a kind that the release serves if it is asked to."""
    row = kinds_of(profile)[kind]
    return next((each for each in row.versions if row.can_be_served_by(each, profile)), "")


def _switched_off(problem: Problem) -> str | Advice:
    """A version that the release serves only where it is asked to."""
    kind, version = problem.kind, problem.version
    option = f"pass `--runtime-config {GROUP}/{version}=true` if your cluster has that option"
    why = f"{problem.profile.name} serves {version} of {kind} only with it"
    now = newest_served(kind, problem.profile)
    if not now:
        return f"{option}: {why}"
    convert = f"run `claimcheck convert --to {now} --in-place FILE`"
    if decodes(problem.object, version):
        return f"{convert} to rewrite the file, or {option}: {why}"
    if decodes(problem.object, now):
        return _write_api_version(f"{GROUP}/{now}", f", whose fields these are: {version} has others")
    return f"{convert} and fix what it names, or {option}: {why}"


def _only_with_option(kind: str, version: str, profile: Profile) -> str:
    return f"{profile.name} serves {version} of {kind} only with `--runtime-config {GROUP}/{version}=true`"


def _never_served(problem: Problem) -> str | Advice:
    """A version that the kind never had: of a draft, or a slip."""
    kind, version = problem.kind, problem.version
    if problem.api_version != f"{GROUP}/{version}" or kind not in KINDS:
        return ""
    now = newest_served(kind, problem.profile)
    if not now:
        return _not_by_default(problem)
    if not decodes(problem.object, now):
        return f"rewrite it as a {GROUP}/{now} {kind}, whose fields are not these; there never was a {version} {kind}"
    return _write_api_version(f"{GROUP}/{now}", f"; there never was a {version} {kind}")


def _not_by_default(problem: Problem) -> str | Advice:
    """A kind that the release serves in no version, or only where it is asked to."""
    kind, profile = problem.kind, problem.profile
    other = _newest_with_option(kind, profile)
    if other:
        return f"write `apiVersion: {GROUP}/{other}`; {_only_with_option(kind, other, profile)}"
    if KINDS[kind].proposed:
        return _only_proposed(KINDS[kind], profile)
    first = min(lifecycle.introduced for lifecycle in KINDS[kind].versions.values())
    return f"remove it, or use a later release: {kind} is served from 1.{first}"


def _wrong_group(problem: Problem) -> str | Advice:
    kind, kinds = problem.kind, kinds_of(problem.profile)
    now = api_version_of(kind, problem.profile)
    if others := recognition.api_versions_of(kind, problem.profile):
        group = split_api_version(problem.api_version)[0]
        if group == split_api_version(others[0])[0]:
            return _write_api_version(now, f": {problem.profile.name} has no {kind} in {problem.api_version}")
        return _write_api_version(now, f": {kind} is not in {group or 'the core group'}")
    if problem.api_version.rpartition("/")[0] == GROUP or kind not in kinds:
        return ""
    if not now:
        return _not_by_default(problem)
    if problem.api_version.rpartition("/")[0] in kinds[kind].groups:
        return _write_api_version(now, f": {kind} has no other version")
    return _write_api_version(now, f": {kind} is in {now.rpartition('/')[0]}")


def _near_kind(problem: Problem) -> str | Advice:
    if problem.api_version.startswith(OWN_GROUP + "/"):
        ours = [kind.name for kind in KINDS.values() if kind.further_group]
        return Advice(f"write `kind: {ours[0]}`: {OWN_GROUP} has no other", _set("kind", ours[0]))
    served = [kind for kind in kinds_of(problem.profile) if _newest_with_option(kind, problem.profile)]
    others = recognition.kinds_of_any_group(problem.profile)
    is_ours = split_api_version(problem.api_version)[0] == GROUP
    meant = nearest(problem.kind, served) if is_ours else ""
    if meant:
        return Advice(f"did you mean `kind: {meant}`?", _set("kind", meant))
    other = nearest(
        problem.kind, ("List",) if problem.kind.endswith(("List", "list")) else (*others, *served)
    )
    if other or problem.kind.endswith("List"):
        return _another(problem, other or "List")
    if is_ours:
        return f"check `kind`: {GROUP} has {', '.join(served)}"
    return "check `apiVersion` and `kind`: Kubernetes has no such kind, and the groups of custom resources have a dot in their name"


def _another(problem: Problem, kind: str) -> Advice:
    """Another kind, with its API version unless that is right."""
    versions = (
        ["v1"]
        if kind == "List"
        else [*recognition.api_versions_of(kind, problem.profile), api_version_of(kind, problem.profile)]
    )
    if problem.api_version in versions:
        return Advice(f"did you mean `kind: {kind}`?", _set("kind", kind))
    return Advice(
        f"did you mean `apiVersion: {versions[0]}` and `kind: {kind}`?",
        _set("apiVersion", versions[0]),
        _set("kind", kind),
    )


def _deprecated(problem: Problem) -> str:
    now = newest_served(problem.kind, problem.profile)
    if not now or now == problem.version:
        return ""
    return (
        f"run `claimcheck convert --to {now} --in-place FILE` to rewrite the file, keeping comments and layout; "
        f"servers only serve {problem.version} where --runtime-config enables it"
    )


HINTS = (
    Hint("deprecated-version", (SERVER_WARNING,), _deprecated, message="is deprecated in"),
    Hint("not-yet-served", (NOT_SERVED,), _not_yet),
    Hint("missing-type", (NOT_SERVED,), _missing),
    Hint("never-served", (NOT_SERVED,), _never_served),
    Hint("wrong-group", (NOT_SERVED,), _wrong_group),
    Hint("near-kind", (NOT_SERVED,), _near_kind),
)
