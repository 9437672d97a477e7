"""The Warning headers of an answer: what of many and long warnings arrives."""

from __future__ import annotations

import re

TOTAL_CHARACTERS = 4096
EACH_CHARACTERS = 256  # once the total is exceeded
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def in_headers(texts: list[str]) -> list[str]:
    """The warnings that the server sends, in order: each once, none with control characters.

    Once they would exceed 4,096 characters together, each is cut to 256 and the rest is left out.
    """
    texts = [text for text in dict.fromkeys(texts) if text and not _CONTROL_CHARACTER.search(text)]
    if sum(map(len, texts)) <= TOTAL_CHARACTERS:
        return texts
    sent: list[str] = []
    whole = written = 0
    for text in texts:
        # What came until the limit was exceeded is sent, cut, whatever it comes to; then the cut texts count.
        if whole > TOTAL_CHARACTERS and written >= TOTAL_CHARACTERS:
            break
        whole += len(text)
        sent.append(text[:EACH_CHARACTERS])
        written += len(sent[-1])
    return sent
