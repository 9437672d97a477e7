"""Why no device is given twice, whatever is stopped, continued, late or lost: all orders of events of small models."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.scheduler.fencing_model import Model, Who, Without

MOST_STATES = 500_000
#: The pod whose bind is stopped, and the one that wants the same device.
P, Q = 0, 1
ONE_TERM = [Who(1, P), Who(1, Q)]
NEXT_LEADER = [Who(1, P), Who(2, Q)]
NEXT_LEADER_CONTINUES = [Who(1, P), Who(2, P), Who(2, Q)]
LEADS_AGAIN = [Who(1, P), Who(3, Q)]
THREE_LEADERS = [Who(1, P), Who(2, Q), Who(3, Q)]


@pytest.mark.parametrize(
    ("binds", "losses"),
    [
        (ONE_TERM, 1),
        (NEXT_LEADER, 1),
        (NEXT_LEADER_CONTINUES, 0),
        (LEADS_AGAIN, 0),
        (THREE_LEADERS, 0),
    ],
)
def test_no_device_is_given_twice(binds: Sequence[Who], losses: int) -> None:
    """In no order of events, with answers that get lost and Bindings that are refused."""
    wrong, states = Model(binds, losses=losses).search(MOST_STATES)
    assert wrong is None
    assert states > 3_000


@pytest.mark.parametrize(
    ("without", "binds", "losses"),
    [
        (Without.FENCE, NEXT_LEADER, 0),
        (Without.TERM, LEADS_AGAIN, 0),
        (Without.LIST, NEXT_LEADER, 0),
        (Without.SWEEP, NEXT_LEADER, 0),
        (Without.TOUCH, NEXT_LEADER_CONTINUES, 0),
        (Without.FENCE_OF_UNDO, NEXT_LEADER_CONTINUES, 0),
        (Without.LAST_UNDO, ONE_TERM, 1),
        (Without.PATIENCE, ONE_TERM, 1),
    ],
)
def test_each_part_is_needed(without: Without, binds: Sequence[Who], losses: int) -> None:
    """Leave out one part, and an order is found in which a device is given twice, or taken from a pod on a node."""
    wrong, _ = Model(binds, losses=losses, without=without).search(MOST_STATES)
    assert wrong is not None


def test_what_is_left() -> None:
    """A late Binding of the leader before, after this one has taken the pod's devices back: then the pod is on a node without.

    No claim has a device that another one has; the pod gets devices as one that was created on its node.
    """
    wrong, _ = Model([Who(1, P), Who(2, P)], refusing=(1, 2)).search(MOST_STATES)
    assert wrong is not None
    assert wrong.ran[P]
    assert sum(claim.allocated for claim in wrong.claims) < 2
