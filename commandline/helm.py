"""``--helm``: what Helm makes of charts, by the ``helm`` that is installed. Only on request: it runs strangers' templates."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from documents.errors import DocumentError
from documents.sources import MAX_FILE_BYTES

if TYPE_CHECKING:
    from subprocess import Popen
    from typing import IO

#: The time limit for one chart, in seconds.
SECONDS = 60.0
#: How the name of a rendered chart ends in reports.
RENDERED = " (rendered)"
_RELEASE = "release"
_LONGEST_MESSAGE = 2_000


class RenderedChart:
    """The manifests that Helm makes of a chart with its own values.

    :param file: the name for reports.
    """

    __slots__ = ("content", "file")

    def __init__(self, directory: str, content: bytes) -> None:
        self.file = directory + RENDERED
        self.content = content


def render(directory: str, seconds: float = SECONDS) -> RenderedChart | DocumentError:
    """Render a chart, or say why Helm cannot.

    :raises UsageError: if there is no ``helm``.
    """
    from shutil import which
    from tempfile import TemporaryFile

    helm = which("helm")
    if helm is None:
        raise UsageError("--helm: there is no helm on the PATH")
    with TemporaryFile() as errors:
        content, failed = _run([helm, "template", _RELEASE, os.path.abspath(directory)], errors, seconds)
        if failed == "":
            return RenderedChart(directory, content)
        errors.seek(0)
        said = errors.read(_LONGEST_MESSAGE).decode("utf-8", "replace").strip()
    return DocumentError(directory, 0, 0, f"helm template: {failed if failed else said}")


def _run(command: list[str], errors: IO[bytes], seconds: float) -> tuple[bytes, str | None]:
    """What a command prints, and why that cannot be used: "" if it can, None if its messages say why."""
    from subprocess import DEVNULL, PIPE, Popen
    from threading import Timer

    process = Popen(command, stdin=DEVNULL, stdout=PIPE, stderr=errors)
    late: list[bool] = []
    timer = Timer(seconds, _end, (process, late))
    timer.start()
    try:
        assert process.stdout is not None
        content = process.stdout.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            process.kill()
            return b"", f"more than {MAX_FILE_BYTES // 2**20} MiB"
        code = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.communicate()
    if late:
        return b"", f"not done within {seconds:g} s"
    return (content, "") if code == 0 else (b"", None)


def _end(process: Popen[bytes], late: list[bool]) -> None:
    late.append(True)
    process.kill()
