"""Valid objects at the API's limits: a short run of what `make fuzz` runs."""

from __future__ import annotations

from tests.fuzz.held_briefly import CASES_OF_CLUSTER, run


def test_bounded_run() -> None:
    """Nothing is held for longer than its limit, and memory is in proportion to the objects."""
    outcome = run(seed=1, start=0, count=CASES_OF_CLUSTER)
    assert (outcome.failures, outcome.accepted > outcome.cases / 2) == ([], True)
