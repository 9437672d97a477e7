"""Reading files with cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

#: Written in C, where PyYAML has it: ten times as fast.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """The only document of a file."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)


def read_all(text: str) -> list[Any]:
    """All documents of a text."""
    return list(yaml.load_all(text, Loader=LOADER))
