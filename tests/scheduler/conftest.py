"""No holder of the picture's lock computes for long, in any test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scheduler.picture_lock import PictureLock

#: A filter may take half a second, and a tenth to say why nodes are refused; the rest is for what tests have slowed down.
MOST_SECONDS = 2.0


@pytest.fixture(autouse=True)
def held_briefly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    held: list[float] = []
    monkeypatch.setattr(PictureLock, "released", lambda lock, seconds: held.append(seconds))
    yield
    assert max(held, default=0.0) < MOST_SECONDS
