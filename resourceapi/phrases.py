"""Parts of messages: numbers of things, texts cut short, and the name that was meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# Numbers of things in words.


def number(count: int, noun: str) -> str:
    """`1 object`, `2,000 objects`, `2 classes`."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def some(names: Sequence[str], most: int = 3) -> str:
    """The first names of a list, and how many others there are: `a, b, c and 2 others`."""
    return ", ".join(names[:most]) + and_others(len(names), most)


def and_others(count: int, most: int = 3) -> str:
    """What ends a list of which the first are named: ` and 2 others`; empty if that is all."""
    return f" and {number(count - most, 'other')}" if count > most else ""


def plural(noun: str) -> str:
    """`objects`, `classes`, `patches`."""
    return f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"


def sentence(text: str) -> str:
    """A text with a capital letter and a full stop, for a paragraph of its own."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


# Texts of bounded length.


def shortened(text: str, limit: int) -> str:
    """A text of at most so many characters; one that was longer ends in an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# Did you mean …? Which of the possible names a misspelt one stands for.


def nearest(word: str, candidates: Iterable[str]) -> str:
    """Find the name that was meant by a word in other case, with other separators or with a few wrong letters.

    Words of up to 2 letters must agree except for case, those of up to 6 may be one edit off, longer ones two. Another letter
    makes another word of one with 3 (`cpu` is not `gpu`). Of names with dots, labels may be missing at the end of one or the
    other, if only one candidate is like that.

    :returns: the nearest candidate, an empty string if none is near enough.
    """
    if not word or len(word) > 100:
        return ""
    candidates = list(candidates)
    best, allowed = "", 0 if len(word) < 3 else 1 if len(word) <= 6 else 2
    bare = _bare(word)
    for candidate in candidates:
        if candidate == word:
            continue
        if _bare(candidate) == bare:
            return candidate
        if abs(len(candidate) - len(word)) > allowed:
            continue
        if len(word) == len(candidate) == 3 and sorted(word.lower()) != sorted(candidate.lower()):
            continue
        distance = edits(word.lower(), candidate.lower(), allowed)
        if distance <= allowed:
            best, allowed = candidate, distance - 1
            if allowed < 0:
                break
    return best or _longer_or_shorter(word, candidates)


def nearest_value(word: str, candidates: Iterable[str]) -> str:
    """Find the value that was meant: the nearest one, else the only one that contains the word, or is contained in it.

    :returns: an empty string if there is none.
    """
    candidates = list(candidates)
    if found := nearest(word, candidates):
        return found
    lower = word.casefold()
    similar = [each for each in candidates if lower in each.casefold() or (each and each.casefold() in lower)]
    return similar[0] if len(similar) == 1 and min(len(word), len(similar[0])) > 2 else ""


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """The question to put to the user, with the nearest candidate; an empty string if none is near enough."""
    meant = nearest(word, candidates)
    return f"did you mean `{meant}`?" if meant else ""


def _longer_or_shorter(word: str, candidates: Iterable[str]) -> str:
    """The only candidate that a name lacks labels of at its end, or has labels beyond: `gpu.acme` for `gpu.acme.io`."""
    found = [each for each in candidates if each.startswith(f"{word}.") or word.startswith(f"{each}.")]
    return found[0] if len(found) == 1 else ""


def _bare(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").rstrip("s")


def edits(first: str, second: str, limit: int) -> int:
    """Count the letters to insert, delete, replace or swap with a neighbour (Damerau-Levenshtein).

    :returns: the number of edits, or ``limit + 1`` if there are more than ``limit``.
    """
    before: list[int] = []
    row = list(range(len(second) + 1))
    beyond = limit + 1
    for i, letter in enumerate(first, 1):
        # whoever is further apart than the limit has inserted or deleted more letters than that
        start, end = max(1, i - limit), min(len(second), i + limit)
        previous, before, row = before, row, [beyond] * (len(second) + 1)
        if start == 1:
            row[0] = i
        for j in range(start, end + 1):
            other = second[j - 1]
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                cost = min(cost, previous[j - 2] + 1)
            row[j] = cost
        if min(row[start - 1 : end + 1]) > limit:
            return beyond
    return min(row[-1], beyond)
