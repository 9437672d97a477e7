"""Files are written as a whole, or stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from resource import RLIMIT_FSIZE, getrlimit, setrlimit

import pytest

from commandline.errors import UsageError
from commandline.migrate_storage import _write
from commandline.rewriting import InPlace
from documents import DocumentError

SAVED = [{"metadata": {"name": "a"}, "long": "x" * 100_000}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def _on_a_full_disk(write: Callable[[], None]) -> None:
    """No file may grow beyond 10 bytes meanwhile."""
    former = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (10, former[1]))
    try:
        write()
    finally:
        setrlimit(RLIMIT_FSIZE, former)


def test_a_file_that_cannot_be_written_stays(file: Path) -> None:
    """It may be the only copy; nothing is left beside it."""
    file.write_text("a: 1\n")
    with pytest.raises(DocumentError, match="file too large"):
        _on_a_full_disk(lambda: InPlace().add(str(file), "a: 1\n", "a: 2\n" * 20_000))
    assert file.read_text() == "a: 1\n"
    assert list(file.parent.iterdir()) == [file]


def test_mode_and_links_stay(file: Path) -> None:
    """What a link leads to is rewritten, with the same mode."""
    (file.parent / "directory").mkdir()
    target = file.parent / "directory" / "target"
    target.write_text("a: 1\n")
    target.chmod(0o640)
    file.symlink_to("directory/target")
    InPlace().add(str(file), "a: 1\n", "a: 2\n")
    assert file.is_symlink()
    assert target.read_text() == "a: 2\n"
    assert target.stat().st_mode & 0o7777 == 0o640
    assert list(target.parent.iterdir()) == [target]


def test_a_save_that_failed_can_be_repeated(file: Path) -> None:
    """It leaves nothing: was a file that the next one could not write."""
    with pytest.raises(UsageError, match="File too large"):
        _on_a_full_disk(lambda: _write(str(file), SAVED))
    assert list(file.parent.iterdir()) == []
    _write(str(file), SAVED)
    assert list(file.parent.iterdir()) == [file]
    assert file.stat().st_mode & 0o777 == 0o600
