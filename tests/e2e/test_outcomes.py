"""The outcomes in the tables are those of a real kube-scheduler: node, devices, reservations, what the pod's status says, reasons."""

from __future__ import annotations

import pytest

from tests.claimcheck.outcomes import Case, cases
from tests.e2e.asked_outcomes import Outcomes, asked

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    """Those of all cases, anew."""
    return asked(list(cases()))


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_outcomes(case: Case, outcomes: Outcomes) -> None:
    """Of the pods of a case, which come one after the other."""
    assert outcomes[case.name] == case.expected
