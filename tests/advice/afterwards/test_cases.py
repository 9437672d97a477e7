"""What is reported once the errors are fixed, case by case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from advice.findings import ERROR, Finding
from documents.document import Document
from documents.parsing import parse
from resourceapi.releases import Profile
from tests.advice.afterwards.rounds import validated

PROFILE = Profile("1.37")


def _cases() -> list[dict[str, Any]]:
    file = Path(__file__).with_name("cases.yaml")
    text = "".join(
        f"{'  ' if line else ''}{line}\n" for line in file.read_text(encoding="utf-8").splitlines()
    )
    (document,) = parse(f"cases:\n{text}", file.name)
    assert isinstance(document, Document)
    return list(document.value["cases"])


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case["note"])
def test_case(case: dict[str, Any]) -> None:
    """First the server's answer, then what will come to light, each with its rule and field."""
    obj = {
        "apiVersion": case.get("apiVersion", "resource.k8s.io/v1"),
        "kind": case.get("kind", "ResourceClaim"),
        "metadata": {"name": "object"},
        "spec": case["spec"],
    }
    result = validated(obj, PROFILE)
    assert _errors(result.findings) == case["first"]
    assert _errors(result.afterwards) == case["afterwards"]


def _errors(findings: list[Finding]) -> list[str]:
    return [f"{finding.rule} {finding.field}" for finding in findings if finding.severity == ERROR]
