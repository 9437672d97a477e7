"""Labels that something depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class LabelRule(NamedTuple):
    """A label that a namespace has: with exactly this value, or (None) with any."""

    key: str
    value: str | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        return self.key in labels and self.value in (None, labels[self.key])

    def __str__(self) -> str:
        return self.key if self.value is None else f"{self.key}: {self.value}"
