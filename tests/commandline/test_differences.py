"""Differences of texts: as difflib shows them, in time that grows with the texts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from difflib import unified_diff
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commandline import differences as module
from commandline.differences import WINDOW, differences

#: The attack: a claim of 8 lines, each of which is as often in the file as makes most comparisons.
CLAIM = """apiVersion: resource.k8s.io/v1beta1 #{0}
kind: ResourceClaim #{0}
metadata: {{name: c{0}}}
spec: #{0}
  devices: #{0}
    requests: #{0}
    - name: r{0}
      deviceClassName: x{0}
---"""
lines = st.lists(st.sampled_from("abcde"), max_size=40)


@given(lines, lines)
def test_short_texts_are_compared_as_difflib_does(before: list[str], after: list[str]) -> None:
    """Nothing but the head with the names is missing."""
    assert list(differences(before, after)) == list(unified_diff(before, after, lineterm=""))[2:]


@pytest.mark.parametrize("seed", range(50))
def test_long_texts_are_compared_window_by_window(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The differences lead from one text to the other, whatever the windows cut."""
    random = Random(seed)
    monkeypatch.setattr(module, "WINDOW", random.randrange(2, 12))
    before = random.choices("abcdefgh", k=60)
    after = list(before)
    for _ in range(random.randrange(9)):
        at = random.randrange(len(after) + 1)
        after[at : at + random.randrange(9)] = random.choices("abcxyz", k=random.randrange(9))
    assert _patched(before, differences(before, after)) == after


def _patched(before: Sequence[str], shown: Any) -> list[str]:
    """What comes out where the differences are applied."""
    patched: list[str] = []
    at = 0
    for line in shown:
        if line.startswith("@@"):
            first, _, count = line.split()[1][1:].partition(",")
            start = int(first) - (count != "0")
            patched += before[at:start]
            at = start
        elif line.startswith("+"):
            patched.append(line[1:])
        else:
            assert before[at] == line[1:]
            patched += before[at : at + 1] * line.startswith(" ")
            at += 1
    return patched + list(before[at:])


def test_work_grows_with_the_text() -> None:
    """Twice the claims are twice the work, not four times: 2,400 took more than a minute."""
    claims = WINDOW // 4
    assert _calls(2 * claims) < 2.3 * _calls(claims)


def _calls(claims: int) -> int:
    before = "\n".join(CLAIM.format(number % 150) for number in range(claims)).split("\n")
    after = [line.replace("v1beta1", "v1") for line in before]
    calls = 0

    def count(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        shown = list(differences(before, after))
    finally:
        sys.setprofile(None)
    assert sum(line.startswith("+") for line in shown) == claims
    return calls
