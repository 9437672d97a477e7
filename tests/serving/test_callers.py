"""How long clients wait, as their requests say."""

from __future__ import annotations

import pytest

from serving.routes import seconds_to_answer


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("timeout=10s", 9.0),
        ("a=b&timeout=1m0s", 20.0),
        ("timeout=500ms", 0.45),
        ("timeout=1.5s", 1.35),
        ("timeout=30s", 20.0),
        ("", 20.0),
        ("timeout=", 20.0),
        ("timeout=0s", 20.0),
        ("timeout=-1s", 20.0),
        ("timeout=10", 20.0),
        ("timeout=" + "1s" * 17, 20.0),
        ("timeout=\u0661s", 20.0),
        ("timeout=nan", 20.0),
        ("timeouts=1s", 20.0),
    ],
)
def test_how_long_the_caller_waits(query: str, seconds: float) -> None:
    """A bit less than what the API server says, a Go duration; never more than is configured."""
    assert seconds_to_answer(query, 20.0) == pytest.approx(seconds)
