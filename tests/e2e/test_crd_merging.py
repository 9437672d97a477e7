"""Several who write to one object served by a CRD get along as they do where the group is built in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from resourceapi.kinds import KINDS
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from tests.e2e.client import Answer, Client
from tests.e2e.control_plane import ApiServer
from tests.e2e.custom_resources import GROUP, Served, served_by_crds
from webhook.crds import definitions, struct_schema

PROFILE = "1.37-all"
HOME = "default"
SHARE = "3f2504e0-4f89-41d3-9a0c-0305e82c330"
CLAIMS = f"/apis/{GROUP}/v1/namespaces/{HOME}/resourceclaims"
SERVED = [
    pytest.param(kind, version["name"], version["schema"]["openAPIV3Schema"], id=f"{kind}-{version['name']}")
    for definition in definitions()
    for kind in [definition["spec"]["names"]["kind"]]
    if not KINDS[kind].proposed  # no server has those
    for version in definition["spec"]["versions"]
]
MERGING = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served_by_crds(tmp_path_factory.mktemp("crds"), {}) as served:
        yield served


@pytest.mark.parametrize(("kind", "version", "ours"), SERVED)
def test_every_list_and_map_merges_as_built_in(
    api_server: Callable[[str], ApiServer], kind: str, version: str, ours: Object
) -> None:
    """What the server's own OpenAPI says of each of them, by its path; metadata is the server's in both."""
    documents = api_server(PROFILE).client.ask("GET", f"/openapi/v3/apis/{GROUP}/{version}").body
    schemas = documents["components"]["schemas"]
    theirs = schemas[f"io.k8s.api.resource.{version}.{kind}"]
    wanted = dict(_merging(theirs, schemas, ()))
    # of fields that only proposals have no server can tell
    released = dict(_merging(struct_schema(SCHEMAS[version], kind), {}, ()))
    found = dict(_merging(ours, {}, ()))
    assert {path: found[path] for path in released} == wanted
    assert wanted or kind == "DeviceTaintRule"


def _merging(
    schema: Object, schemas: Object, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Object]]:
    schema = _resolved(schema, schemas)
    said = {name: schema[name] for name in MERGING if name in schema}
    if schema.get("type") == "array" or "x-kubernetes-map-type" in said:
        yield path, said
    for name, field in schema.get("properties", {}).items():
        if name != "metadata":
            yield from _merging(field, schemas, (*path, name))
    if "items" in schema:
        yield from _merging(schema["items"], schemas, (*path, "[]"))
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _merging(schema["additionalProperties"], schemas, (*path, "{}"))


def _resolved(schema: Object, schemas: Object) -> Object:
    """The schema with what it refers to."""
    own = {name: value for name, value in schema.items() if name not in ("$ref", "allOf")}
    references = [schema["$ref"]] if "$ref" in schema else [each["$ref"] for each in schema.get("allOf", ())]
    for reference in references:
        own = {**_resolved(schemas[reference.rpartition("/")[2]], schemas), **own}
    return own


def test_drivers_report_their_devices_beside_each_other(
    served: Served, api_server: Callable[[str], ApiServer]
) -> None:
    """Drivers, and shares of one device, have entries of their own, in any version; a conflict is about one field."""
    told = [_report(server.client) for server in (api_server(PROFILE), served.server)]
    built_in, ours = told
    assert ours == built_in
    assert [len(entries) for _, entries in built_in if entries] == [1, 2, 3, 4, 4, 3]


def _report(client: Client) -> list[tuple[int, list[Object]]]:
    """What several managers get when they apply to the status of a claim, one after the other."""
    requests = [{"name": name, "exactly": {"deviceClassName": "x"}} for name in ("a", "b")]
    metadata = {"name": "reported"}
    claim = {"apiVersion": f"{GROUP}/v1", "kind": "ResourceClaim", "metadata": metadata}
    created = client.ask("POST", CLAIMS, {**claim, "spec": {"devices": {"requests": requests}}})
    assert created.code == 201, created.body
    results = [
        {"request": "a", "driver": "a.example.com", "pool": "p", "device": "d"},
        {"request": "b", "driver": "b.example.com", "pool": "p", "device": "d"},
        *(
            {"request": "b", "driver": "b.example.com", "pool": "p", "device": "s", "shareID": SHARE + digit}
            for digit in "12"
        ),
    ]
    body = {**created.body, "status": {"allocation": {"devices": {"results": results}}}}
    assert client.ask("PUT", f"{CLAIMS}/reported/status", body).code == 200
    first = _apply(client, "a", "v1", driver="a.example.com", networkData={"ips": ["10.0.0.1/8"]})
    second = _apply(client, "b", "v1", driver="b.example.com", data={"x": 1})
    share = _apply(client, "c", "v1", driver="b.example.com", device="s", shareID=SHARE + "1")
    other = _apply(client, "d", "v1beta1", driver="b.example.com", device="s", shareID=SHARE + "2")
    again = _apply(client, "a", "v1beta2", driver="a.example.com", networkData={"ips": ["10.0.0.2/8"]})
    conflict = _apply(client, "e", "v1", driver="a.example.com", networkData={"ips": ["10.0.0.3/8"]})
    assert conflict.code == 409
    assert "networkData.ips" in conflict.body["message"]
    gone = _apply(client, "b", "v1")
    answers = (first, second, share, other, again, gone, conflict)
    return [(each.code, _entries(each)) for each in answers]


def _apply(client: Client, manager: str, version: str, **entry: Any) -> Answer:
    devices = [{"pool": "p", "device": "d", **entry}] if entry else []
    patch = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "reported", "namespace": HOME},
        "status": {"devices": devices},
    }
    path = CLAIMS.replace("/v1/", f"/{version}/") + "/reported/status"
    return client.ask(
        "PATCH", path, patch, {"fieldManager": manager}, content_type="application/apply-patch+yaml"
    )


def _entries(answer: Answer) -> list[Object]:
    """The devices in a status; that no share is an empty one is a known difference."""
    if answer.code != 200:
        return []
    return [
        {name: value for name, value in entry.items() if (name, value) != ("shareID", "")}
        for entry in answer.body["status"]["devices"]
    ]


@pytest.mark.parametrize("version", KINDS["ResourceSlice"].versions)
def test_slices_are_selected_by_fields_in_every_version(served: Served, version: str) -> None:
    """As drivers and kubelets ask for their own."""
    client = served.server.client
    for name in ("one", "two"):
        spec = {
            "driver": f"{name}.example.com",
            "nodeName": f"node-{name}",
            "pool": {"name": f"pool-{name}", "generation": 1, "resourceSliceCount": 1},
        }
        metadata = {"name": f"{version}-{name}"}
        slice_ = {"apiVersion": f"{GROUP}/v1", "kind": "ResourceSlice", "metadata": metadata, "spec": spec}
        assert client.ask("POST", f"/apis/{GROUP}/v1/resourceslices", slice_).code == 201
    fields = ("spec.driver=two.example.com", "spec.nodeName=node-two", "spec.pool.name=pool-two")
    for selector in (*fields, ",".join(fields)):
        answer = client.ask(
            "GET", f"/apis/{GROUP}/{version}/resourceslices", query={"fieldSelector": selector}
        )
        assert answer.code == 200, answer.body
        names = [item["metadata"]["name"] for item in answer.body["items"]]
        assert f"{version}-two" in names
        assert not [name for name in names if name.endswith("-one")]
