"""What users are shown of texts that strangers wrote: bounded, and without characters that steer a terminal."""

from __future__ import annotations

import pytest

from cluster.event_writer import MOST_BYTES, shown
from scheduler.extender_api import Verdicts, binding_result, filter_result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain, ünicode ✓", "plain, ünicode ✓"),
        ("a\nb\x1b[31mc\x7f", "a\\u000ab\\u001b[31mc\\u007f"),
        ("\u202eright to left\U000e0001", "\\u202eright to left\\U000e0001"),
        ("\ud800", "\\ud800"),
    ],
)
def test_characters_that_change_a_terminal_are_escaped(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize("character", ["x", "ü", "😀", "\n"])
def test_notes_are_never_longer_than_servers_accept(character: str) -> None:
    for length in (MOST_BYTES - 1, MOST_BYTES, MOST_BYTES + 1, 100_000):
        note = shown(character * length)
        assert len(note.encode()) <= MOST_BYTES
        is_whole = len(character.encode() if character != "\n" else b"\\u000a") * length <= MOST_BYTES
        assert note.endswith("…") != is_whole


HOSTILE = "no such key: \x1b[31m" + "\u202e" * 40_000


def test_kube_scheduler_is_answered_in_texts_that_can_be_shown() -> None:
    """It writes them into the condition PodScheduled and into events."""
    error = binding_result(HOSTILE)["Error"]
    assert error.startswith("no such key: \\u001b[31m\\u202e")
    assert len(error.encode()) <= MOST_BYTES
    verdicts = Verdicts((), {"n1": HOSTILE, "n2": "plain"}, {"n3": HOSTILE})
    result = filter_result(verdicts, nominated="n1")
    assert result["FailedNodes"] == {"n1": error}
    assert result["FailedAndUnresolvableNodes"] == {"n2": "plain", "n3": error}
