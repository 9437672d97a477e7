"""Random requests in the format of the conformance corpus, made from a seed: the same seed gives the same cases."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import Profile
from resourceapi.schema import Schema, Type
from tests.conformance.answers import WORKLOADS, Case
from tests.conformance.profiles import MODERN, NEWEST, PROFILES
from tests.corpus.classic_parts import STATUSES, ClassicParts
from tests.corpus.mutations import Mutator, learn
from tests.corpus.parts import Parts, in_version
from tests.corpus.raw_bodies import raw_body
from tests.corpus.tables import FIELDS, NAMESPACES, WEIGHTS, pick

_CLUSTER_SCOPED = ("ResourceClass", *(kind.name for kind in KINDS.values() if not kind.namespaced))
_WITH_STATUS = tuple(kind.name for kind in KINDS.values() if kind.has_status)
_OTHER_GROUPS = {
    **dict.fromkeys(("Pod", "PodTemplate", "ReplicationController"), ""),
    **dict.fromkeys(("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), "apps"),
    **dict.fromkeys(("CronJob", "Job"), "batch"),
}
_LEARNED_FROM = 120


def cases(
    profile: str, seed: int | str, count: int, kinds: tuple[str, ...] = (), verbs: tuple[str, ...] = ()
) -> Iterator[Case]:
    """`count` cases for the server of `profile`, without `expect`: of all kinds that it serves, or only of `kinds`.

    The kinds that hold a pod template are only asked for if they are named.

    `verbs`: only these.

    In a case for `update` or `status`, `old` is the object to be stored, with its status if it has any; whoever asks a
    server replaces it by what was stored.
    """
    served = PROFILES[profile].served
    weights = {
        kind: weight
        for kind, weight in (_kinds(profile) | dict.fromkeys(set(kinds) & set(WORKLOADS), 1)).items()
        if (kind in _OTHER_GROUPS or kind in served)
        and (not kinds or kind in kinds)
        and _verbs(kind, verbs, profile)
    }
    for number in range(count):
        source = random.Random(f"{seed} {profile} {number}")
        kind = pick(source, weights)
        version = "v1" if kind in _OTHER_GROUPS else source.choice(served[kind])
        verb = pick(source, _verbs(kind, verbs, profile))
        yield _Composer(source, profile, kind, version).case(verb, f"{profile}-{seed}-{number:05}")


def _is_classic(profile: str) -> bool:
    return profile not in MODERN


def _kinds(profile: str) -> dict[str, int]:
    kinds: dict[str, int] = WEIGHTS["classic kind" if _is_classic(profile) else "kind"]
    return kinds


def _verbs(kind: str, wanted: tuple[str, ...], profile: str) -> dict[str, int]:
    weights: dict[str, int] = WEIGHTS["verb"]["holds a pod template" if kind in WORKLOADS else kind]
    unwanted = "convert" if _is_classic(profile) else ""  # there is one version
    return {verb: n for verb, n in weights.items() if verb != unwanted and (not wanted or verb in wanted)}


def shapes_of(kind: str) -> dict[tuple[str, ...], dict[str, list[Any]]]:
    """The fields that valid objects of a kind's `spec` have, as a Mutator wants them."""
    return {path[1:]: fields for path, fields in _shapes(kind, False).items() if path[:1] == ("spec",)}


@cache
def _shapes(kind: str, classic: bool) -> dict[tuple[str, ...], dict[str, list[Any]]]:
    """The fields that valid objects of a kind have, over all versions."""
    shapes: dict[tuple[str, ...], dict[str, list[Any]]] = {}
    for number in range(_LEARNED_FROM):
        source = random.Random(f"{kind} {number}")
        for version in ("v1", "v1beta1"):
            made = valid_object(Parts(source), kind, version, with_status=True, classic=classic)
            learn(shapes, made)
    return shapes


