"""Good objects with one mistake each, of the kinds that hints have a change for."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from advice.hints.hint import changed
from resourceapi.manifests import MISSING
from tests.case_files import read_yaml

FIXTURES = Path(__file__).parents[2] / "validation" / "fixtures"
CREATED = ("claim", "class", "slice", "slice-counters", "template", "taintrule", "poolstatus")
Change = tuple[tuple[Any, ...], Any]


def good_objects() -> Iterator[dict[str, Any]]:
    """The fixtures that can be created, pods, and a workload."""
    for path in sorted(FIXTURES.glob("*.yaml")):
        if path.name.partition(".")[0] in CREATED:
            yield read_yaml(path)
    pod = {
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu-template"}],
        "containers": [{"name": "app", "image": "app", "resources": {"claims": [{"name": "gpu"}]}}],
    }
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": pod}
    labels = {"app": "a"}
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "app"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def broken_objects(objects: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each of the objects with each mistake that it can have."""
    for good in objects:
        for path, value in _parts(good, ()):
            for breakage in BREAKAGES:
                changes = breakage(path, value)
                if changes:
                    yield changed(copy.deepcopy(good), changes)


def _parts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if path:
        yield path, value
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _parts(part, (*path, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _parts(part, (*path, index))


def _renamed(path: tuple[Any, ...], value: Any, name: str) -> list[Change]:
    return [(path, MISSING), ((*path[:-1], name), value)]


def letter_missing(path: tuple[Any, ...], value: Any) -> list[Change]:
    key = path[-1]
    if not isinstance(key, str) or len(key) < 7 or "." in key or "attributes" in path or "labels" in path:
        return []
    return _renamed(path, value, key[:4] + key[5:])


def other_case(path: tuple[Any, ...], value: Any) -> list[Change]:
    key = path[-1]
    if not isinstance(key, str) or key.lower() == key or "attributes" in path[:-1]:
        return []
    return _renamed(path, value, key.lower())


def quoted(path: tuple[Any, ...], value: Any) -> list[Change]:
    if isinstance(value, bool):
        return [(path, str(value).lower())]
    return [(path, str(value))] if isinstance(value, int) else []


def unquoted(path: tuple[Any, ...], value: Any) -> list[Change]:
    return [(path, 12)] if path[-1] == "string" and isinstance(value, str) else []


def in_a_list(path: tuple[Any, ...], value: Any) -> list[Change]:
    return (
        [(path, [value])]
        if isinstance(value, dict) and path[-1] in ("exactly", "pool", "spec", "devices")
        else []
    )


def without_its_list(path: tuple[Any, ...], value: Any) -> list[Change]:
    one = isinstance(value, list) and len(value) == 1
    return [(path, value[0])] if one else []


def flat(path: tuple[Any, ...], value: Any) -> list[Change]:
    """`exactly` or `basic` left out, and `cel`, and the type of an attribute or the `value` of a capacity."""
    if path[-1] in ("exactly", "basic") and isinstance(value, dict):
        return [(path, MISSING), *(((*path[:-1], key), part) for key, part in value.items())]
    if path[-1] == "cel":
        return [(path, MISSING), ((*path[:-1], "expression"), value["expression"])]
    if path[-1] == "expression" and path[-2] == "cel":
        return [(path[:-1], value)]
    if path[-1] in ("string", "int", "bool", "value") and len(path) > 1 and isinstance(path[-2], str):
        return [(path[:-1], value)]
    return []


def wrapped(path: tuple[Any, ...], value: Any) -> list[Change]:
    """A request or device in the shape of another version or of a draft."""
    if len(path) < 2 or not isinstance(path[-1], int) or not isinstance(value, dict):
        return []
    name = {"name": value.get("name")}
    if path[-2] == "requests":
        if "exactly" in value:
            return [(path, {**name, "device": value["exactly"]})]
        if "deviceClassName" in value:
            return [(path, {**name, "exactly": {k: v for k, v in value.items() if k != "name"}})]
    if path[-2] == "firstAvailable":
        return [(path, {**name, "exactly": {k: v for k, v in value.items() if k != "name"}})]
    if path[-2] == "devices" and "basic" not in value:
        return [(path, {**name, "basic": {k: v for k, v in value.items() if k != "name"}})]
    if path[-2] == "resourceClaims":
        return [(path, {**name, "source": {k: v for k, v in value.items() if k != "name"}})]
    return []


def other_key_for_an_expression(path: tuple[Any, ...], value: Any) -> list[Change]:
    return (
        _renamed(path, [value], "matchExpressions") if path[-1] == "expression" and path[-2] == "cel" else []
    )


def capital_in_a_name(path: tuple[Any, ...], value: Any) -> list[Change]:
    if path[-1] not in ("deviceClassName", "nodeName", "driver") and path != ("metadata", "name"):
        return []
    return [(path, f"{value}_A")] if isinstance(value, str) else []


def outside_of_metadata(path: tuple[Any, ...], value: Any) -> list[Change]:
    return (
        [(path, MISSING), ((path[-1],), value)] if path[:-1] == ("metadata",) and path[-1] != "name" else []
    )


def one_level_up(path: tuple[Any, ...], value: Any) -> list[Change]:
    """A key beside the mapping that it belongs into."""
    if path[-1] not in ("constraints", "config", "pool", "selectors", "claims") or isinstance(path[-2], int):
        return []
    return [(path, MISSING), ((*path[:-2], path[-1]), value)]


def former_version(path: tuple[Any, ...], value: Any) -> list[Change]:
    return [(path, "resource.k8s.io/v1alpha3")] if value == "resource.k8s.io/v1beta1" else []


def version_that_never_was(path: tuple[Any, ...], value: Any) -> list[Change]:
    return [(path, "resource.k8s.io/v7")] if value == "resource.k8s.io/v1" else []


def other_group(path: tuple[Any, ...], value: Any) -> list[Change]:
    if path != ("apiVersion",):
        return []
    return [(path, "resources.k8s.io/v1" if value == "resource.k8s.io/v1" else "resource.k8s.io/v1")]


def without_version(path: tuple[Any, ...], value: Any) -> list[Change]:
    return (
        [(path, MISSING)]
        if path == ("apiVersion",) and value in ("resource.k8s.io/v1", "v1", "apps/v1")
        else []
    )


def misspelt_kind(path: tuple[Any, ...], value: Any) -> list[Change]:
    return (
        [(path, value[:-2] + value[-1])] if path == ("kind",) and value not in ("Pod", "Deployment") else []
    )


BREAKAGES: tuple[Callable[[tuple[Any, ...], Any], list[Change]], ...] = (
    letter_missing,
    other_case,
    quoted,
    unquoted,
    in_a_list,
    without_its_list,
    flat,
    wrapped,
    other_key_for_an_expression,
    capital_in_a_name,
    outside_of_metadata,
    one_level_up,
    former_version,
    version_that_never_was,
    other_group,
    without_version,
    misspelt_kind,
)
