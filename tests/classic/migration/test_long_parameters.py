"""Parameters of any length, to which any number of objects refer: they are refused before they are gone through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from classic.migration import claims
from commandline.main import main

VERSION = "resource.k8s.io/v1alpha2"
SELECTED = {"namedResources": {"selector": "true"}}
CLAIM_PARAMETERS: dict[str, Any] = {"driverRequests": [{"driverName": "d.x", "requests": [SELECTED] * 100}]}
CLASS_PARAMETERS: dict[str, Any] = {"filters": [{"driverName": "d.x", **SELECTED}] * 100}


def _object(kind: str, name: str, fields: dict[str, Any], namespace: str = "team") -> dict[str, Any]:
    metadata = {"name": name} if kind == "ResourceClass" else {"name": name, "namespace": namespace}
    return {"apiVersion": VERSION, "kind": kind, "metadata": metadata, **fields}


def _reference(kind: str, **more: str) -> dict[str, Any]:
    return {"parametersRef": {"apiGroup": "resource.k8s.io", "kind": kind, "name": "p", **more}}


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        (
            [
                _object("ResourceClass", "k", {"driverName": "d.x", "structuredParameters": True}),
                _object("ResourceClaimParameters", "p", CLAIM_PARAMETERS),
                _object(
                    "ResourceClaim",
                    "c",
                    {"spec": {"resourceClassName": "k", **_reference("ResourceClaimParameters")}},
                ),
            ],
            "driverRequests[0].requests[32]: a claim can have 32 requests at most",
        ),
        (
            [
                _object("ResourceClassParameters", "p", CLASS_PARAMETERS),
                _object(
                    "ResourceClass",
                    "k",
                    {
                        "driverName": "d.x",
                        "structuredParameters": True,
                        **_reference("ResourceClassParameters", namespace="team"),
                    },
                ),
            ],
            "filters[32]: a class can have 32 selectors at most",
        ),
    ],
    ids=["claim", "class"],
)
def test_long_parameters(
    objects: list[dict[str, Any]],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No more selectors are read than the object can have."""
    read: list[str] = []

    def counted(expression: str, *more: Any) -> str:
        read.append(expression)
        return expression

    monkeypatch.setattr(claims, "for_devices", counted)
    file = tmp_path / "classic.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    assert main(["migrate", str(file)]) == 1
    assert message in "".join(capsys.readouterr())
    assert len(read) == 32
