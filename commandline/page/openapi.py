"""The OpenAPI document of ``/api/v1/``, made of the records that its paths answer with."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union

from commandline.distribution import version
from commandline.page import records

Json = dict[str, Any]
_SIMPLE: Mapping[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
}


class Path(NamedTuple):
    """What can be asked at a path.

    :param record: the answer; a report stands for what a command writes.
    :param asked: the parameters, of a POST the members of the body, that are needed.
    :param may_ask: those that are not.
    """

    summary: str
    record: Any
    asked: Sequence[str] = ()
    may_ask: Sequence[str] = ()
    is_posted: bool = False


#: What can be asked about, and what it is that changes before that.
_WORKLOAD = ("kind", "namespace", "name", "text", "deviceClass", "count")
_CHANGE = ("applied", "cordon", "like", "nodes")

PATHS = {
    "cluster": Path("the cluster in figures", records.Cluster),
    "doctor": Path("as claimcheck doctor -o json", records.Report),
    "explain": Path("a pod that waits, as claimcheck explain -o json", records.Report, ("namespace", "name")),
    "remedy": Path("a remedy of it, tried", records.Tried, ("namespace", "name", "number")),
    "map": Path("all devices", records.DeviceMap),
    "node": Path("a node and its devices", records.Node, ("name",)),
    "device": Path("a device as in claimcheck devices -o json", records.Report, ("driver", "pool", "device")),
    "pools": Path("all pools", records.Pools),
    "pool": Path("a pool with its checks", records.Pool, ("driver", "pool")),
    "partitions": Path("how its devices share counters", records.Partitioned, ("driver", "pool")),
    "beside": Path(
        "which of its devices cannot be in use beside some",
        records.Beside,
        ("driver", "pool", "devices"),
        is_posted=True,
    ),
    "capacity": Path("how much is free", records.Capacity),
    "capacity.csv": Path("the same as a table", records.Text),
    "openapi.json": Path("this document", records.Report),
    "select": Path("what a selector chooses", records.Selected, ("expression",), is_posted=True),
    "room": Path(
        "how many more like an object, or a text, or of a class, fit, as it is or after a change",
        records.Room,
        (),
        (*_WORKLOAD, *_CHANGE),
        is_posted=True,
    ),
    "changed-capacity": Path(
        "how much is free after a change", records.ChangedCapacity, (), _CHANGE, is_posted=True
    ),
    "new-nodes": Path(
        "which new nodes a number of them need",
        records.NewNodes,
        ("copies",),
        (*_WORKLOAD, "template"),
        is_posted=True,
    ),
    "validate": Path("what a server would answer to a text", records.Validated, ("text",), is_posted=True),
    "fix": Path("a text without mistakes", records.Text, ("text",), ("finding",), is_posted=True),
    "explain-text": Path(
        "a text explained, as claimcheck explain -f -o json", records.Report, ("text",), is_posted=True
    ),
    "simulate-text": Path(
        "all of it placed, as claimcheck simulate -f -o json", records.Report, ("text",), is_posted=True
    ),
}


def document() -> Json:
    """The document."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "claimcheck ui", "version": version()},
        "security": [{"token": []}],
        "paths": {f"/api/v1/{name}": _path(each) for name, each in PATHS.items()},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Error": schema({"error": str}),
                **{name: schema(each) for name, each in vars(records).items() if typing.is_typeddict(each)},
            },
        },
    }


def _path(path: Path) -> Json:
    texts = {name: {"type": "string"} for name in (*path.asked, *path.may_ask)}
    asked: Json = {
        "summary": path.summary,
        "responses": {
            "200": {"description": path.summary, "content": _content(of(path.record))},
            "default": {"description": "why there is no answer", "content": _content(_named("Error"))},
        },
    }
    if not path.is_posted:
        parameters = [
            {"name": name, "in": "query", "required": name in path.asked, "schema": each}
            for name, each in texts.items()
        ]
        return {"get": asked | ({"parameters": parameters} if parameters else {})}
    body = {"type": "object", "properties": texts, "required": list(path.asked)}
    return {"post": asked | {"requestBody": {"required": True, "content": _content(body)}}}


def _content(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def _named(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def schema(record: Any) -> Json:
    """The schema of a record: all of its members, and no others."""
    members = record if isinstance(record, dict) else typing.get_type_hints(record)
    return {
        "type": "object",
        "properties": {name: of(each) for name, each in members.items()},
        "required": sorted(members),
        "additionalProperties": False,
    }


def of(kind: Any) -> Json:
    """The schema of a type of a member."""
    if typing.is_typeddict(kind):
        return _named(kind.__name__)
    if kind in _SIMPLE:
        return dict(_SIMPLE[kind])
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [of(each) for each in arguments]}
    if origin is list:
        return {"type": "array", "items": of(arguments[0])}
    return {"type": "object", "additionalProperties": of(arguments[1])}
