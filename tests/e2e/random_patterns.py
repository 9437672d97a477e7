"""Random regular expressions and texts, right and wrong ones, for comparison with Go's regexp."""

from __future__ import annotations

import json
import random
from pathlib import Path

from deviceselectors.runtime import character_classes

_NAMES: list[str] = []
_LETTERS = "abkKsS xX1_-.é日\u212aſßΣσςǅαЖ\n\t\U00010400\U0001f600ÿİı"  # noqa: RUF001
_ASSERTIONS = ("^", "$", r"\A", r"\z", r"\b", r"\B", "")
_ESCAPES = (
    r"\d", r"\D", r"\s", r"\S", r"\w", r"\W", r"\n", r"\t", r"\x41", r"\x{e9}", r"\x{10FFFF}", r"\x{110000}", r"\0", r"\012",
    r"\1", r"\18", r"\777", r"\Q.*\E", r"\Qé", r"\.", r"\_", r"\-", r"\/", r"\é", r"\C", r"\Z", r"\x", r"\x4", r"\xg1", r"\x{", r"\x{}",
    r"\pL", r"\PL", r"\pé", r"\p", r"\p{", r"\p{}", r"\p{^L}", r"\P{^Greek}", r"\p{X}", r"\E", "\\a", "\\f", "\\v", "\\r", "\\e",
)  # fmt: skip
_POSIX = (
    "[:alpha:]",
    "[:^alpha:]",
    "[:word:]",
    "[:nope:]",
    "[:",
    "[:alpha",
    "[:^:]",
    "[:print:]",
    "[:punct:]",
)
_REPEATS = (
    "*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{1,}", "{0,2}", "{2,1}", "{,2}", "{01}", "{1001}", "{1000}", "{40}", "{3,4}?", "**",
    "{a}", "{2", "{2,", "{99999999999}", "{1,99999999999}", "*+", "{0,}",
)  # fmt: skip
_FLAGS = (
    "(?i)",
    "(?m)",
    "(?s)",
    "(?U)",
    "(?-i)",
    "(?i-s)",
    "(?im)",
    "(?)",
    "(?-)",
    "(?i-)",
    "(?x)",
    "(?--i)",
    "(?i",
    "(?",
)
_GROUPS = (
    "(", "(?:", "(?i:", "(?P<n>", "(?<n>", "(?-i:", "(?P<é>", "(?<>", "(?P<n", "(?P=n)", "(?=", "(?!", "(?<=", "(?<!", "(?P<1>", "(?s-m:", "(?#",
)  # fmt: skip


def names() -> list[str]:
    """All names that `\\p{...}` knows."""
    if not _NAMES:
        file = Path(character_classes.__file__).with_suffix(".json")
        tables = json.loads(file.read_text("utf-8"))
        _NAMES.extend(
            [*tables["categories"], *tables["scripts"], *tables["aliases"], "Any", "ASCII", "Assigned", "lc"]
        )
    return _NAMES


def pattern(draw: random.Random, depth: int = 3) -> str:
    """A pattern; about two thirds are regular expressions."""
    text = "|".join([_sequence(draw, depth) for _ in range(draw.choice((1, 1, 1, 2, 3)))])
    if draw.random() < 0.08 and text:
        at = draw.randrange(len(text))
        text = (
            text[:at] + draw.choice(("", "(", ")", "[", "]", "*", "\\", "{", "?", "é", "-")) + text[at + 1 :]
        )
    return text


def _sequence(draw: random.Random, depth: int) -> str:
    return "".join([_item(draw, depth) for _ in range(draw.randint(0 if depth < 3 else 1, 4))])


def _item(draw: random.Random, depth: int) -> str:
    kind = draw.random()
    if kind < 0.4:
        text = draw.choice(_LETTERS)
        text = "\\" + text if text in ".-" and draw.random() < 0.5 else text
    elif kind < 0.5:
        text = draw.choice((".", *_ASSERTIONS))
    elif kind < 0.58:
        text = draw.choice(_ESCAPES)
    elif kind < 0.64:
        text = _property(draw)
    elif kind < 0.78:
        text = _class(draw)
    elif kind < 0.82:
        text = draw.choice(_FLAGS[:8] if draw.random() < 0.8 else _FLAGS)
    elif depth:
        text = draw.choice(_GROUPS[:6] if draw.random() < 0.9 else _GROUPS) + pattern(draw, depth - 1) + ")"
    else:
        text = "a"
    if draw.random() < 0.3:
        text += draw.choice(_REPEATS[:11] if draw.random() < 0.85 else _REPEATS)
    return text


def _property(draw: random.Random) -> str:
    name = draw.choice(names())
    change = draw.random()
    if change < 0.15:
        name = name.lower()
    elif change < 0.25:
        name = name.upper()
    elif change < 0.35:
        at = draw.randrange(len(name) + 1)
        name = name[:at] + draw.choice("_- x^") + name[at:]
    return f"\\{draw.choice('ppP')}{{{draw.choice(('', '', '^'))}{name}}}"


def _class(draw: random.Random) -> str:
    parts = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.random()
        if kind < 0.4:
            parts.append(draw.choice(_LETTERS + "]^-["))
        elif kind < 0.7:
            first, last = draw.choice(_LETTERS), draw.choice(_LETTERS)
            parts.append(
                f"{min(first, last)}-{max(first, last)}" if draw.random() < 0.95 else f"{first}-{last}"
            )
        elif kind < 0.8:
            parts.append(draw.choice(_ESCAPES))
        elif kind < 0.9:
            parts.append(_property(draw))
        else:
            parts.append(draw.choice(_POSIX))
    return f"[{draw.choice(('', '', '^'))}{''.join(parts)}]"


def texts(draw: random.Random, count: int = 4) -> list[str]:
    """Some texts that patterns may match."""
    return ["".join(draw.choices(_LETTERS + "ab", k=draw.randint(0, 9))) for _ in range(count)]
