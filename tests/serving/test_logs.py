"""Logs: a line of JSON each, whatever there is to say."""

from __future__ import annotations

import io
import json
import logging

import pytest

from resourceapi.logs import LOGGER, log
from serving.logs import MAX_BYTES, MAX_ENTRIES, JSONFormatter


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('a\nb\r{"level": "error"}\u2028\u2029\x1b[31m\x00', None),
        ("\ud800", None),
        ("x" * MAX_BYTES, None),
        ("x" * (MAX_BYTES + 1), "x" * (MAX_BYTES - 6) + "…"),
        ("\U0001f600" * 5000, "\U0001f600" * ((MAX_BYTES - 6) // 12) + "…"),
        ("\\" * (MAX_BYTES // 2), None),
    ],
    ids=[
        "lines-and-controls",
        "no-text",
        "longest",
        "too-long",
        "escapes-of-twelve-bytes",
        "escapes-of-two-bytes",
    ],
)
def test_what_others_write_stays_in_its_place(text: str, shown: str | None) -> None:
    """Nothing that comes from a request can begin a line, colour a terminal, or fill a disk."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JSONFormatter())
    LOGGER.addHandler(handler)
    try:
        log(logging.ERROR, "refused", name=text, objects=3)
    finally:
        LOGGER.removeHandler(handler)
    written = stream.getvalue()
    assert written.isascii()
    assert written[:-1].isprintable()
    entry = json.loads(written)
    assert (entry["name"], entry["objects"]) == (text if shown is None else shown, 3)


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("a", "b"), ["a", "b"]),
        (frozenset(("a",)), ["a"]),
        (["x" * 5000], ["x" * (MAX_BYTES - 6) + "…"]),
        (["a"] * (MAX_ENTRIES + 5), ["a"] * MAX_ENTRIES + ["…"]),
    ],
)
def test_lists_are_bounded(names: object, shown: list[str]) -> None:
    record = logging.LogRecord("claimcheck", logging.INFO, "", 0, "released", None, None)
    record.fields = {"claims": names}
    assert json.loads(JSONFormatter().format(record))["claims"] == shown
