"""Labels of namespaces that policies depend on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class LabelRule(NamedTuple):
    """A label that a namespace must have, with exactly this value; None stands for any."""

    key: str
    value: str | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels of a namespace include this one."""
        return self.key in labels and self.value in (None, labels[self.key])

    def __str__(self) -> str:
        return self.key if self.value is None else f"{self.key}: {self.value}"
