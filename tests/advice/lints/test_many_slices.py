"""The work of lints for pools with thousands of slices grows with their number, and not faster."""

from __future__ import annotations

from typing import Any

import pytest

from advice.lints import Facts, lint
from resourceapi.releases import Profile


class _Counted(str):
    """A node's name that counts how often it is looked at."""

    __slots__ = ()
    looked_at = 0

    def __hash__(self) -> int:
        _Counted.looked_at += 1
        return super().__hash__()

    def __lt__(self, other: str) -> bool:
        _Counted.looked_at += 1
        return super().__lt__(other)

    def __eq__(self, other: object) -> bool:
        _Counted.looked_at += 1
        return super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        _Counted.looked_at += 1
        return super().__ne__(other)


def _slices(count: int, files: int) -> list[tuple[dict[str, Any], str]]:
    return [
        (
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceSlice",
                "metadata": {"name": f"slice-{number}"},
                "spec": {
                    "driver": "gpu.example.com",
                    "nodeName": _Counted(f"node-{count - number}"),
                    "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": f"gpu-{number}"}],
                },
            },
            f"{number % files}.yaml",
        )
        for number in range(count)
    ]


def _work(count: int, files: int) -> int:
    facts, slices = Facts(Profile("1.37")), _slices(count, files)
    _Counted.looked_at = 0
    for manifest, file in slices:
        facts.learn(manifest, file)
    for manifest, file in slices:
        (warning,) = (each for each in lint(manifest, facts, file, notes=True) if each.code == "CC018")
        assert f"and {count - 4} more" in warning.message
    return _Counted.looked_at


@pytest.mark.parametrize("per_file", [1, 2, 200])
def test_nodes_of_a_pool(per_file: int) -> None:
    """Twice the slices on as many nodes take twice the work, not four times as much."""
    assert _work(400, 400 // per_file) < 2.3 * _work(200, 200 // per_file)
