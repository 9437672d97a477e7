"""The pages of the lints, one a code: what is reported, why, and what to do."""

from __future__ import annotations

import re
from pathlib import Path

_link = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def page_of(code: str) -> str:
    """The page of a lint as Markdown. It stands for itself: its links, which lead to other pages of the documentation, are text.

    :param code: one of :data:`advice.lints.table.LINTS`.
    """
    return _link.sub(r"\1", (Path(__file__).parent / f"{code}.md").read_text("utf-8"))
