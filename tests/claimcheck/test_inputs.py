"""What callers hand over: dictionaries, texts, paths, and models of the package ``kubernetes``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest

from claimcheck.inputs import manifests_in, plain, values_in
from documents.tree import MAX_DEPTH, MAX_VALUES
from resourceapi.errors import Unanswerable
from resourceapi.releases import Profile

PROFILE = Profile()
CLAIM = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a"}}
OTHER = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}
TEXT = "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: a}}\n"


class OldModel:
    """A model as generators before version 37 of ``kubernetes`` made it: no base class, all in attributes."""

    openapi_types: ClassVar = {
        "api_version": "str",
        "kind": "str",
        "metadata": "object",
        "created_at": "datetime",
    }
    attribute_map: ClassVar = {
        "api_version": "apiVersion",
        "kind": "kind",
        "metadata": "metadata",
        "created_at": "createdAt",
    }

    def __init__(self, **fields: Any) -> None:
        for name in self.openapi_types:
            setattr(self, "_" + name, fields.get(name))

    def __getattr__(self, name: str) -> Any:
        if name in self.openapi_types:
            return self.__dict__["_" + name]
        raise AttributeError(name)


class V1beta1ResourceClaim(OldModel):
    """Says by its name what it is."""


def _generated() -> Iterator[dict[str, Any]]:
    yield CLAIM
    yield OTHER


@pytest.fixture(scope="module")
def client() -> Any:
    """The official client, whose hundreds of modules only the processes load that run these tests."""
    return import_module("kubernetes.client")


GOOD: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "mapping": (CLAIM, [CLAIM]),
    "other mapping": (OrderedDict(CLAIM), [CLAIM]),
    "list": ([CLAIM, OTHER], [CLAIM, OTHER]),
    "generator": (_generated(), [CLAIM, OTHER]),
    "text": (TEXT, [CLAIM]),
    "bytes": (TEXT.encode(), [CLAIM]),
    "several documents": (TEXT + "---\n" + TEXT, [CLAIM, CLAIM]),
    "mixed": ([TEXT, OTHER], [CLAIM, OTHER]),
    "nothing": ([], []),
    "List": ({"apiVersion": "v1", "kind": "List", "items": [CLAIM, OTHER]}, [CLAIM, OTHER]),
    "items without kind": (
        {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "b"}}]},
        [OTHER],
    ),
    "old model": (
        V1beta1ResourceClaim(metadata={"name": "a"}, created_at=datetime(2026, 1, 2, tzinfo=UTC)),
        [{**CLAIM, "apiVersion": "resource.k8s.io/v1beta1", "createdAt": "2026-01-02T00:00:00Z"}],
    ),
    "old model of another kind": (OldModel(kind="X"), [{"kind": "X"}]),
}


MODELS: dict[str, tuple[Callable[[Any], Any], list[dict[str, Any]]]] = {
    "model": (lambda client: client.V1Pod(metadata=client.V1ObjectMeta(name="b")), [OTHER]),
    "model of the group": (
        lambda client: client.ResourceV1ResourceClaim(
            metadata=client.V1ObjectMeta(name="a"), spec=client.V1ResourceClaimSpec()
        ),
        [{**CLAIM, "spec": {}}],
    ),
    "model that says its kind": (
        lambda client: client.V1Pod(api_version="v1", kind="Pod", metadata=client.V1ObjectMeta(name="b")),
        [OTHER],
    ),
    "model of a list": (
        lambda client: client.V1PodList(items=[client.V1Pod(metadata=client.V1ObjectMeta(name="b"))]),
        [OTHER],
    ),
}


@pytest.mark.parametrize("case", MODELS)
def test_models_of_the_client(case: str, client: Any) -> None:
    make, expected = MODELS[case]
    assert [each.value for each in values_in(make(client), PROFILE)] == expected


@pytest.mark.parametrize("case", GOOD)
def test_what_is_understood(case: str) -> None:
    given, expected = GOOD[case]
    assert [each.value for each in values_in(given, PROFILE)] == expected


def test_camel_case_names_of_models(client: Any) -> None:
    """The names of attributes become those of the API, at every depth; what is not set is left out."""
    container = client.V1Container(name="c", image_pull_policy="Always")
    pod = client.V1Pod(
        spec=client.V1PodSpec(containers=[container], node_name="n", node_selector={"a_b": "c"})
    )
    assert plain(pod) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {
            "containers": [{"name": "c", "imagePullPolicy": "Always"}],
            "nodeName": "n",
            "nodeSelector": {"a_b": "c"},
        },
    }


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TEXT)
    (tmp_path / "b.json").write_text('{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}')
    assert [each.value for each in values_in(tmp_path, PROFILE)] == [CLAIM, OTHER]
    assert [each.value for each in values_in([tmp_path / "b.json"], PROFILE)] == [OTHER]


class Color(Enum):
    RED = "red"


PLAIN: dict[str, tuple[Any, Any]] = {
    "enum": (Color.RED, "red"),
    "decimal": (Decimal("1.50"), "1.50"),
    "tuple": ((1, 2.5, None, True), [1, 2.5, None, True]),
    "null stays": ({"a": None}, {"a": None}),
}


@pytest.mark.parametrize("case", PLAIN)
def test_plain_values(case: str) -> None:
    given, expected = PLAIN[case]
    assert plain(given) == expected


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


_CYCLE: list[Any] = []
_CYCLE.append(_CYCLE)
REFUSED: dict[str, tuple[Any, str]] = {
    "no object": (7, "expected an object or several, found int"),
    "number in a list": ([CLAIM, 7], "object 2: expected a mapping, found int"),
    "set": ({"a": {1}}, "object: set is nothing that JSON has"),
    "key": ({"a": {1: 2}}, "object: a key is int, expected a string"),
    "not a number": ({"a": float("nan")}, "object: nan is no number in JSON"),
    "cycle": ({"a": _CYCLE}, f"object: more than {MAX_DEPTH} levels"),
    "depth": ({"a": _nested(MAX_DEPTH)}, f"object: more than {MAX_DEPTH} levels"),
    "values": ({"a": [0] * MAX_VALUES}, f"object: more than {MAX_VALUES:,} values"),
    "digits": ({"a": 10**500}, "object: a number of more than 400 digits"),
    "characters": ({"a": ["x" * (1 << 20)] * 33}, "object: larger than 32 MiB"),
    "text": ("x" * (33 << 20), "text: larger than 32 MiB"),
    "no YAML": ("a: [", "text:1: "),
    "missing file": (Path("/no/where.yaml"), "/no/where.yaml: no such file or directory"),
    "item": ({"kind": "List", "items": [3]}, "every item of a List must be an object"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    given, message = REFUSED[case]
    with pytest.raises(Unanswerable) as refused:
        list(values_in(given, PROFILE))
    assert str(refused.value).startswith(message)


def test_just_within_the_bounds() -> None:
    """What is refused above is taken with one less."""
    assert plain({"a": _nested(MAX_DEPTH - 1)}) == {"a": _nested(MAX_DEPTH - 1)}
    assert len(plain({"a": [0] * (MAX_VALUES - 2)})["a"]) == MAX_VALUES - 2


def test_what_was_handed_over_is_copied() -> None:
    """Nothing that callers change afterwards changes an answer, and no answer changes what is theirs."""
    given = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}}
    (found,) = values_in(given, PROFILE)
    found.value["metadata"]["labels"]["a"] = "c"
    assert given["metadata"] == {"labels": {"a": "b"}}


def test_what_cannot_be_read_of_a_text_comes_in_its_place() -> None:
    found = list(manifests_in(TEXT + "---\na: [\n---\n" + TEXT, PROFILE))
    assert [type(each).__name__ for each in found] == ["Document", "Result", "Document"]
