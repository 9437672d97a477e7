"""The glossary is in order, its words are used, and words that it bans are found."""

from __future__ import annotations

import pytest

from docs.tools.glossary import Banned, banned_words, files, found_in, words

BANNED = {
    "thingummy": Banned("thingummy", "device", ()),
    "whatnot": Banned("what not", "field", ("`whatNot`",)),
}


def test_words_are_in_order() -> None:
    """Whoever looks for a word finds it where the alphabet has it."""
    assert words() == sorted(words(), key=str.lower)


def test_words_are_used() -> None:
    """Each word is somewhere in the sources."""
    sources = " ".join(file.read_text(encoding="utf-8") for file in files() if file.suffix == ".py").lower()
    unused = {
        word
        for word in words()
        if word.lower() not in sources and word.replace(" ", "").lower() not in sources
    }
    assert not unused


def test_banned_words_have_others_instead() -> None:
    """The table is read in full: a row for each word, and none of these explained above."""
    assert banned_words()["mend"] == Banned("mend", "fix", ('"mend"', "`mend`"))
    assert all(each.instead for each in banned_words().values())
    assert not {each.word for each in banned_words().values()} & set(words())


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("the thingummy of nodes", ["thingummy"]),
        ("Thingummys", ["thingummy"]),
        ("class NodeThingummy:", ["thingummy"]),
        ("node_thingummy = _thingummy_of(x)", ["thingummy", "thingummy"]),
        ("NODE_THINGUMMY", ["thingummy"]),
        ("THINGUMMYFOO, URLThingummy, ThingummyURL", ["thingummy"] * 2),
        ("unthingummy, athingummy", []),
        ("what not, WhatNot, what-not, what_not", ["what not"] * 4),
        ("`whatNot` is how long", []),
    ],
)
def test_where_words_are_found(line: str, found: list[str]) -> None:
    """As words, in any case and number, and as parts of names."""
    assert [each.word for each in found_in(line, BANNED)] == found
