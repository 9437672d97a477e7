"""Files as people write and break them, for kubectl and Claimcheck to read: from a seed, so that the same seed gives the same."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from documents.emitting import block, flow
from tests.corpus.cases import cases, shapes_of, valid_object
from tests.corpus.mutations import Mutator
from tests.corpus.parts import Parts

Json = Any
PROFILE = "1.37"


class File(NamedTuple):
    """A file: its name ends as its format does, and `note` says how it came to be."""

    name: str
    text: str
    note: str


def mutated_files(seed: str, count: int) -> Iterator[File]:
    """Manifests with 1 to 4 documents; of most a few fields are wrong, of some what kubectl looks at itself."""
    objects = (
        case
        for case in cases(PROFILE, seed, 4 * count, verbs=("create",))
        if isinstance(case["object"], dict)
    )
    for number in range(count):
        source = random.Random(f"{seed} file {number}")
        documents, notes = [], []
        for _ in range(source.choice((1, 1, 1, 2, 3))):
            case = next(objects)
            documents.append(copy.deepcopy(case["object"]))
            notes.append(case["note"])
        if source.random() < 0.4:
            notes.append(source.choice(_SHAPES)(source, documents))
        yield _written(source, number, documents, "; ".join(filter(None, notes)))


def odd_files(seed: str, count: int) -> Iterator[File]:
    """Manifests in odd YAML and JSON: whether they can be read, and as what, is the question."""
    for number, case in enumerate(cases(PROFILE, f"{seed} odd", count, verbs=("create",))):
        source = random.Random(f"{seed} odd {number}")
        body = _CLAIM if source.random() < 0.7 or not isinstance(case["object"], dict) else case["object"]
        file = _written(source, number, [copy.deepcopy(body)], "")
        text, note = file.text, []
        for _ in range(source.choice((1, 1, 2, 3))):
            change = source.choice(_ODDITIES)
            text = change(source, text)
            note.append(change.__name__.strip("_"))
        yield File(file.name, text, ", ".join(note))


Step = tuple[str, tuple[str, ...], tuple[str, ...], File, list[File]]
"""A command of kubectl, its options and ours, the file of the object, and that of a patch."""

_KINDS_TO_CHANGE = (
    "ResourceClaim", "ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "DeviceClass", "ResourceSlice", "ResourceSlice", "DeviceTaintRule", "Pod",
)  # fmt: skip


def _to_store(source: random.Random, name: str) -> tuple[str, Json]:
    kind = source.choice(_KINDS_TO_CHANGE)
    value = valid_object(Parts(source), kind, "v1", name=name)
    metadata = value["metadata"]
    for field in ("namespace", "generateName", "finalizers", "ownerReferences", "resourceVersion", "uid"):
        metadata.pop(field, None)
    return kind, value


def stored_file(seed: str, number: int) -> tuple[File, str]:
    """A file with a valid object that can be stored, and how."""
    source = random.Random(f"{seed} stored {number}")
    _, value = _to_store(source, f"stored-{number}")
    shuffled = _shuffled(source, value)
    return _written(source, number, [shuffled], ""), source.choice(("create", "apply", "create"))


def _shuffled(source: random.Random, value: Json) -> Json:
    """The value with its keys in another order."""
    if isinstance(value, dict):
        keys = list(value)
        source.shuffle(keys)
        return {key: _shuffled(source, value[key]) for key in keys}
    return [_shuffled(source, each) for each in value] if isinstance(value, list) else value


def steps(seed: str, number: int) -> Iterator[Step]:
    """An object that is created and then changed, by one command after the other."""
    source = random.Random(f"{seed} steps {number}")
    kind, value = _to_store(source, f"changed-{number}")
    first = source.choice(
        (
            ("create", ()),
            ("apply", ()),
            ("apply", ("--server-side",)),
            ("apply", ("--server-side", "--field-manager=other")),
        )
    )
    verb, options = first
    yield verb, options, (), _written(source, number, [value], "first"), []
    mutator = Mutator(source, shapes_of(kind))
    for step in range(source.choice((1, 2, 3))):
        note = _change(source, mutator, value)
        file = _written(source, number, [value], f"step {step + 2} of {kind}: {note}")
        how = source.choice(("apply", "apply", "server-side", "server-side", "merge", "strategic", "json"))
        if how == "apply":
            yield "apply", (), (), file, []
        elif how == "server-side":
            given = ["--server-side"]
            if source.random() < 0.4:
                given.append("--field-manager=other")
            if source.random() < 0.3:
                given.append("--force-conflicts")
            yield "apply", tuple(given), tuple(given), file, []
        else:
            patch, said = _patch(source, mutator, how, value)
            place = File(f"{number:05}-patch.json", json.dumps(patch), "")
            named = {key: value[key] for key in ("apiVersion", "kind")} | {
                "metadata": {"name": f"changed-{number}"}
            }
            target = File(
                f"{number:05}-named.json", json.dumps(named), f"step {step + 2} of {kind}: {how} {said}"
            )
            yield "patch", (f"--type={how}",), (f"--patch-type={how}",), target, [place]


def _change(source: random.Random, mutator: Mutator, value: Json) -> str:
    metadata = value["metadata"]
    change = source.choice(("none", "label", "annotation", "no labels", "spec", "spec", "owner", "finalizer"))
    if change == "label":
        metadata["labels"] = {
            "app": source.choice(("a", "b", "not valid")),
            source.choice(("x", "y/z", "-")): "1",
        }
    elif change == "annotation":
        metadata["annotations"] = {source.choice(("a", "b")): source.choice(("1", "2"))}
    elif change == "no labels":
        metadata.pop("labels", None)
    elif change == "owner":
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": source.choice("ab"), "uid": source.choice("xyz")}
        ]
    elif change == "finalizer":
        metadata["finalizers"] = source.sample(["a.b/c", "a.b/d", "bad"], source.choice((0, 1, 2)))
    elif change == "spec":
        return (
            "spec " + mutator.mutate(value["spec"], 1)
            if isinstance(value.get("spec"), dict) and value["spec"]
            else change
        )
    return change


def _patch(source: random.Random, mutator: Mutator, how: str, value: Json) -> tuple[Json, str]:
    if how == "json":
        operation = source.choice(
            (
                {"op": "add", "path": "/metadata/labels", "value": {"a": source.choice(("b", "not valid"))}},
                {"op": "replace", "path": "/metadata/labels/app", "value": "c"},
                {
                    "op": "remove",
                    "path": source.choice(("/metadata/labels", "/spec", "/nothing", "/metadata/name")),
                },
                {
                    "op": "test",
                    "path": "/metadata/name",
                    "value": source.choice((value["metadata"]["name"], "x")),
                },
                {"op": "copy", "from": "/metadata/name", "path": "/metadata/annotations"},
                {"op": "add", "path": "/metadata/finalizers/-", "value": "a.b/c"},
                {"op": "odd", "path": "/metadata"},
                {"op": "add", "path": "/spec/unknown", "value": 1},
            )
        )
        return source.choice(([operation], [operation], [operation, operation], operation)), str(operation)[
            :80
        ]
    changed = copy.deepcopy(value)
    note = _change(source, mutator, changed)
    patch: Json = {key: changed[key] for key in ("metadata", "spec") if changed.get(key) != value.get(key)}
    if source.random() < 0.2:
        patch = source.choice(
            (
                {"metadata": {"labels": None}},
                {"spec": None},
                [],
                {"kind": "Pod"},
                {"metadata": {"name": "other"}},
                {"unknown": 1},
                {"metadata": {"resourceVersion": "1"}},
                {"spec": {"unknown": 1}},
                {"status": {}},
            )
        )
        note = str(patch)
    return patch, note


_CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "odd", "labels": {"app": "x", "tier": "1"}, "annotations": {"note": "a: b # c"}},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "gpu",
                    "exactly": {
                        "deviceClassName": "gpu.example.com",
                        "count": 2,
                        "selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}],
                    },
                }
            ],
            "config": [
                {
                    "opaque": {
                        "driver": "gpu.example.com",
                        "parameters": {"z": 1.5, "a": [True, "yes", 10], "text": "one\ntwo\n"},
                    }
                }
            ],
        }
    },
}


# --- how files are written


def _written(source: random.Random, number: int, documents: list[Json], note: str) -> File:
    if source.random() < 0.25:
        separator = source.choice(("\n", "", " ", "\n\n"))
        indent = source.choice((None, 2))
        text = separator.join(json.dumps(document, indent=indent) for document in documents)
        return File(f"{number:05}.json", text, note)
    pieces = [_yaml(source, document) for document in documents]
    text = "---\n".join(pieces)
    if source.random() < 0.3:
        text = "---\n" + text
    if source.random() < 0.2:
        text += "---\n"
    return File(f"{number:05}.yaml", text, note)


def _yaml(source: random.Random, document: Json) -> str:
    if source.random() < 0.2:
        return flow(document) + "\n"
    return "\n".join(block(document, source.choice((0, 2)))) + "\n"


# --- what kubectl looks at itself


def _identity(source: random.Random, documents: list[Json]) -> str:
    """Another kind or version of some document."""
    field, values = source.choice((("kind", _KINDS), ("apiVersion", _VERSIONS)))
    value = source.choice(values)
    target = source.choice(documents)
    if value is _ABSENT:
        target.pop(field, None)
    else:
        target[field] = value
    return f"{field}={value!r}"


def _stray(source: random.Random, documents: list[Json]) -> str:
    """A document that is no object."""
    strays: list[Json] = [
        {"foo": "bar"},
        {"spec": {}},
        {"metadata": {"name": "x"}},
        [],
        ["a"],
        "text",
        5,
        None,
    ]
    stray = source.choice(strays)
    documents.insert(source.randrange(len(documents) + 1), stray)
    return f"stray {stray!r}"


def _listed(source: random.Random, documents: list[Json]) -> str:
    """All documents in one list."""
    api_version, kind = source.choice(_LISTS)
    if source.random() < 0.3:
        _nulls(source, documents)
    items: Json = [*documents]
    if source.random() < 0.2:
        items.append(
            source.choice(
                (None, 5, {}, {"kind": "ConfigMap"}, {"apiVersion": "v1", "kind": "List", "items": []})
            )
        )
    documents[:] = [{"apiVersion": api_version, "kind": kind, "items": items}]
    if source.random() < 0.2:
        documents[0]["metadata"] = source.choice(
            ({}, {"resourceVersion": ""}, {"name": "x"}, {"resourceVersion": 1}, 5, None)
        )
    return f"in {api_version} {kind}"


def _nulls(source: random.Random, documents: list[Json]) -> str:
    """Members that are null."""
    target = source.choice(documents)
    for _ in range(source.choice((1, 2))):
        maps = [target, *_maps_in(target)]
        source.choice(maps)[source.choice(("unknown", "count", "parameters", "name", "labels", "kind2"))] = (
            None
        )
    return "nulls"


def _generated_name(source: random.Random, documents: list[Json]) -> str:
    metadata = source.choice(documents).get("metadata")
    if not isinstance(metadata, dict):
        return ""
    if source.random() < 0.8:
        metadata.pop("name", None)
    metadata["generateName"] = source.choice(("x-", "", "X-", None, 5))
    return "generateName"


def _large(source: random.Random, documents: list[Json]) -> str:
    """About as much as annotations, or a request, can have."""
    metadata = source.choice(documents).get("metadata")
    if not isinstance(metadata, dict):
        return ""
    size = source.choice((60_000, 130_000, 262_000, 3 << 20))
    metadata["annotations"] = {
        "large": source.choice(("x", "<", "é", '"')) * (size // source.choice((1, 2, 6)))
    }
    return f"large {size}"


def _other_object(source: random.Random, documents: list[Json]) -> str:
    other = copy.deepcopy(source.choice(_OTHERS))
    if source.random() < 0.3:
        field = source.choice(("labels", "annotations", "finalizers", "generation", "creationTimestamp"))
        other["metadata"][field] = source.choice(({"a": 1}, {"a": None}, ["a.b/c"], "x", 1.5, None))
    documents.insert(source.randrange(len(documents) + 1), other)
    return f"with {other['kind']}"


_SHAPES: tuple[Callable[[random.Random, list[Json]], str], ...] = (
    _identity,
    _identity,
    _stray,
    _listed,
    _nulls,
    _generated_name,
    _large,
    _other_object,
)
_ABSENT = object()
_KINDS: tuple[Any, ...] = (
    _ABSENT, None, "", 5, True, [], "resourceclaim", "RESOURCECLAIM", "ResourceClaims", "ResourceClam", "pod", "POD", "Pod", "Deploymnt",
    "Deployment", "List", "list", "ResourceClaimList", "PodList", "FooList", "Foo", "ConfigMap", "Status",
)  # fmt: skip
_VERSIONS: tuple[Any, ...] = (
    _ABSENT, None, "", 1, "v1", "V1", "v2", "/v1", "v1/", "a/b/c", "resource.k8s.io", "resource.k8s.io/", "resource.k8s.io/V1", "resource.k8s.io/v2",
    "resource.k8s.io/v1alpha2", "resource.k8s.io/v1alpha3", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2", "apps/v1", "apps", "apps/v1beta1",
    "batch/v1beta1", "extensions/v1beta1", "networking.k8s.io/v1", "policy/v1beta1", " resource.k8s.io/v1",
    "Resource.k8s.io/v1", "example.com/V1", "example.com/v1/", "exa_mple.com/v1",
)  # fmt: skip
_LISTS = (
    ("v1", "List"), ("v1", "List"), ("v1", "List"), ("v1", "list"), ("apps/v1", "List"), ("x/v1", "List"), ("x/v1", "FooList"), ("v1", "PodList"),
    ("resource.k8s.io/v1", "ResourceClaimList"), ("resource.k8s.io/v1", "List"), ("resource.k8s.io/v1", "ResourceClaim"), ("v1", "ConfigMap"),
)  # fmt: skip
_OTHERS: tuple[Json, ...] = (
    {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}, "data": {"a": "b"}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}},
    {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other"}},
    {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "other"},
        "rules": [],
    },
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "other"},
        "spec": {"podSelector": {}},
    },
)


def _maps_in(value: Json) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    pending = [value]
    for each in pending:  # which grows
        if isinstance(each, dict):
            found.append(each)
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
    return found


# --- odd YAML and JSON


def _line_of(source: random.Random, text: str) -> tuple[list[str], int]:
    lines = text.split("\n")
    return lines, source.randrange(len(lines))


def _scalar(source: random.Random, text: str) -> str:
    """Another scalar in place of one."""
    lines, at = _line_of(source, text)
    key, colon, _ = lines[at].rpartition(": ")
    lines[at] = key + colon + source.choice(_SCALARS)
    return "\n".join(lines)


def _piece(source: random.Random, text: str) -> str:
    """A piece of syntax somewhere."""
    at = source.randrange(len(text) + 1)
    return text[:at] + source.choice(_PIECES) + text[at:]


def _cut(source: random.Random, text: str) -> str:
    at = source.randrange(len(text) + 1)
    return text[:at] + text[at + source.choice((1, 1, 2, 10)) :]


def _doubled(source: random.Random, text: str) -> str:
    lines, at = _line_of(source, text)
    return "\n".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])


def _indented(source: random.Random, text: str) -> str:
    lines, at = _line_of(source, text)
    lines[at] = source.choice((" ", "  ", "\t")) + lines[at] if source.random() < 0.7 else lines[at][1:]
    return "\n".join(lines)


def _ends_of_lines(source: random.Random, text: str) -> str:
    return text.replace("\n", source.choice(("\r\n", "\r", "\n\n", " \n", "\t\n", "\n \n", "\x85", "\u2028")))


def _new_line(source: random.Random, text: str) -> str:
    lines, at = _line_of(source, text)
    return "\n".join([*lines[:at], source.choice(_LINES), *lines[at:]])


def _around(source: random.Random, text: str) -> str:
    before, after = source.choice(_AROUND)
    return before + text + after


_ODDITIES: tuple[Callable[[random.Random, str], str], ...] = (
    _scalar, _scalar, _piece, _piece, _cut, _doubled, _indented, _ends_of_lines, _new_line, _new_line, _around,
)  # fmt: skip
_SCALARS = (
    "yes", "No", "on", "~", "null", "Null", "", "0x1f", "0o17", "017", "0b11", "1_000", "+1", "-0", "1e3", "1.0", "1.", ".5", ".inf", "-.INF", ".nan",
    "12:30", "2001-01-01", "2001-01-01T00:00:00Z", "18446744073709551615", "99999999999999999999", "1e400", "'a''b'", '"a\\u0041\\n"', '"\\x41\\e"',
    '"\\q"', "'open", '"open', "!!str 5", "!!int \"5\"", "!!float 1", "!!binary YQ==", "!!null x", "!x y", "!!set {a}", "&a 1", "*a", "*none", "| ", "|2", "|-", ">+",
    "[1, 2", "[a,,b]", "{a: 1", "{a, b}", "{a: b, a: c}", "[]", "{}", "%a", "@a", "`a`", "- a", "? a", ": a", "a: b", "a #b", "a#b", "#b", "a\tb", "\ta", "a\\", "é",
    "\U0001f600", "\ufeff", "\x07", "\x7f", "x" * 70_000, "<<", "=", "...", "---",
)  # fmt: skip
_PIECES = (
    "\t", "\n", " ", ":", ": ", "- ", "-", "?", "? ", "#", " #", "&a ", "*a", "!", "!!str ", "|", ">", "'", '"', "{", "}", "[", "]", ",", "%", "@", "`", "\\", "\0", "\x01", "\x85", "\xa0",
    "\u2028", "\ufeff", "\ud7ff", "\n---\n", "\n...\n", "\n--- \n", "\n---a\n", "\n--- a: b\n", "\n%YAML 1.1\n", "<<: ", "\r", "0", "e", "null", "//", "/* */",
)  # fmt: skip
_LINES = (
    "", " ", "\t", "#", "# comment", "  # comment", "---", "--- # comment", "---   ", " ---", "...", "... # end", "----", "%YAML 1.2", "%TAG ! x", "a: b", "a:", "? a", ": b", "- a", "-", "<<: {a: b}",
    "<<: [{a: b}, {c: d}]", "<<: 5", "&x a: b", "*x : b", "!!map", "foo", "{}", "[]", "{a: b}", "\"a\": b", "'a' : b", "a : b", "a:b", "1: a", "true: a", "null: a", "1.5: a", "[a]: b", "{a: b}: c",
    "a: |", "a: >-", "a: 'x", "a: &a [1]", "b: *a", "kind: Pod", "kind: ResourceClaim", "apiVersion: v1", "metadata:", "spec: {}",
)  # fmt: skip
_AROUND = (
    ("\ufeff", ""), ("---\n", ""), ("\n\n", ""), ("# comment\n", ""), ("# comment\n---\n", ""), ("%YAML 1.1\n---\n", ""), ("---\n---\n", ""), ("", "---"), ("", "---\n"), ("", "\n..."), ("", "...\n"),
    ("", "\n...\nfoo"), ("", "---\n# nothing\n"), ("", "---\nnull\n"), ("", "---\n{}\n"), ("", "---\nfoo\n"), (" ", ""), ("\t", ""), ("", " "), ("", "}"), ("", "{}"), ("", "\0"), ("{}\n---\n", ""), ("[", "]"),
    ("", "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"), ("...\n", ""), ("--- ", ""), ("---\t", ""), ("null\n---\n", ""),
)  # fmt: skip
