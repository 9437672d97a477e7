"""What a look of `watch` may take counts as computing time here: on a busy machine it would be over by the clock."""

from __future__ import annotations

from functools import partial
from time import thread_time

import pytest

from allocator.time_limit import TimeLimit
from claimcheck.watching import waiting_pods


@pytest.fixture(autouse=True)
def computing_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of time count what the thread computes."""
    monkeypatch.setattr(waiting_pods, "TimeLimit", partial(TimeLimit, clock=thread_time))
