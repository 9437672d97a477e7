"""Version numbers as people write them, as semantic versions."""

from __future__ import annotations

import re


def as_semantic_version(text: str) -> str:
    """`535.104.5` for `v535.104.05`, `1.2.0` for `1.2`; nothing for what is no version number (semver.org, 2.0.0)."""
    matched = re.fullmatch(
        r"v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?([-+][0-9A-Za-z.+-]+)?", text, re.ASCII
    )
    if matched is None:
        return ""
    numbers = ".".join(str(int(number or 0)) for number in matched.groups()[:3])
    return f"{numbers}{matched[4] or ''}"
