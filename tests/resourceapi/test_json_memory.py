"""What reading JSON takes is known before: the estimate is never less, whatever the text is made of."""

from __future__ import annotations

import tracemalloc

import pytest

from resourceapi.json_text import parse
from resourceapi.json_values import JSONMemory

COUNT = 50_000
DISTINCT = ",".join(f'"{index:x}":-0' for index in range(COUNT))
TEXTS = {
    "numbers as written": "[" + ",".join(["-0"] * COUNT) + "]",
    "fractions": "[" + ",".join(["0.0"] * COUNT) + "]",
    "lists": "[" + ",".join(["[]"] * COUNT) + "]",
    "lists in lists": "[" + ",".join(["[[[[[[0]]]]]]"] * COUNT) + "]",
    "lists of a number": "[" + ",".join(["[-0]"] * COUNT) + "]",
    "objects": "[" + ",".join(["{}"] * COUNT) + "]",
    "members": "[" + ",".join(['{"":0}'] * COUNT) + "]",
    "repeated keys": "[" + ",".join(['{"":0,"":0}'] * COUNT) + "]",
    "different keys": "{" + DISTINCT + "}",
    "different keys, wide": "{" + DISTINCT + ',"":"\U0001f600"}',
    "wide strings": "[" + ",".join(['"\U0001f600"'] * COUNT) + "]",
}


@pytest.mark.parametrize("name", TEXTS)
def test_reading_takes_no_more(name: str) -> None:
    """Text and values, at their most, take no more than was said from the bytes, in parts or as a whole."""
    body = TEXTS[name].encode()
    estimate, parts = JSONMemory(), JSONMemory()
    estimate.add(body)
    for start in range(0, len(body), 1000):
        parts.add(body[start : start + 1000])
    assert parts.bytes == estimate.bytes
    parse("[-0]", keep_repeated=False, in_turns=True)  # what it loads for itself
    tracemalloc.start()
    try:
        value = parse(body, keep_repeated=False, in_turns=True)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert value
    assert most <= estimate.bytes


@pytest.mark.parametrize(("character", "width"), [("a", 1), ("\u00e9", 2), ("\u0100", 2), ("\U0001f600", 4)])
def test_wide_characters_make_the_whole_text_wide(character: str, width: int) -> None:
    """One character decides how many bytes each takes."""
    estimate, without = JSONMemory(), JSONMemory()
    body = f'["{"x" * 100_000}{character}"]'.encode()
    estimate.add(body)
    without.add(b"[")
    assert estimate.bytes - without.bytes == len(body) * (1 + width) - 2
