"""Warnings arrive as the server's recorder sends them."""

from __future__ import annotations

import pytest

from validation.requests import in_headers


@pytest.mark.parametrize(
    ("texts", "sent"),
    [
        pytest.param(["b", "a", "b"], ["b", "a"], id="each-once-in-order"),
        pytest.param(["", "a\tb", "a\u0085", "ü"], ["ü"], id="no-empty-ones-and-no-control-characters"),
        pytest.param(["x" * 4096], ["x" * 4096], id="a-long-one-at-the-limit"),
        pytest.param(["x" * 4097], ["x" * 256], id="a-long-one-over-the-limit-is-cut"),
        pytest.param(["x" * 4096, "y", "z"], ["x" * 256, "y", "z"], id="cut-ones-leave-room"),
    ],
)
def test_in_headers(texts: list[str], sent: list[str]) -> None:
    """All of them up to 4,096 characters; beyond that each is cut to 256 characters."""
    assert in_headers(texts) == sent


def test_many_short_warnings_end() -> None:
    """Hundreds of short ones: the one that exceeds the limit is the last."""
    texts = [f"{number:0100}" for number in range(100)]
    assert in_headers(texts) == texts[:41]
