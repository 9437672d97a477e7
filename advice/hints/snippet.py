"""Small pieces of YAML to show in a hint."""

from __future__ import annotations

from typing import Any

from documents import emitting
from resourceapi.phrases import shortened

MAX_LINES = 12
MAX_WIDTH = 120


def yaml(value: Any) -> str:
    """Plain data as block-style YAML, cut after a few lines."""
    lines = [shortened(line, MAX_WIDTH) for line in emitting.block(value)]
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], "…"]
    return "\n".join(lines)


def scalar(value: Any) -> str:
    """A value on one line, quoted where YAML would read something else."""
    flows = isinstance(value, (dict, list))
    return shortened(emitting.flow(value) if flows else emitting.scalar(value, in_flow=False), MAX_WIDTH)
