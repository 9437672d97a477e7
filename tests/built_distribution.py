"""The source distribution and the wheel, built from the files that git knows, as a release builds them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def build(directory: Path) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from nothing but that; returns both files."""
    source = directory / "source"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split(
        "\0"
    ):
        if name and (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    sdist = _built(source, "build_sdist", directory)
    shutil.unpack_archive(sdist, directory / "unpacked")
    (unpacked,) = (directory / "unpacked").iterdir()
    return sdist, _built(unpacked, "build_wheel", directory)


def _built(source: Path, hook: str, directory: Path) -> Path:
    """Call a hook of the build backend (PEP 517)."""
    code = f"import sys, setuptools.build_meta as backend; backend.{hook}(sys.argv[1])"
    before = set(directory.iterdir())
    subprocess.run(
        [sys.executable, "-c", code, str(directory)], cwd=source, check=True, capture_output=True, text=True
    )
    (made,) = set(directory.iterdir()) - before
    return made
