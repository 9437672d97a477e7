"""Real kubectl reads files that people write and break, and Claimcheck comes to the same verdicts.

`python -m tests.e2e.kubectl_hunt` reads as many as you like.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.case_files import read_yaml
from tests.cluster.test_configuration_as_yaml import CASES, configuration
from tests.e2e.control_plane import ApiServer
from tests.e2e.kubectl import Kubectl
from tests.e2e.kubectl_files import PROFILE, File, mutated_files, odd_files
from tests.e2e.kubectl_hunt import VERBS, Difference, compared, sequences, unchanged
from tests.e2e.seed import SEED

UNRECOGNIZED = read_yaml(Path(__file__).parent.parent / "commandline/validate/unrecognized.yaml")
_FILES = 60
_SEQUENCES = 15
_UNCHANGED = 15
_OF_A_HUNDRED = 2  # that may differ by what docs/known-differences.md names


@pytest.mark.parametrize("files", [mutated_files, odd_files])
def test_random_files(
    files: Callable[[str, int], Iterator[File]], api_server: Callable[[str], ApiServer], tmp_path: Path
) -> None:
    """`kubectl create` and `kubectl apply` accept what Claimcheck accepts, and no more."""
    _insist_on_few(compared(api_server(PROFILE), files(SEED, _FILES), tmp_path))


def test_objects_that_change(api_server: Callable[[str], ApiServer], tmp_path: Path) -> None:
    """`kubectl apply`, with and without `--server-side`, and `kubectl patch` get the verdict that `--live` foretells."""
    _insist_on_few(sequences(api_server(PROFILE), SEED, _SEQUENCES, tmp_path))


def test_objects_as_they_are_stored(api_server: Callable[[str], ApiServer], tmp_path: Path) -> None:
    """No unchanged object is refused."""
    found = list(unchanged(api_server(PROFILE), SEED, _UNCHANGED, tmp_path))
    assert len(found) == _UNCHANGED
    assert [str(each) for each in found if each is not None] == []


def _insist_on_few(found: Iterable[Difference | None]) -> None:
    verdicts = list(found)
    differences = [str(each) for each in verdicts if each is not None]
    assert verdicts
    assert len(differences) * 100 <= _OF_A_HUNDRED * len(verdicts), "\n".join(differences)


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_what_is_applied_is_read_as_yaml(
    case: dict[str, Any], api_server: Callable[[str], ApiServer], tmp_path: Path
) -> None:
    """The recorded words and values are the server's; only `kubectl apply --server-side` sends what it takes for YAML."""
    kubectl = Kubectl(api_server(PROFILE), tmp_path / "cache")
    file = tmp_path / "class.json"
    file.write_text(json.dumps(configuration(case["parameters"])), encoding="utf-8")
    output = kubectl("apply", "--server-side", "--dry-run=server", "-o", "json", "-f", str(file))
    if "message" in case:
        assert case["message"] in output.errors
    else:
        read = json.loads(output.text)["spec"]["config"][0]["opaque"]["parameters"]
        assert read == case.get("read", case["parameters"])
    for verb in VERBS:
        assert kubectl(verb, "--dry-run=server", "-f", str(file)).code == 0


def test_what_is_not_recognized(api_server: Callable[[str], ApiServer], tmp_path: Path) -> None:
    """The recorded words are kubectl's."""
    kubectl = Kubectl(api_server(PROFILE), tmp_path / "cache")
    for case in UNRECOGNIZED:
        file = tmp_path / f"{case['case']}.yaml"
        file.write_text(case["file"], encoding="utf-8")
        output = kubectl("apply", "--dry-run=server", "-f", str(file))
        if case.get("ours"):
            assert output.code, case["case"]
            continue
        assert bool(output.code) == bool(case["errors"]), (case["case"], output.errors)
        for error in case["errors"]:
            assert error in output.errors, case["case"]
