"""Differences of two texts, line by line, as ``diff -u`` writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

# Lines that are compared with each other. Comparing takes time in proportion to their square if they are alike.
WINDOW = 2000


class _Lines(SequenceMatcher[str]):
    """Compares long texts window by window; what of a window is not certain yet is in the next one as well."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(None, before, after)
        self._before, self._after = before, after

    def get_matching_blocks(self) -> list[Match]:
        """Where the texts are equal."""
        blocks: list[Match] = []
        i = j = 0
        while True:
            before, after = self._before[i : i + WINDOW], self._after[j : j + WINDOW]
            found = SequenceMatcher(None, before, after).get_matching_blocks()
            done = found[-1]  # the ends of both
            if i + len(before) < len(self._before) or j + len(after) < len(self._after):
                far = [each for each in found[:-1] if max(each.a, each.b) + each.size > WINDOW // 2]
                if far:
                    done = Match(far[-1].a + far[-1].size, far[-1].b + far[-1].size, 0)
            for at, begin, size in found[:-1]:
                block = Match(i + at, j + begin, size)
                last = blocks[-1] if blocks else Match(-1, -1, 0)
                if (last.a + last.size, last.b + last.size) == (block.a, block.b):
                    block = blocks.pop()._replace(size=last.size + size)
                blocks.append(block)
            i, j = i + done.a, j + done.b
            if i == len(self._before) or j == len(self._after):
                return [*blocks, Match(len(self._before), len(self._after), 0)]


def differences(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The lines that differ, with three lines around them."""
    for group in _Lines(before, after).get_grouped_opcodes():
        (_, start, _, begin, _), (_, _, stop, _, end) = group[0], group[-1]
        yield f"@@ -{_range(start, stop)} +{_range(begin, end)} @@"
        for kind, start, stop, begin, end in group:
            if kind == "equal":
                yield from (f" {line}" for line in before[start:stop])
            else:
                yield from (f"-{line}" for line in before[start:stop])
                yield from (f"+{line}" for line in after[begin:end])


def _range(start: int, stop: int) -> str:
    """Lines as the head of a hunk names them: the number of the first, and how many there are."""
    count = stop - start
    return f"{start + 1}" if count == 1 else f"{start + 1 if count else start},{count}"
