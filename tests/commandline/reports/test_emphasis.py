"""Verdicts are in color, and nothing else changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commandline.main import main
from commandline.reports.writing import emphasized

SNAPSHOTS = Path(__file__).parents[1] / "snapshots"
TEXTS = sorted(SNAPSHOTS.glob("*/*/text.txt"))
_painted = re.compile(r"\x1b\[(\d+)m(.*?)\x1b\[0m")


@pytest.mark.parametrize(
    ("line", "painted"),
    [
        ("Pod default/p (w.yaml:1): fits on n1", ("32", "fits")),
        ("Deployment default/web (w.yaml:1, one of 3 pods): fits on n1", ("32", "fits")),
        ("ResourceClaim a/b (w.yaml:1): fits, but attempts can fail because of x", ("33", "fits, but")),
        ("ResourceClaim a/b (w (1).yaml:1): does not fit on n1", ("31", "does not fit")),
        (
            "ResourceClaim a/b (w.yaml:1): cannot be scheduled because of an error",
            ("31", "cannot be scheduled"),
        ),
        ("ResourceClaim a/b (w.yaml:1): not decided within the time limit", ("33", "not decided")),
        ("Pod a/b (w.yaml:1): gets no devices: why", ("33", "gets no devices")),
        ("claim a/b (w.yaml:1): fits", ("32", "fits")),
        ("Pod a/b (w.yaml:1): waits for claim a/c, which does not exist", ("33", "waits for")),
        ("Pod a/b (w.yaml:1): binding its devices failed on n1: x", ("31", "binding its devices failed")),
        ("ResourceClaim a/b (w.yaml:1): is allocated on n1", ("32", "is allocated")),
        (
            "Pod a/b (w.yaml:1): 3 claims from template t: does not fit, only 2 of 3 would",
            ("31", "does not fit"),
        ),
        ("  Job default/train-4  not placed: fits on no node", ("31", "not placed")),
        ("  error: exceeded quota", ("31", "error")),
        ("  it would fit:", ("36", "it would fit")),
        ("match, cost 5: n1/g0", ("32", "match")),
        ("no match: n1/g0", ("33", "no match")),
        ("failed, cost 1 to 3: n1/g0", ("31", "failed")),
        ("warning[CC009]: text", ("33", "warning[CC009]")),
        ("nowhere.yaml: error: no such file or directory", ("31", "error")),
    ],
)
def test_verdicts(line: str, painted: tuple[str, str]) -> None:
    """Good ones are green, bad ones red, others yellow."""
    colored = emphasized(line)
    assert _painted.findall(colored) == [painted]
    assert _painted.sub(r"\2", colored) == line


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.parent.name)
def test_every_verdict_of_a_report(text: Path) -> None:
    """The heads of sections have one in color; a line without color is as it was."""
    for line in text.read_text().splitlines():
        colored = emphasized(line)
        assert _painted.sub(r"\2", colored) == line
        if re.match(r"\S+ \S+ \([^)]*\): ", line):
            assert colored != line


def test_long_lines() -> None:
    """Names are strangers' texts: time grows with the line, no faster."""
    for line in ("a" * 1_000_000, ":1" * 500_000, "x  " * 300_000, "a): " * 200_000, " " * 1_000_000):
        assert emphasized(line) == line


def test_only_where_color_is_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in a pipe, not in JSON; on demand everywhere."""
    monkeypatch.chdir(SNAPSHOTS / "explain" / "fits")
    arguments = ["explain", "workloads.yaml", "--inventory", "cluster.yaml"]
    main(arguments)
    plain = capsys.readouterr().out
    assert "\x1b" not in plain
    main([*arguments, "--color=always"])
    colored = capsys.readouterr().out
    assert colored != plain
    assert _painted.sub(r"\2", colored) == plain
    main([*arguments, "--color=always", "-o", "json"])
    assert "\x1b" not in capsys.readouterr().out
