"""The CustomResourceDefinitions follow from the API model, and the API server takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from docs.tools.crds import files
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.releases import MODERN_RELEASES, Profile
from resourceapi.schema import Schema
from webhook.crds import CRD_VERSIONS, definitions, own_definitions

DEFINITIONS = {
    document["spec"]["names"]["kind"]: document for document in definitions(service="s", namespace="n")
}


def _versions(kind: str) -> dict[str, dict[str, Any]]:
    return {version["name"]: version for version in DEFINITIONS[kind]["spec"]["versions"]}


def _at(kind: str, version: str, *path: str) -> dict[str, Any]:
    node = _versions(kind)[version]["schema"]["openAPIV3Schema"]
    for name in path:
        node = node["items"] if name == "[]" else node["properties"][name]
    return dict(node)


def test_files_are_up_to_date() -> None:
    """`make docs` has been run since the model changed."""
    for path, text in files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is out of date: run `make docs`"


@pytest.mark.parametrize("kind", KINDS)
def test_every_stable_and_beta_version_is_served_and_the_newest_is_stored(kind: str) -> None:
    """As kube-apiserver serves them; older alphas are not brought back, but for a kind that has nothing else."""
    versions = _versions(kind)
    wanted = [version for version in CRD_VERSIONS if version in KINDS[kind].versions]
    assert list(versions) == (wanted or ["v1alpha3"])
    newest = next(iter(versions))
    assert [name for name, version in versions.items() if version["storage"]] == [newest]
    assert ("status" in _at(kind, newest)["properties"]) == ("subresources" in versions[newest])


def _names(schema: Schema, struct: str, path: str = "") -> Iterator[str]:
    """The paths of all fields of a struct, those inside of them included."""
    for field in schema[struct].fields:
        of, at = field.type, path if field.inline else f"{path}.{field.name}"
        if not field.inline:
            yield at
        while of.element is not None:
            of, at = of.element, f"{at}[]"
        if of.struct:
            yield from _names(schema, of.struct, at)


def _properties(node: dict[str, Any], path: str = "") -> Iterator[str]:
    """The same of a schema of a definition."""
    for name, inner in node.get("properties", {}).items():
        at = f"{path}.{name}"
        yield at
        while element := inner.get("items") or inner.get("additionalProperties"):
            inner, at = element, f"{at}[]"
        yield from _properties(inner, at)


_SELECTED_UP_TO_1_34 = ("deviceClassName", "selectors", "selectors[].cel", "selectors[].cel.expression")


@pytest.mark.parametrize(
    ("kind", "version"), [(kind, version) for kind in KINDS for version in _versions(kind)]
)
@pytest.mark.parametrize("release", MODERN_RELEASES)
def test_no_field_is_pruned_that_a_release_serves(kind: str, version: str, release: str) -> None:
    """The API server drops what a definition does not name, before webhooks see it: it must name all of the model."""
    profile = Profile(release)
    if not KINDS[kind].can_be_served_by(version, profile):
        return
    served = set(_names(profile.schemas[version], kind))
    own = {name for name in served if name.startswith(".metadata.")}
    # what 1.36 alone has, in its alpha stage, no definition has
    own |= {name for name in served if "nodeAllocatableResourceMappings" in name}
    own |= {f".spec.deviceSelector.{name}" for name in _SELECTED_UP_TO_1_34}
    assert served - own <= set(_properties(_at(kind, version)))


def test_a_kind_of_ours_is_the_same_in_both_groups() -> None:
    """Where it needs neither the approval of Kubernetes nor a webhook that converts it: it has one version."""
    (own,) = own_definitions()
    other = DEFINITIONS[own["spec"]["names"]["kind"]]
    assert own["metadata"] == {"name": f"resourceslicepatches.{OWN_GROUP}"}
    assert own["spec"]["versions"] == other["spec"]["versions"]
    assert {**own["spec"], "group": GROUP, "conversion": {}} == {**other["spec"], "conversion": {}}
    assert own["spec"]["conversion"] == {"strategy": "None"}


def test_versions_have_their_own_shapes() -> None:
    """v1beta1 has flat requests and basic devices."""
    requests = ("spec", "devices", "requests", "[]")
    assert "exactly" in _at("ResourceClaim", "v1", *requests)["properties"]
    assert "deviceClassName" in _at("ResourceClaim", "v1beta1", *requests)["properties"]
    assert "exactly" not in _at("ResourceClaim", "v1beta1", *requests)["properties"]
    assert list(_at("ResourceSlice", "v1beta1", "spec", "devices", "[]")["properties"]) == ["name", "basic"]


def test_values_have_the_types_of_the_api() -> None:
    """Quantities are texts or numbers, opaque parameters are anything, integers have 64 bits."""
    exactly = ("spec", "devices", "requests", "[]", "exactly")
    assert _at("ResourceClaim", "v1", *exactly, "count") == {
        "type": "integer",
        "format": "int64",
        "nullable": True,
    }
    amounts = _at("ResourceClaim", "v1", *exactly, "capacity", "requests")["additionalProperties"]
    parameters = _at("DeviceClass", "v1", "spec", "config", "[]", "opaque", "parameters")
    assert amounts == parameters == {"x-kubernetes-preserve-unknown-fields": True, "nullable": True}


def test_null_is_a_value() -> None:
    """What is null comes to the webhooks, as it comes to the built-in rules, but where API servers forbid that."""
    assert _at("ResourceClaim", "v1", "spec", "devices", "requests")["nullable"]
    assert _at("ResourceClaim", "v1", "spec", "devices", "requests", "[]")["nullable"]
    assert "nullable" not in _at("ResourceClaim", "v1", "status", "reservedFor", "[]")
    assert "nullable" not in _at("ResourceClaim", "v1", "status", "reservedFor", "[]", "uid")


def test_status_is_always_there() -> None:
    """A status that nobody has written is returned as an empty one, unless the built-in API has none either."""
    assert _at("ResourceClaim", "v1beta1", "status")["default"] == {}
    assert "default" not in _at("ResourcePoolStatusRequest", "v1alpha3", "status")


def test_lists_are_merged_as_the_built_in_ones_are() -> None:
    """Reservations by uid, conditions by type, devices by what names them; the real server is asked about the others."""
    reserved = _at("ResourceClaim", "v1", "status", "reservedFor")
    assert reserved["x-kubernetes-list-map-keys"] == ["uid"]
    assert reserved["items"]["properties"]["uid"]["default"] == ""
    for version in CRD_VERSIONS:
        devices = _at("ResourceClaim", version, "status", "devices")
        assert devices["x-kubernetes-list-map-keys"] == ["driver", "device", "pool", "shareID"]
        assert devices["items"]["properties"]["shareID"] == {"type": "string", "default": ""}
    assert _at("ResourceClaim", "v1", "spec", "devices", "requests")["x-kubernetes-list-type"] == "atomic"


def test_old_versions_are_deprecated() -> None:
    """In the built-in server's words, whose warnings kubectl prints."""
    said = {name: version.get("deprecationWarning") for name, version in _versions("ResourceClaim").items()}
    assert said == {
        "v1": None,
        "v1beta2": "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+",
        "v1beta1": "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+",
    }
    assert all("deprecated" not in version for version in _versions("DeviceTaintRule").values())


def test_slices_can_be_selected_in_every_version() -> None:
    """By the same fields, in another order each, since API servers refuse lists that are the same in all versions."""
    lists = [
        [field["jsonPath"] for field in version["selectableFields"]]
        for version in _versions("ResourceSlice").values()
    ]
    assert {frozenset(fields) for fields in lists} == {
        frozenset((".spec.driver", ".spec.nodeName", ".spec.pool.name"))
    }
    assert len({tuple(fields) for fields in lists}) == len(lists) == 3
