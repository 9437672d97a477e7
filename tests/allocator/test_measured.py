"""Scenarios with kube-scheduler's measured answers, where this machine has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance import allocations
from tests.conformance.cases import read_cases


@pytest.mark.parametrize("name", ["quirks", "fuzz"])
def test_measured_scenarios(shared: Path, name: str) -> None:
    """The same devices on the same nodes, and the same errors."""
    path = shared / "allocations" / f"{name}.jsonl"
    if not path.exists():
        pytest.skip("no measured allocations here")
    different = []
    for index, case in enumerate(read_cases(path)):
        # The runner replays all of them; here a part must do.
        if name == "fuzz" and index % 7:
            continue
        if not allocations.compare(case, allocations.answer(case)).answer:
            different.append(case["id"])
    assert different == []
