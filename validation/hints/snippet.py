"""Small pieces of YAML to show in a hint."""

from __future__ import annotations

import json
from typing import Any

MAX_LINES = 12


def yaml(value: Any) -> str:
    """Plain data as block-style YAML, cut after a few lines."""
    lines = _lines(value, 0)
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], "…"]
    return "\n".join(lines)


def _lines(value: Any, depth: int) -> list[str]:
    if depth < 8 and isinstance(value, dict) and value:
        return [line for key, item in value.items() for line in _entry(f"{scalar(key)}:", item, depth)]
    if depth < 8 and isinstance(value, list) and value:
        lines = []
        for item in value:
            first, *rest = _lines(item, depth + 1)
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        return lines
    return [scalar(value)]


def _entry(key: str, item: Any, depth: int) -> list[str]:
    if isinstance(item, (dict, list)) and item and depth < 7:
        return [key, *(f"  {line}" for line in _lines(item, depth + 1))]
    if isinstance(item, str) and "\n" in item:
        return [f"{key} |-", *(f"  {line}" for line in item.split("\n"))]
    return [f"{key} {scalar(item)}"]


def scalar(value: Any) -> str:
    """A value on one line, quoted where YAML would read something else."""
    if isinstance(value, str) and _is_plain(value):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:99] + "…"


def _is_plain(text: str) -> bool:
    if not text or len(text) > 100 or not text.isprintable() or text != text.strip():
        return False
    first = text[0]
    if not (first.isalpha() or first in "_/") or ": " in text or " #" in text or text.endswith(":"):
        return False
    return text.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