def valid_object(
    parts: Parts,
    kind: str,
    version: str,
    *,
    with_status: bool = False,
    name: str = "",
    classic: bool = False,
) -> Object:
    """An object of the kind in which nothing is wrong (if every gate is on), `classic` for a server of 1.30."""
    if classic:
        return ClassicParts(parts).object(kind, with_status=with_status, name=name)
    object: Object = {
        "apiVersion": _api_version(kind, version),
        "kind": kind,
        "metadata": parts.metadata(name),
    }
    if kind in WORKLOADS:
        return object | parts.workload(kind)
    object["spec"] = {
        "ResourceClaim": parts.claim_spec,
        "ResourceClaimTemplate": lambda: _template(parts),
        "DeviceClass": parts.class_spec,
        "ResourceSlice": parts.slice_spec,
        "DeviceTaintRule": parts.taint_rule_spec,
        "ResourcePoolStatusRequest": parts.pool_status_request_spec,
        "ResourceSlicePatch": parts.slice_patch_spec,
        "Pod": parts.pod_spec,
    }[kind]()
    if with_status and kind in _WITH_STATUS:
        object["status"] = valid_status(parts, kind, object["spec"])
    return in_version(kind, version, object)


def _api_version(kind: str, version: str) -> str:
    # a kind that no release has is asked for where everybody has it
    row = KINDS.get(kind)
    group = _OTHER_GROUPS.get(kind, GROUP if row is None else row.groups[-1])
    return f"{group}/{version}" if group else version


def valid_status(parts: Parts, kind: str, spec: Object, *, classic: bool = False) -> Object:
    if classic:
        return ClassicParts(parts).status(kind)
    if kind == "ResourceClaim":
        return parts.claim_status(spec)
    return parts.taint_rule_status() if kind == "DeviceTaintRule" else parts.pool_status_request_status()


def _template(parts: Parts) -> Object:
    template: Object = {"spec": parts.claim_spec()}
    labels: Object = {"labels": {"app": "x"}, "annotations": {"note": "y"}}
    parts.maybe(0.3, template, "metadata", lambda: labels)
    return template


