"""How many processes are started of one's own accord."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline.validate import workers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(None, 4, id="no-such-file"),
        pytest.param("max 100000\n", 4, id="no-limit"),
        pytest.param("800000 100000\n", 4, id="limit-above-what-there-is"),
        pytest.param("200000 100000\n", 2, id="two-processors"),
        pytest.param("150000 100000\n", 2, id="one-and-a-half"),
        pytest.param("10000 100000\n", 1, id="a-tenth"),
        pytest.param("1 0\n", 4, id="no-period"),
        pytest.param("", 4, id="empty"),
    ],
)
def test_share_of_a_container(
    text: str | None, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container that gets less than the machine has does not start more processes than it can run."""
    file = tmp_path / "cpu.max"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(workers, "QUOTA_FILE", str(file))
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    assert workers.usable_processors() == expected
