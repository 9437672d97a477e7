"""Renders kustomizations as ``kubectl kustomize`` does, as far as those in this directory need.

Anything else in a kustomization is an error, so that nothing is left out silently.
Source: kustomize documentation, "Kustomization File".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from resourceapi.objects import Object

DIRECTORY = Path(__file__).parent
FILE = "kustomization.yaml"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is ten times as fast
KINDS = ("Kustomization", "Component")


class KustomizeError(Exception):
    """A kustomization that cannot be rendered."""


def render(directory: Path) -> list[Object]:
    """The objects of the kustomization in a directory.

    :raises KustomizeError: if it is wrong, or uses what is not supported here.
    """
    return _apply(_load(directory), directory, [])


def render_value(kustomization: Object, directory: Path) -> list[Object]:
    """The objects of a kustomization as if its file were in the directory.

    :raises KustomizeError: as for :func:`render`.
    """
    return _apply(kustomization, directory, [])


def _load(directory: Path) -> Object:
    file = directory / FILE
    documents = _documents(file)
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise KustomizeError(f"{file}: expected one kustomization")
    return documents[0]


def _documents(file: Path) -> list[Any]:
    try:
        documents = list(yaml.load_all(file.read_text("utf-8"), Loader=_LOADER))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise KustomizeError(f"{file}: {error}") from None
    return [document for document in documents if document is not None]


def _apply(kustomization: Object, directory: Path, objects: list[Object]) -> list[Object]:
    """Add the objects of a kustomization or component, and apply its changes to all objects."""
    if kustomization.get("kind") not in KINDS:
        raise KustomizeError(f"{directory / FILE}: kind must be one of {', '.join(KINDS)}")
    unknown = kustomization.keys() - _STEPS.keys() - {"apiVersion", "kind", "generatorOptions"}
    if unknown:
        raise KustomizeError(f"{directory / FILE}: not supported: {', '.join(sorted(unknown))}")
    for generator in kustomization.get("configMapGenerator", ()):
        if (generator.get("options") or {}).keys() - {"labels"}:
            raise KustomizeError(f"{directory / FILE}: of a generator's options only labels are supported")
    if "configMapGenerator" in kustomization and kustomization.get("generatorOptions") != _NO_SUFFIX:
        raise KustomizeError(f"{directory / FILE}: generatorOptions must be {_NO_SUFFIX}")
    for name, step in _STEPS.items():
        if name in kustomization:
            objects = step(objects, kustomization[name], directory)
    return [obj for obj in objects if not _is_local(obj)]


def _is_local(obj: Object) -> bool:
    """Whether an object is only a source for others and not part of the result."""
    annotations = obj["metadata"].get("annotations") or {}
    return bool(annotations.get(_LOCAL) == "true")


_LOCAL = "config.kubernetes.io/local-config"
_NO_SUFFIX = {"disableNameSuffixHash": True}


def _resources(objects: list[Object], names: list[str], directory: Path) -> list[Object]:
    added: list[Object] = []
    for name in names:
        path = directory / name
        added += render(path) if path.is_dir() else _documents(path)
    return [*objects, *added]


def _config_maps(objects: list[Object], generators: list[Object], directory: Path) -> list[Object]:
    made = []
    for generator in generators:
        metadata = {name: generator[name] for name in ("name", "namespace") if name in generator}
        metadata |= generator.get("options") or {}
        data = {name: (directory / name).read_text("utf-8") for name in generator["files"]}
        made.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
    return [*objects, *made]


def _components(objects: list[Object], names: list[str], directory: Path) -> list[Object]:
    for name in names:
        objects = _apply(_load(directory / name), directory / name, objects)
    return objects


_CLUSTER_WIDE = frozenset(
    (
        "ClusterRole",
        "ClusterRoleBinding",
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "Namespace",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    )
)


def _namespace(objects: list[Object], namespace: str, _: Path) -> list[Object]:
    """Set the namespace of namespaced objects; references to it are in the manifests already."""
    for obj in objects:
        if obj["kind"] not in _CLUSTER_WIDE:
            obj["metadata"]["namespace"] = namespace
        elif obj["kind"] == "Namespace" and obj["metadata"]["name"] != namespace:
            raise KustomizeError(f"the namespace {namespace} is not that of the manifests")
    return objects


def _patches(objects: list[Object], patches: list[Object], _: Path) -> list[Object]:
    for entry in patches:
        operations = entry["patch"]
        if isinstance(operations, str):
            operations = yaml.safe_load(operations)
        if not isinstance(operations, list):
            raise KustomizeError("only JSON patches are supported")
        target = entry["target"]
        name = re.compile(target.get("name", ".*"))
        for obj in objects:
            if obj["kind"] == target["kind"] and name.fullmatch(obj["metadata"]["name"]):
                for operation in operations:
                    _patch(obj, operation)
    return objects


def _patch(obj: Object, operation: Object) -> None:
    """One operation of a JSON patch (RFC 6902)."""
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:])
    owner: Any = obj
    for part in parents:
        owner = owner[int(part)] if isinstance(owner, list) else owner[part]
    kind = operation["op"]
    if isinstance(owner, list) and kind == "add":
        owner.insert(len(owner) if last == "-" else int(last), operation["value"])
        return
    key: Any = int(last) if isinstance(owner, list) else last
    if kind == "remove":
        del owner[key]
    elif kind in ("add", "replace"):
        owner[key] = operation["value"]
    else:
        raise KustomizeError(f"not supported: {kind} in a JSON patch")


def _replacements(objects: list[Object], replacements: list[Object], _: Path) -> list[Object]:
    """Copy a value of one object into others; with a delimiter, into one part of a string."""
    for entry in replacements:
        source = _find(objects, entry["source"])
        value = _at(source, entry["source"]["fieldPath"])
        for target in entry["targets"]:
            for obj in _selected(objects, target["select"]):
                for path in target["fieldPaths"]:
                    _put(obj, path, value, target.get("options") or {})
    return objects


def _selected(objects: list[Object], selector: Object) -> Iterator[Object]:
    for obj in objects:
        if obj["kind"] == selector["kind"] and obj["metadata"]["name"] == selector.get(
            "name", obj["metadata"]["name"]
        ):
            yield obj


def _find(objects: list[Object], selector: Object) -> Object:
    found = list(_selected(objects, selector))
    if len(found) != 1:
        raise KustomizeError(f"{selector}: {len(found)} objects are selected")
    return found[0]


def _steps(path: str) -> list[str]:
    """The names in a field path, separated by dots; names with dots are in brackets."""
    steps: list[str] = []
    while path:
        if path.startswith("["):
            name, _, path = path[1:].partition("]")
        else:
            end = min((path.find(mark) for mark in ".[" if mark in path), default=len(path))
            name, path = path[:end], path[end:]
        steps.append(name)
        path = path.removeprefix(".")
    return steps


def _at(obj: Any, path: str) -> Any:
    for step in _steps(path):
        obj = obj[step]
    return obj


def _put(obj: Any, path: str, value: Any, options: Object) -> None:
    *parents, last = _steps(path)
    for step in parents:
        obj = obj[step]
    if "delimiter" in options:
        parts = obj[last].split(options["delimiter"])
        parts[options.get("index", 0)] = value
        value = options["delimiter"].join(parts)
    obj[last] = value


def _replicas(objects: list[Object], replicas: list[Object], _: Path) -> list[Object]:
    for entry in replicas:
        for obj in _selected(objects, {"kind": "Deployment", "name": entry["name"]}):
            obj["spec"]["replicas"] = entry["count"]
    return objects


def _images(objects: list[Object], images: list[Object], _: Path) -> list[Object]:
    for obj in objects:
        if obj["kind"] in ("Deployment", "DaemonSet"):
            for container in obj["spec"]["template"]["spec"]["containers"]:
                for entry in images:
                    container["image"] = _image(container["image"], entry)
    return objects


def _image(image: str, entry: Object) -> str:
    name, tag = _split_image(image)
    if name != entry["name"]:
        return image
    if "digest" in entry:
        tag = f"@{entry['digest']}"
    elif "newTag" in entry:
        tag = f":{entry['newTag']}"
    return f"{entry.get('newName', name)}{tag}"


def _split_image(image: str) -> tuple[str, str]:
    """An image as name, and tag or digest with its separator."""
    if "@" in image:
        name, _, digest = image.partition("@")
        return name, f"@{digest}"
    head, slash, last = image.rpartition("/")
    base, colon, tag = last.partition(":")
    return head + slash + base, colon + tag


# in the order in which kustomize applies them
_STEPS: dict[str, Callable[[list[Object], Any, Path], list[Object]]] = {
    "resources": _resources,
    "configMapGenerator": _config_maps,
    "components": _components,
    "patches": _patches,
    "namespace": _namespace,
    "replicas": _replicas,
    "images": _images,
    "replacements": _replacements,
}
