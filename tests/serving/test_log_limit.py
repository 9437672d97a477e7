"""How many lines of the log clients can cause."""

from __future__ import annotations

from serving.logs import REPORT_SECONDS, LogLimit


def test_one_line_of_each_kind_in_a_while_which_counts_the_others() -> None:
    now = 0.0
    limit = LogLimit(lambda: now)
    assert [limit.left_out("a") for _ in range(4)] == [0, None, None, None]
    assert limit.left_out("b") == 0
    now += REPORT_SECONDS
    assert [limit.left_out("a"), limit.left_out("a"), limit.left_out("b")] == [3, None, 0]
    now += REPORT_SECONDS
    assert limit.left_out("a") == 1
