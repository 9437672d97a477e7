"""Whatever 1.30 accepts migrates to what is accepted now, or is reported; nothing raises, whatever the input is."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from classic.migration.mapping import Mappings, built_in
from classic.migration.migration import Migration, migrated_text
from classic.migration.remarks import ERROR
from documents import Document, parse
from resourceapi.measured import NEWEST
from resourceapi.releases import CLASSIC, Profile
from validation.requests import create_request
from validation.server import Server

API = "resource.k8s.io/v1alpha2"
NAMES = ("gpu", "a.b", "two-gigabytes", "x" * 63)
DRIVERS = ("gpu.example.com", "gpu.resource.nvidia.com", "GPU.example.org")
SELECTORS = (
    "true",
    'attributes.int["cores"] > 4',
    'attributes.string.all(n, n != "")',
    'attributes.bool["a-b"] && "x" in attributes.version',
    'attributes.intslice["numa"].size() > 0',
)
VENDOR: tuple[Any, ...] = ({"kind": "X", "apiVersion": "x/v1"}, {"a": [1, None, {"b": "c"}]}, None)


class _Source(random.Random):
    """Values, of which some are missing and a few are wrong."""

    def __init__(self, seed: int, wrong: float) -> None:
        super().__init__(seed)
        self.wrong = wrong

    def object(self, **members: Any) -> Any:
        """Some of the members."""
        kept = {name: self.spoilt(value) for name, value in members.items() if self.random() < 0.9}
        return {name: value for name, value in kept.items() if value is not ...}

    def spoilt(self, value: Any) -> Any:
        if self.random() >= self.wrong:
            return value
        return self.choice([None, 7, "x", [], {}, [None], {"a": 1}, True, "", 1.5, ["x", {}], "é\n"])


def _parameters_reference(source: _Source) -> Any:
    return source.choice(
        [
            source.object(apiGroup="gpu.example.com", kind="GPURequirements", name="two-gigabytes"),
            source.object(apiGroup="gpu.resource.nvidia.com", kind="GpuClaimParameters", name="gpu"),
            source.object(apiGroup="resource.k8s.io", kind="ResourceClaimParameters", name="gpu"),
            source.object(apiGroup="resource.k8s.io", kind="ResourceClassParameters", name="gpu"),
            ...,
        ]
    )


def _claim_spec(source: _Source) -> Any:
    return source.object(
        resourceClassName=source.choice(NAMES),
        parametersRef=_parameters_reference(source),
        allocationMode=source.choice(["Immediate", "WaitForFirstConsumer", ...]),
    )


def _requests(source: _Source) -> Any:
    model = source.object(selector=source.choice(SELECTORS))
    return [
        source.object(namedResources=model, vendorParameters=source.choice(VENDOR))
        for _ in range(source.randint(0, 3))
    ]


def _attribute(source: _Source, number: int) -> Any:
    name = source.choice(["a", "b-c", "d.e", f"f{number}"])
    value: dict[str, Any] = source.choice(
        [
            {"int": 1},
            {"bool": False},
            {"string": "x" * source.choice([1, 64, 65])},
            {"version": "1.2.3"},
            {"quantity": "2Gi"},
            {"intSlice": {"ints": [1]}},
            {"stringSlice": {"strings": []}},
        ]
    )
    return source.object(name=name, **value)


def _object(source: _Source, kind: str) -> dict[str, Any]:
    metadata = source.object(name=source.choice(NAMES), labels=source.choice([{"a": "b"}, ...]))
    members: dict[str, Any] = {}
    if kind == "ResourceClass":
        members = source.object(
            driverName=source.choice(DRIVERS),
            parametersRef=_parameters_reference(source),
            structuredParameters=source.choice([True, False, ...]),
            suitableNodes=source.choice([..., {"nodeSelectorTerms": [{"matchFields": []}]}]),
        )
    elif kind == "ResourceClaim":
        members = source.object(spec=_claim_spec(source), status=source.choice([..., {}]))
    elif kind == "ResourceClaimTemplate":
        members = source.object(spec=source.object(spec=_claim_spec(source), metadata={}))
    elif kind == "ResourceClaimParameters":
        requests = source.object(
            driverName=source.choice(DRIVERS),
            vendorParameters=source.choice(VENDOR),
            requests=_requests(source),
        )
        members = source.object(shareable=True, driverRequests=[requests])
    elif kind == "ResourceClassParameters":
        entry = source.object(
            driverName=source.choice(DRIVERS), namedResources={"selector": source.choice(SELECTORS)}
        )
        vendor = source.object(driverName=source.choice(DRIVERS), parameters=source.choice(VENDOR))
        members = source.object(filters=[entry], vendorParameters=[vendor])
    elif kind == "ResourceSlice":
        instances = [
            source.object(
                name=f"gpu.{number}", attributes=[_attribute(source, i) for i in range(source.randint(0, 5))]
            )
            for number in range(source.randint(0, 4))
        ]
        members = source.object(
            nodeName=source.choice(["node-a", ...]),
            driverName=source.choice(DRIVERS),
            namedResources=source.object(instances=instances),
        )
    return {"apiVersion": API, "kind": kind, "metadata": metadata, **members}


KINDS = (
    "ResourceClass",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceClaimParameters",
    "ResourceClassParameters",
    "ResourceSlice",
    "PodSchedulingContext",
)
PARAMETERS: list[dict[str, Any]] = [
    {
        "apiVersion": "gpu.example.com/v1",
        "kind": "GPURequirements",
        "metadata": {"name": "two-gigabytes"},
        "memory": "2Gi",
    },
    {
        "apiVersion": "gpu.resource.nvidia.com/v1alpha1",
        "kind": "GpuClaimParameters",
        "metadata": {"name": "gpu"},
        "spec": {"count": 2, "selector": {"productName": "*a*"}},
    },
]


@pytest.fixture(scope="module")
def mappings() -> Mappings:
    return built_in()


def _migrated(objects: list[dict[str, Any]], mappings: Mappings) -> tuple[Migration, list[Document], str]:
    text = "\n".join(json.dumps(each) for each in objects)
    documents = [each for each in parse(text, "objects.json") if isinstance(each, Document)]
    assert len(documents) == len(objects)
    migration = Migration(documents, mappings, "default")
    return migration, documents, migrated_text(documents[0].source, migration.changes)


@pytest.mark.parametrize("seed", range(60))
def test_what_1_30_accepts(seed: int, mappings: Mappings) -> None:
    """It becomes an object that the newest release accepts, it is left out, or it is an error; but it never stays unsaid."""
    source = _Source(seed, wrong=0.01)
    then, now = Server(Profile(CLASSIC)), Server(Profile(f"1.{NEWEST}"))
    objects = [_object(source, source.choice(KINDS)) for _ in range(20)]
    objects = [each for each in objects if then.handle(create_request(each, "default")).accepted]
    migration, documents, text = _migrated([*objects, *PARAMETERS], mappings)
    changed = {id(change.document) for change in migration.changes}
    refused = {id(remark.document) for remark in migration.remarks if remark.severity == ERROR}
    for document in documents[: len(objects)]:
        assert (id(document) in changed) != (id(document) in refused)
    for change in migration.changes:
        if change.value is not None:
            assert now.handle(create_request(change.value, "default")).accepted
    expected = [each.value for each in migration.changes if each.value is not None]
    found = [each.value for each in parse(text, "migrated") if isinstance(each, Document)]
    assert all(value in found for value in expected)


@pytest.mark.parametrize("seed", range(60))
def test_what_nobody_accepts(seed: int, mappings: Mappings) -> None:
    """It is reported as well, and what becomes of the rest is accepted."""
    source = _Source(seed, wrong=0.2)
    now = Server(Profile(f"1.{NEWEST}"))
    objects = [source.spoilt(_object(source, source.choice(KINDS))) for _ in range(20)]
    objects = [each for each in objects if isinstance(each, dict)]
    parameters = [{**each, "spec": source.spoilt(each.get("spec"))} for each in PARAMETERS]
    migration, _, _ = _migrated([*objects, *parameters], mappings)
    for change in migration.changes:
        if change.value is not None:
            assert now.handle(create_request(change.value, "default")).accepted
