"""What parameter objects mean, and what users are told about wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classic.gpu.parameters import (
    MOST_COMMAND_BYTES,
    GPURequirements,
    ParametersError,
    claim_reference,
    class_reference,
    initialization,
    requirements,
    written,
)
from tests.case_files import read_yaml

CASES = read_yaml(Path(__file__).parent / "data" / "parameters.yaml")


def answer(ask: Callable[[Any], Any], given: Any) -> Any:
    """What is said of these parameters; a text is an error's."""
    try:
        return ask(given)
    except ParametersError as error:
        return str(error)


@pytest.mark.parametrize("case", CASES["requirements"], ids=lambda case: str(case["given"])[:40])
def test_requirements_are_read_or_the_error_says_what_is_wrong(case: dict[str, Any]) -> None:
    wanted = case.get("error") or GPURequirements(case["memory"], case["count"])
    assert answer(requirements, case["given"]) == wanted


@pytest.mark.parametrize("case", CASES["initialization"], ids=lambda case: str(case["given"])[:40])
def test_initialization_is_read_or_the_error_says_what_is_wrong(case: dict[str, Any]) -> None:
    wanted = case.get("error") or (tuple(case["command"]),)
    assert answer(initialization, case["given"]) == wanted


@pytest.mark.parametrize(("more", "is_read"), [(0, True), (1, False)])
def test_init_command_is_limited_since_each_allocation_has_it(more: int, is_read: bool) -> None:
    found = answer(initialization, {"initCommand": ["x" * (MOST_COMMAND_BYTES + more)]})
    assert found == "initCommand: may not be longer than 4,096 bytes" or is_read


@pytest.mark.parametrize("case", CASES["claims"], ids=lambda case: str(case["given"])[:60])
def test_claim_refers_to_requirements_in_its_namespace(case: dict[str, Any]) -> None:
    claim = {"metadata": {"namespace": "tests"}, "spec": {"parametersRef": case["given"]}}
    found = answer(claim_reference, claim)
    assert getattr(found, "path", found) == (case.get("error") or case["path"])


@pytest.mark.parametrize("case", CASES["classes"], ids=lambda case: str(case["given"])[:60])
def test_class_refers_to_an_initialization_in_no_namespace(case: dict[str, Any]) -> None:
    found = answer(class_reference, {"parametersRef": case["given"]})
    assert getattr(found, "path", found) == (case.get("error") or case["path"])


@pytest.mark.parametrize(("memory", "text"), [(2 << 30, "2Gi"), (3 << 29, "1536Mi"), (1000, "1k"), (0, "0")])
def test_memory_is_written_as_users_write_it(memory: int, text: str) -> None:
    assert written(memory) == text