class _Composer:
    """Composes one case."""

    def __init__(self, source: random.Random, profile: str, kind: str, version: str) -> None:
        self._source = source
        self._parts = Parts(source)
        self._profile = profile
        self._kind = kind
        self._version = version
        self._classic = _is_classic(profile)
        self._has_status = kind in (STATUSES if self._classic else _WITH_STATUS)
        self._schema = None
        if self._kind in KINDS and not self._classic and PROFILES[profile].release != NEWEST:
            self._schema = Profile(PROFILES[profile].release).schemas[version]
        self._mutator = Mutator(source, _shapes(kind, self._classic))

    def case(self, verb: str, id: str) -> Case:
        case: Case = {
            "id": id,
            "profile": self._profile,
            "verb": verb,
            "apiVersion": _api_version(self._kind, self._version),
            "kind": self._kind,
        }
        if self._kind not in _CLUSTER_SCOPED:
            case["namespace"] = pick(self._source, WEIGHTS["namespace"])
            case["namespaceLabels"] = NAMESPACES[case["namespace"]]
            self._parts.admin = case["namespace"] == "ops" or self._parts.chance(0.05)
        compose = {"update": self._update, "status": self._status}.get(verb, self._create)
        compose(case, unique=f"{self._parts.word()}-{abs(hash_of(id)):08x}")
        return case

    def _mutated(self, object: Object) -> str:
        return self._mutator.mutate(object, int(pick(self._source, WEIGHTS["mutations"])))

    def _create(self, case: Case, unique: str) -> None:
        stored = case["verb"] == "convert"
        with_status = self._parts.chance(0.1)
        object = self._valid(case, with_status=with_status, name=unique if stored else "")
        case["note"] = self._mutated(object)
        case["object"] = object
        metadata = object.get("metadata")
        if stored and isinstance(metadata, dict):
            metadata.pop("resourceVersion", None)  # refused only where the object is really stored
        if not stored and self._parts.chance(0.04):
            case |= {"raw": raw_body(self._source, object), "object": None, "note": "raw"}

    def _valid(self, case: Case, *, with_status: bool = False, name: str = "") -> Object:
        object = self._known(
            valid_object(
                self._parts,
                self._kind,
                self._version,
                with_status=with_status,
                name=name,
                classic=self._classic,
            )
        )
        namespace = case.get("namespace")
        if namespace and self._parts.chance(0.5):
            object["metadata"]["namespace"] = namespace if self._parts.chance(0.95) else "elsewhere"
        return object

    def _known(self, object: Object) -> Object:
        """Mostly without the fields that the release does not have, which it would only refuse."""
        if self._schema is None or not self._parts.chance(0.9):
            return object
        return without_unknown(self._schema, self._kind, object)

    def _stored(self, case: Case, unique: str) -> Object:
        """What is stored first; it must not be refused, so only what most servers take."""
        old = self._valid(case, name=unique)
        old["metadata"].pop("namespace", None)
        old["metadata"].pop("generateName", None)
        return old

    def _update(self, case: Case, unique: str) -> None:
        old = self._stored(case, unique)
        if self._has_status and self._parts.chance(0.3):
            old["status"] = self._valid_status(old)
        object = copy.deepcopy(old)
        how = pick(self._source, WEIGHTS["update"])
        if how == "labels":
            object["metadata"]["labels"] = {"changed": "yes"}
        elif how == "another":
            envelope = ("apiVersion", "kind", "metadata", "status")
            object |= {key: value for key, value in self._valid(case).items() if key not in envelope}
        elif how == "of status" and self._has_status:
            object["status"] = self._valid_status(old)
        note = self._mutated(object) if how in ("mutated", "another") else ""
        case |= {"old": old, "object": object, "note": f"{how}: {note}" if note else how}
        if self._parts.chance(0.05):
            case["deleted"] = True
        self._versioned(case)

    def _status(self, case: Case, unique: str) -> None:
        old = self._stored(case, unique)
        if self._parts.chance(0.5):
            old["status"] = self._valid_status(old)
        object = copy.deepcopy(old)
        if self._parts.chance(0.7) or "status" not in old:
            object["status"] = self._valid_status(old)
        if self._parts.chance(0.1):
            object["metadata"]["labels"] = {"ignored": "yes"}
        if self._parts.chance(0.1):
            object["spec"] = self._valid(case)["spec"]
        target = {"status": object["status"]} if self._parts.chance(0.85) else object
        case["note"] = self._mutated(target)
        if target is not object:
            object = {**object, **target}
            if "status" not in target:
                del object["status"]
        case |= {"old": old, "object": object}
        if self._kind == "ResourceClaim" and self._parts.chance(0.12):
            case["deleted"] = True
        self._versioned(case)

    def _valid_status(self, object: Object) -> Object:
        # requests, to which a status refers, have the same names in all versions
        spec = object["spec"] if self._kind == "ResourceClaim" else {}
        status = valid_status(self._parts, self._kind, spec, classic=self._classic)
        known: Object = self._known({"status": status}).get("status", {})
        return known

    def _versioned(self, case: Case) -> None:
        """What identifies the stored object: mostly left to the prober, sometimes wrong or missing."""
        if self._parts.chance(0.08):
            case["noResourceVersion"] = True
        elif self._parts.chance(0.08) and isinstance(case["object"].get("metadata"), dict):
            field = self._source.choice(("uid", "resourceVersion", "name", "namespace", "deletionTimestamp"))
            value = self._source.choice(FIELDS[field])
            case["object"]["metadata"][field] = value
            case["note"] += f"; metadata.{field}={value!r:.40}"


def without_unknown(schema: Schema, struct: str, object: Object) -> Object:
    """The object without the fields that a struct does not have."""
    known: Object = {}
    for field in schema[struct].fields:
        if field.inline:
            known |= without_unknown(schema, field.type.struct, object)
        elif field.name in object:
            known[field.name] = _known_value(schema, field.type, object[field.name])
    return {key: object[key] for key in ("apiVersion", "kind") if key in object} | known


def _known_value(schema: Schema, type: Type, value: Any) -> Any:
    if type.element is not None and isinstance(value, list):
        return [_known_value(schema, type.element, item) for item in value]
    if type.element is not None and isinstance(value, dict):
        return {key: _known_value(schema, type.element, item) for key, item in value.items()}
    if type.kind == "struct" and isinstance(value, dict):
        return without_unknown(schema, type.struct, value)
    return value


def hash_of(text: str) -> int:
    """A number that is the same in every run, unlike Python's own hash."""
    return random.Random(text).getrandbits(32)
