"""Commands of a page of the documentation, as they stand there, so that page and tests cannot part."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.e2e.binaries import tool

DOCS = Path(__file__).parents[2] / "docs"
# Where two API servers delete a CRD at once, it can take until they look again at all of them, after 300 seconds.
_SECONDS = 600


def blocks(page: str, heading: str) -> list[str]:
    """The indented blocks under a heading of `docs/<page>`, without their indentation; those in lists count too."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    found: list[list[str]] = []
    inside = is_code = False
    is_after_empty = True
    for line in lines:
        if line.startswith("#"):
            inside, is_code = line.lstrip("# ") == heading, False
        elif inside and line.startswith("    ") and (is_code or is_after_empty):
            if not is_code:
                found.append([])
            found[-1].append(line)
            is_code = True
        elif inside and not line.strip() and is_code:
            found[-1].append("")
        else:
            is_code = False
        is_after_empty = not line.strip()
    assert found, f"{page} has no commands under {heading!r}"
    return [textwrap.dedent("\n".join(block)).strip("\n") + "\n" for block in found]


def flags(page: str, heading: str) -> dict[str, list[str]]:
    """The flags of each program in the first block under a heading."""
    first, *_ = blocks(page, heading)
    return {program: rest for program, *rest in map(shlex.split, first.splitlines())}


class Shell:
    """Runs blocks one after the other in a directory; what they leave running is ended with it."""

    def __init__(self, directory: Path, kubeconfig: Path, replaced: Mapping[str, str]) -> None:
        self._directory = directory
        self._replaced = replaced
        self._groups: list[int] = []
        path = [str(Path(sys.executable).parent), str(tool("kubectl").parent), os.environ["PATH"]]
        self._environment = {**os.environ, "PATH": ":".join(path), "KUBECONFIG": str(kubeconfig)}

    def run(self, block: str) -> str:
        """Run a block in bash, which ends at the first error; what it has printed."""
        for text, other in self._replaced.items():
            block = block.replace(text, other)
        output = self._directory / "output.txt"
        # no pipe: it would stay open with what is left running
        with (
            open(output, "wb") as printed,
            subprocess.Popen(
                ["bash", "-euo", "pipefail", "-c", block],
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            ) as process,
        ):
            self._groups.append(process.pid)
            code = process.wait(_SECONDS)
        text = output.read_text(errors="replace")
        assert code == 0, f"{block}\n{text}"
        return text

    def end(self) -> None:
        for group in self._groups:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)


@contextlib.contextmanager
def shell(directory: Path, kubeconfig: Path, replaced: Mapping[str, str]) -> Iterator[Shell]:
    """A shell whose blocks have `replaced` (text to text) before they run."""
    made = Shell(directory, kubeconfig, replaced)
    try:
        yield made
    finally:
        made.end()
