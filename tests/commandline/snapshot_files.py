"""Reports as they are expected, in files under `snapshots/`; `UPDATE_SNAPSHOTS=1` writes the files again."""

from __future__ import annotations

import os
from pathlib import Path

DIRECTORY = Path(__file__).with_name("snapshots")


def assert_snapshot(written: str, file: Path) -> None:
    """The report says exactly what the file says."""
    if os.environ.get("UPDATE_SNAPSHOTS"):
        file.write_text(written, encoding="utf-8")
    assert written == file.read_text(encoding="utf-8")
